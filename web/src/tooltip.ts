// SPDX-License-Identifier: Apache-2.0
// One box beside the mouse, for all views.
import { h } from "./dom";

export type Lines = [string, string][];

let box: HTMLElement | null = null;

/// A title and pairs of what and how much.
export function showTip(event: { clientX: number; clientY: number }, title: string, lines: Lines): void {
  if (!box) {
    box = h("div", { id: "tip", role: "tooltip" });
    document.body.append(box);
  }
  const list = h("dl", {});
  for (const [what, value] of lines)
    if (value !== "") list.append(h("dt", {}, what), h("dd", {}, h("bdi", {}, value)));
  box.replaceChildren(h("strong", {}, h("bdi", {}, title)), list);
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const left = event.clientX + 14 + width > innerWidth ? event.clientX - width - 10 : event.clientX + 14;
  const top = event.clientY + 14 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 14;
  box.style.left = `${Math.max(4, left)}px`;
  box.style.top = `${Math.max(4, top)}px`;
}

export function hideTip(): void {
  if (box) box.hidden = true;
}

export function withTip(element: Element, title: string, lines: () => Lines): void {
  element.addEventListener("pointermove", (event) => showTip(event as PointerEvent, title, lines()));
  element.addEventListener("pointerleave", hideTip);
}
