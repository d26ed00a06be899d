// SPDX-License-Identifier: Apache-2.0
// What lives in the memory outside the chip while an iteration runs, and the largest tensors at the fullest moment.
import { frame, legend, margin } from "./chart";
import { h, name, s } from "./dom";
import { Marks } from "./links";
import { color } from "./palette";
import type { Memory } from "./schema";
import { hideTip, showTip } from "./tooltip";
import { format, percent } from "./units";
import type { Context, View } from "./view";

/// "gradient of layer1.0.relu" and "layer1.0.conv1.weight" belong to a layer, if there is one of that name.
export function layerOfValue(value: string, layers: Set<string>): string {
  const plain = value.replace(/^gradient of /, "");
  for (let text = plain; text !== ""; text = text.slice(0, Math.max(0, text.lastIndexOf("."))))
    if (layers.has(text)) return text;
  return layers.has(plain.split(" ")[0] ?? "") ? (plain.split(" ")[0] ?? "") : "";
}

function chart(memory: Memory, width: number): HTMLElement {
  const groups = memory.groups.filter((group) => group.bytes.some((bytes) => bytes > 0));
  const peak = memory.peak?.bytes ?? 0;
  const drawn = frame(
    "Memory over time, by what is in it",
    { width, height: 300 },
    { label: "time", unit: "s", isExact: true, domain: [0, memory.end_s] },
    { label: "memory", unit: "capacity", domain: [0, peak * 1.06] },
  );
  const x = (at: number) => drawn.x(memory.at_s[at] ?? memory.end_s).toFixed(1);
  const below = memory.at_s.map(() => 0);
  groups.forEach((group, index) => {
    const floor = [...below];
    group.bytes.forEach((bytes, at) => (below[at] = (below[at] ?? 0) + bytes));
    // Steps, not slopes: a value comes and goes at once.
    const up = below
      .map(
        (sum, at) =>
          `${at === 0 ? "M" : "L"}${x(at)},${drawn.y(sum).toFixed(1)}L${x(at + 1)},${drawn.y(sum).toFixed(1)}`,
      )
      .join("");
    const back = floor
      .map((sum, at) => `L${x(at + 1)},${drawn.y(sum).toFixed(1)}L${x(at)},${drawn.y(sum).toFixed(1)}`)
      .reverse()
      .join("");
    drawn.area.append(s("path", { d: `${up}${back}Z`, fill: color(index), class: "layer-area" }));
  });
  if (memory.peak) {
    const at = drawn.x(memory.peak.at_s);
    drawn.area.append(s("line", { x1: at, x2: at, y1: 0, y2: drawn.height, class: "peak" }));
    const isRight = at > drawn.width - 150;
    drawn.over.append(
      s(
        "text",
        { x: at + (isRight ? -5 : 5), y: 12, class: "roof-name", "text-anchor": isRight ? "end" : "start" },
        `peak ${format(peak, "capacity")}`,
      ),
    );
  }
  drawn.svg.addEventListener("pointermove", (event) => {
    const time = drawn.x.invert(
      ((event.clientX - drawn.svg.getBoundingClientRect().left) / drawn.svg.getBoundingClientRect().width) *
        width -
        margin.left,
    );
    let at = memory.at_s.findIndex((start) => start > time) - 1;
    if (at === -2) at = memory.at_s.length - 1;
    if (at < 0 || time > memory.end_s) return hideTip();
    const sum = groups.reduce((all, group) => all + (group.bytes[at] ?? 0), 0);
    showTip(event, format(sum, "capacity"), [
      ["at", format(memory.at_s[at], "s")],
      ...groups.map((group): [string, string] => [group.name, format(group.bytes[at], "capacity")]),
    ]);
  });
  drawn.svg.addEventListener("pointerleave", hideTip);
  drawn.figure.append(legend(groups.map((group, index) => ({ name: group.name, color: color(index) }))));
  return drawn.figure;
}

function render(context: Context, element: HTMLElement, width: number): void {
  const { memory } = context.part;
  if (!memory) return;
  element.append(chart(memory, width));
  const { peak } = memory;
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
      h(
        "bdi",
        {},
        `${peak.values.toLocaleString("en-US")} tensors live at the peak, at ${peak.step}; the largest`,
      ),
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
