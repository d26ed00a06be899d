// SPDX-License-Identifier: Apache-2.0
// What lives in the memory outside the chip while an iteration runs, and the largest tensors at the fullest moment.
import { frame, legend, margin, type Frame } from "./chart";
import { h, name, s } from "./dom";
import { Marks } from "./links";
import { color } from "./palette";
import { isProfile, type ExpectedTime, type Memory } from "./schema";
import { hideTip, showTip } from "./tooltip";
import { format, percent, whole } from "./units";
import { remade, type Context, type View } from "./view";

/// "gradient of layer1.0.relu" and "layer1.0.conv1.weight" belong to a layer, if there is one of that name.
export function layerOfValue(value: string, layers: Set<string>): string {
  const plain = value.replace(/^gradient of /, "");
  for (let text = plain; text !== ""; text = text.slice(0, Math.max(0, text.lastIndexOf("."))))
    if (layers.has(text)) return text;
  return layers.has(plain.split(" ")[0] ?? "") ? (plain.split(" ")[0] ?? "") : "";
}

/// The part of the time that the timeline shows.
function shownTime(context: Context, end: number): [number, number] {
  const [from, to] = context.state.get("span").split("-").map(Number);
  return from !== undefined && to !== undefined && to > from && to <= 1 ? [from * end, to * end] : [0, end];
}

function groupsOf(memory: Memory): Memory["groups"] {
  return memory.groups.filter((group) => group.bytes.some((bytes) => bytes > 0));
}

/// Areas on top of each other. Steps, not slopes: a value comes and goes at once. A path of one outline has no seam.
function drawGroups(memory: Memory, drawn: Frame): void {
  const x = (at: number) => drawn.x(memory.at_s[at] ?? memory.end_s).toFixed(1);
  const below = memory.at_s.map(() => 0);
  const areas = groupsOf(memory).map((group, index) => {
    group.bytes.forEach((bytes, at) => (below[at] = (below[at] ?? 0) + bytes));
    const top = below
      .map((sum, at) => `L${x(at)},${drawn.y(sum).toFixed(1)}L${x(at + 1)},${drawn.y(sum).toFixed(1)}`)
      .join("");
    const floor = drawn.y(0).toFixed(1);
    const d = `M${x(0)},${floor}${top}L${x(memory.at_s.length)},${floor}Z`;
    return s("path", { d, fill: color(index), class: "layer-area" });
  });
  drawn.area.append(...areas.reverse()); // the lowest is in front
}

/// What the framework allocates, which has to fit; the picture is the plan of the limit.
function expectedOf(context: Context): ExpectedTime | null {
  const { document } = context.part;
  return (isProfile(document) && document.expected) || null;
}

/// The height of what is allocated above the plan of the limit.
function drawAllocated({ framework, memory_bytes }: ExpectedTime, drawn: Frame): void {
  const y = drawn.y(memory_bytes);
  drawn.area.append(s("line", { x1: 0, x2: drawn.width, y1: y, y2: y, class: "peak" }));
  drawn.over.append(
    s("text", { x: 5, y: y - 4, class: "roof-name" }, `${framework} allocates ${format(memory_bytes, "capacity")} at its peak`),
  );
}

function drawPeak(memory: Memory, drawn: Frame, isOfLimit: boolean): void {
  if (!memory.peak) return;
  const at = drawn.x(memory.peak.at_s);
  if (at < 0 || at > drawn.width) return;
  drawn.area.append(s("line", { x1: at, x2: at, y1: 0, y2: drawn.height, class: "peak" }));
  const isRight = at > drawn.width - 150;
  drawn.over.append(
    s(
      "text",
      {
        x: at + (isRight ? -5 : 5),
        y: drawn.height - 8,
        class: "roof-name",
        "text-anchor": isRight ? "end" : "start",
      },
      `${isOfLimit ? "the limit needs" : "peak"} ${format(memory.peak.bytes, "capacity")}`,
    ),
  );
}

function momentAt(memory: Memory, time: number): number {
  const after = memory.at_s.findIndex((start) => start > time);
  return after < 0 ? memory.at_s.length - 1 : after - 1;
}

/// What is there at a moment: where the mouse is, or where the arrows have led.
function explore(memory: Memory, drawn: Frame, width: number): void {
  const groups = groupsOf(memory);
  const cursor = s("line", { y1: 0, y2: drawn.height, class: "peak cursor", visibility: "hidden" });
  drawn.over.append(cursor);
  const show = (at: number, place: { clientX: number; clientY: number }) => {
    const sum = groups.reduce((all, group) => all + (group.bytes[at] ?? 0), 0);
    showTip(place, format(sum, "capacity"), [
      ["at", format(memory.at_s[at], "s")],
      ...groups.map((group): [string, string] => [group.name, format(group.bytes[at], "capacity")]),
    ]);
  };
  const hide = () => {
    cursor.setAttribute("visibility", "hidden");
    hideTip();
  };
  drawn.svg.addEventListener("pointermove", (event) => {
    const box = drawn.svg.getBoundingClientRect();
    const time = drawn.x.invert(((event.clientX - box.left) / box.width) * width - margin.left);
    const at = momentAt(memory, time);
    if (at < 0 || time > memory.end_s) return hide();
    show(at, event);
  });
  drawn.svg.addEventListener("pointerleave", hide);
  drawn.svg.addEventListener("blur", hide);
  let at = momentAt(memory, memory.peak?.at_s ?? 0);
  drawn.svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    at = Math.min(memory.at_s.length - 1, Math.max(0, at + step));
    const x = drawn.x(memory.at_s[at] ?? 0);
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, String(x));
    cursor.setAttribute("visibility", "visible");
    const box = drawn.svg.getBoundingClientRect();
    show(at, { clientX: box.left + ((margin.left + x) * box.width) / width, clientY: box.top + 30 });
  });
}

/// Shows the time that the timeline shows, below each other's moments.
export function memoryChart(context: Context, memory: Memory, width: number, height: number): HTMLElement {
  const place = h("div", {});
  const expected = expectedOf(context);
  const most = Math.max(memory.peak?.bytes ?? 0, expected?.memory_bytes ?? 0);
  remade(context, ["span"], () => {
    const drawn = frame(
      expected ? "Memory of the limit over time, by what is in it" : "Memory over time, by what is in it",
      { width, height },
      { label: "time", unit: "s", isExact: true, domain: shownTime(context, memory.end_s) },
      { label: "memory", unit: "capacity", domain: [0, most * (expected ? 1.15 : 1.06)] },
    );
    drawGroups(memory, drawn);
    drawPeak(memory, drawn, expected !== null);
    if (expected) drawAllocated(expected, drawn);
    drawn.svg.setAttribute("tabindex", "0");
    drawn.svg.setAttribute("aria-label", "Memory over time; arrows move through it");
    explore(memory, drawn, width);
    const entries = groupsOf(memory).map((group, index) => ({ name: group.name, color: color(index) }));
    drawn.figure.append(legend(entries));
    place.replaceChildren(drawn.figure);
  });
  return place;
}

function render(context: Context, element: HTMLElement, width: number): void {
  const { memory } = context.part;
  if (!memory) return;
  const { peak } = memory;
  const expected = expectedOf(context);
  if (expected && peak)
    element.append(
      h(
        "p",
        {},
        `${expected.framework} allocates ${format(expected.memory_bytes, "capacity")} at its peak: that has to fit. ` +
          `The picture is the plan of the limit, which needs ${format(peak.bytes, "capacity")}.`,
      ),
    );
  element.append(memoryChart(context, memory, width, 300));
  if (!peak) return;
  const marks = new Marks(context.links);
  const layers = new Set(context.rows?.rows.map((row) => row.layer));
  const body = h("tbody", {});
  for (const each of peak.largest) {
    const row = h(
      "tr",
      {},
      h("td", {}, name(each.value, 44)),
      h("td", {}, each.group),
      h("td", { class: "n" }, format(each.bytes, "capacity")),
      h("td", { class: "n" }, percent(each.bytes / peak.bytes)),
      h("td", {}, name(each.from, 34)),
      h("td", {}, name(each.to, 34)),
    );
    const layer = layerOfValue(each.value, layers);
    if (layer !== "") marks.add(row, { layer });
    body.append(row);
  }
  const head = ["tensor", "kind", "size", "share", "lives from", "until"];
  element.append(
    h(
      "h3",
      {},
      `${whole(peak.values)} tensors live at the peak${expected ? " of the limit" : ""}, at `,
      name(peak.step),
      "; the largest",
    ),
    h(
      "div",
      { class: "wide short" },
      h(
        "table",
        { class: "small" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...head.map((each, i) => h("th", { class: i === 2 || i === 3 ? "n" : undefined }, each)),
          ),
        ),
        body,
      ),
    ),
  );
}

export const memoryView: View = {
  id: "memory",
  title: "Memory",
  fits: (context) => context.part.memory !== undefined,
  render,
};
