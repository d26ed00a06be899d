// SPDX-License-Identifier: Apache-2.0
// Marks of a chart for the keyboard: Tab comes to one of them, the arrows go to the nearest in their direction, Enter
// does what a click does. However many marks there are, a chart is one stop.
import { hideTip, showTip, withTip, type Lines } from "./tooltip";

const directions: Record<string, [number, number]> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

type Mark = SVGElement | HTMLElement;

function middle(mark: Mark): [number, number] {
  const { left, top, width, height } = mark.getBoundingClientRect();
  return [left + width / 2, top + height / 2];
}

/// The nearest whose way lies more in the direction than across it.
function nearest(from: Mark, marks: Mark[], [right, down]: [number, number]): Mark | null {
  const [x, y] = middle(from);
  let best: Mark | null = null;
  let least = Infinity;
  for (const mark of marks) {
    if (mark === from) continue;
    const [dx, dy] = [middle(mark)[0] - x, middle(mark)[1] - y];
    const along = dx * right + dy * down;
    const across = Math.abs(dx * down) + Math.abs(dy * right);
    if (along <= 0.5 || across > 1.5 * along) continue;
    const distance = along + 2 * across;
    if (distance < least) [best, least] = [mark, distance];
  }
  return best;
}

/// Lets the keyboard reach everything inside that the selector finds; `nameOf` says what a mark is to those who do not
/// see it. Only the mark that Tab comes to is prepared for it, as there may be thousands.
export function roving(chart: SVGSVGElement | HTMLElement, selector: string, nameOf: (mark: Element) => string): void {
  const marks = () => [...chart.querySelectorAll<Mark>(selector)];
  chart.setAttribute("role", "group"); // a picture must hold nothing that can be pressed
  let current: Mark | undefined;
  const prepare = (mark: Mark | null | undefined) => {
    if (!mark) return;
    current?.removeAttribute("tabindex");
    current?.removeAttribute("role");
    current?.removeAttribute("aria-label");
    current = mark;
    mark.setAttribute("tabindex", "0");
    mark.setAttribute("role", "button");
    mark.setAttribute("aria-label", nameOf(mark));
  };
  const go = (to: Mark | null | undefined) => {
    prepare(to);
    to?.focus();
  };
  prepare(chart.querySelector<Mark>(selector));
  chart.addEventListener("keydown", (event) => {
    const { key } = event as KeyboardEvent;
    const from = event.target instanceof Element ? event.target.closest<Mark>(selector) : null;
    if (!from) return;
    const direction = directions[key];
    if (direction) go(nearest(from, marks(), direction));
    else if (key === "Home") go(marks()[0]);
    else if (key === "End") go(marks().at(-1));
    else if (key === "Enter" || key === " ") from.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    else return;
    event.preventDefault();
  });
}

/// Where the tip of a mark goes that the keyboard has reached.
export function cornerOf(mark: Element): { clientX: number; clientY: number } {
  const box = mark.getBoundingClientRect();
  return { clientX: box.right, clientY: box.bottom };
}

/// Whatever the mouse sees of a mark, the keyboard sees, too.
export function withTipAnyhow(mark: Element, title: string, lines: () => Lines): void {
  withTip(mark, title, lines);
  mark.addEventListener("focus", () => showTip(cornerOf(mark), title, lines()));
  mark.addEventListener("blur", hideTip);
}
