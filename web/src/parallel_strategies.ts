// SPDX-License-Identifier: Apache-2.0
// All strategies that were tried: time against memory with the front that nothing beats, and a table that says why each loses.
import { frame, legend, logDomain, pathOf } from "./chart";
import { atCommas, h, s, words } from "./dom";
import { choiceOf } from "./parallel";
import { roving, withTipAnyhow } from "./roving";
import type { ParallelChoice, TriedStrategy } from "./schema";
import { sortableTable, type SortColumn } from "./sortable";
import type { Lines } from "./tooltip";
import { format, whole } from "./units";
import { remade, type Context, type View } from "./view";

interface Tried extends TriedStrategy {
  at: number; // in the document
  isOnFront: boolean;
  parts: Map<string, string>; // "dp" → "8"
}

function triedOf(choice: ParallelChoice): Tried[] {
  const front = new Set(choice.pareto);
  return choice.strategies.map((each, at) => ({
    ...each,
    at,
    isOnFront: front.has(at),
    parts: new Map(each.strategy.split(",").map((part) => part.split("=") as [string, string])),
  }));
}

function tipOf(tried: Tried): Lines {
  return [
    ["expected", tried.time_s === undefined ? "" : format(tried.time_s, "s")],
    ["memory", format(tried.memory_bytes, "capacity")],
    ["loses by", tried.why_it_loses ?? ""],
  ];
}

const grain = 3; // pixels: of strategies that lie on each other one is drawn

/// Time against memory of all that fit.
function frontChart(choice: ParallelChoice, all: Tried[], width: number): HTMLElement {
  const fitting = all.filter((each) => each.time_s !== undefined);
  const limit = choice.device_memory_bytes;
  const drawn = frame(
    "Strategies by time and memory",
    { width, height: 380 },
    { label: "expected time of an iteration", unit: "s", domain: logDomain(fitting.map((each) => each.time_s ?? 0)), isLog: true },
    {
      label: "memory of the fullest rank",
      unit: "capacity",
      domain: [0, 1.05 * Math.max(limit ?? 0, ...fitting.map((each) => each.memory_bytes))],
    },
  );
  const at = (each: Tried): [number, number] => [drawn.x(each.time_s ?? 0), drawn.y(each.memory_bytes)];
  if (limit !== null) {
    const y = drawn.y(limit);
    drawn.area.append(s("line", { x1: 0, x2: drawn.width, y1: y, y2: y, class: "line", stroke: "var(--c1)", "stroke-dasharray": "6 4" }));
  }
  const seen = new Set<number>();
  for (const each of fitting) {
    const [cx, cy] = at(each);
    const place = Math.round(cx / grain) * 4096 + Math.round(cy / grain);
    if (each.isOnFront || seen.has(place)) continue;
    seen.add(place);
    const dot = s("circle", { cx, cy, r: 2.5, class: "far" });
    withTipAnyhow(dot, each.strategy, () => tipOf(each));
    drawn.area.append(dot);
  }
  const front = choice.pareto.flatMap((index) => all[index] ?? []);
  drawn.area.append(s("path", { d: pathOf(front.map(at)), class: "line", stroke: "var(--c0)" }));
  for (const each of front) {
    const [cx, cy] = at(each);
    const dot = s("circle", { cx, cy, r: each.at === 0 ? 6 : 4.5, fill: each.at === 0 ? "var(--c2)" : "var(--c0)", class: "dot on-front", "data-row": each.at });
    withTipAnyhow(dot, each.strategy, () => tipOf(each));
    drawn.over.append(dot);
  }
  roving(drawn.svg, ".on-front", (mark) => choice.strategies[Number(mark.getAttribute("data-row"))]?.strategy ?? "");
  return h(
    "div",
    {},
    drawn.figure,
    legend([
      { name: "the fastest", color: "var(--c2)" },
      { name: "on the front: none is faster with less memory", color: "var(--c0)" },
      ...(limit === null ? [] : [{ name: "what a device has", color: "var(--c1)", dash: "6 4" }]),
    ]),
  );
}

function columnsOf(all: Tried[]): SortColumn<Tried>[] {
  const keys = [...new Set(all.flatMap((each) => [...each.parts.keys()]))];
  const isNumber = (key: string) => all.every((each) => !each.parts.has(key) || !Number.isNaN(Number(each.parts.get(key))));
  return [
    { key: "strategy", label: "strategy", unit: "text", kind: "strategy", value: (each) => each.strategy, show: (each) => h("bdi", {}, ...atCommas(each.strategy)) },
    { key: "time_s", label: "expected", unit: "s", value: (each) => each.time_s ?? null },
    { key: "memory_bytes", label: "memory", unit: "capacity", value: (each) => each.memory_bytes },
    { key: "why_it_loses", label: "why it loses", unit: "text", value: (each) => each.why_it_loses ?? "" },
    { key: "on_front", label: "on the front", unit: "text", value: (each) => (each.isOnFront ? "yes" : "") },
    ...keys.map(
      (key): SortColumn<Tried> =>
        isNumber(key)
          ? { key, label: key, unit: "count", value: (each) => (each.parts.has(key) ? Number(each.parts.get(key)) : null) }
          : { key, label: key, unit: "text", value: (each) => each.parts.get(key) ?? "" },
    ),
  ];
}

function render(context: Context, element: HTMLElement, width: number): void {
  const choice = choiceOf(context.part.document);
  if (!choice) return;
  const { state } = context;
  const all = triedOf(choice);
  const fitting = all.filter((each) => each.fits).length;
  element.append(
    h("p", { class: "dim" }, `${whole(all.length)} strategies were tried, ${whole(fitting)} fit the memory; the others are out of memory, and were not timed.`),
  );
  if (fitting > 0) element.append(frontChart(choice, all, width));
  const columns = columnsOf(all);
  const body = h("div", {});
  const field: HTMLInputElement = h("input", {
    type: "search",
    placeholder: "search: tp=8 bubble",
    "aria-label": "search the strategies",
    value: state.get("strategies-find"),
    input: () => state.set("strategies-find", field.value),
  });
  element.append(h("div", { class: "controls" }, field), body);
  remade(context, ["strategies-sort", "strategies-find"], () => {
    const wanted = state.get("strategies-find").toLowerCase().split(/\s+/).filter((word) => word !== "");
    const found = all.filter((each) => {
      const text = `${each.strategy},${each.why_it_loses ?? ""}`.toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
    body.replaceChildren(
      sortableTable(
        found,
        columns,
        { sort: state.get("strategies-sort"), onSort: (next) => state.set("strategies-sort", next), about: "strategies" },
        (row, each) => row.classList.toggle("front", each.isOnFront),
      ),
    );
  });
  if (choice.refused.length > 0)
    element.append(
      h("h3", {}, "Not possible"),
      h("ul", {}, ...choice.refused.map((reason) => h("li", {}, ...words(reason)))),
    );
}

export const strategiesView: View = {
  id: "strategies",
  title: "Strategies",
  fits: (context) => (choiceOf(context.part.document)?.strategies.length ?? 0) > 0,
  render,
};
