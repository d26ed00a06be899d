// SPDX-License-Identifier: Apache-2.0
// A machine: its roofs, how its bandwidth falls with the working set, and every number with where it comes from. And two
// machines side by side.
import { cardList, type Card } from "./cards";
import { frame, legend, logDomain, pathOf, type Frame } from "./chart";
import { h, s, short } from "./dom";
import { Colors } from "./palette";
import { isMachine, type MachineDiffDocument, type MachineDocument, type Sourced } from "./schema";
import { format, labelOf, unitOf, type Unit } from "./units";
import type { Context, View } from "./view";

function valueIn(number: unknown): number | null {
  if (typeof number === "number") return number;
  const value = (number as Sourced | undefined)?.value;
  return typeof value === "number" ? value : null;
}

interface Line {
  path: string;
  value: number | string;
  unit: Unit;
  source: string;
}

/// Machine files know a few units that results do not.
function shown(line: { path: string; value: number | string; unit: Unit }): string {
  if (typeof line.value === "string") return line.value;
  const key = line.path.split(".").at(-1) ?? "";
  if (key.endsWith("_hz")) return `${format(line.value, "count")}Hz`;
  if (key.endsWith("_w")) return `${format(line.value, "count")} W`;
  return format(line.value, line.unit);
}

/// Every number below a value, with the words that lead to it: "memory.L2.capacity_bytes".
function linesOf(value: unknown, path: string, source: string, lines: Line[]): void {
  if (value === null || typeof value !== "object") return;
  if (Array.isArray(value)) {
    value.forEach((each: unknown, at) => {
      const named = each as { name?: string; dtype?: string; unit?: string; mix?: string } | null;
      const label = named?.name ?? [named?.dtype, named?.unit, named?.mix].filter(Boolean).join(".");
      linesOf(each, `${path}.${label || at}`, source, lines);
    });
    return;
  }
  const object = value as Record<string, unknown>;
  const own = typeof object.source === "string" ? object.source : source;
  for (const [key, each] of Object.entries(object)) {
    if (["evidence", "curves", "measured", "strata_machine", "provenance", "share"].includes(key)) continue;
    const name = key === "value" ? path : path === "" ? key : `${path}.${key}`;
    if (typeof each === "number")
      lines.push({ path: name, value: each, unit: unitOf(name), source: own });
    else linesOf(each, name, own, lines);
  }
}

/// Peaks over bandwidths: what rate a work of some intensity can reach.
function roofsChart(document: MachineDocument, width: number): HTMLElement {
  const peaks = document.peaks.map((peak) => ({
    name: `${peak.dtype} ${peak.unit}`,
    value: valueIn(peak.flop_per_s) ?? 0,
  }));
  const memory = document.memory
    .map((level) => ({ name: level.name, value: valueIn(level.bandwidth_bytes_per_s) ?? 0 }))
    .filter((level) => level.value > 0);
  const most = peaks.reduce((all, peak) => Math.max(all, peak.value), 0);
  const balances = memory.flatMap((level) => peaks.map((peak) => peak.value / level.value));
  const x = logDomain([...balances, 0.1]);
  const least = Math.min(...memory.map((level) => level.value * x[0]));
  const made = frame(
    "The roofs: what a work of some arithmetic intensity can reach",
    { width, height: 360 },
    { label: "arithmetic intensity", unit: "flop/byte", isLog: true, domain: [x[0], x[1] * 3] },
    { label: "rate", unit: "flop/s", isLog: true, domain: [least, most * 2] },
  );
  const colors = new Colors(memory.map((level) => level.name));
  const [from, to] = made.x.domain() as [number, number];
  for (const level of memory) {
    const path = pathOf(
      [from, Math.min(to, most / level.value)].map((at) => [made.x(at), made.y(at * level.value)] as const),
    );
    made.area.append(s("path", { d: path, class: "line", style: `stroke:${colors.of(level.name)}` }));
  }
  const fastest = Math.max(...memory.map((level) => level.value), 0);
  for (const peak of peaks) {
    const y = made.y(peak.value);
    const start = fastest > 0 ? Math.max(from, peak.value / fastest) : from;
    made.area.append(s("path", { d: pathOf([[made.x(start), y], [made.x(to), y]]), class: "roof" }));
  }
  nameRoofs(made, peaks);
  made.figure.append(
    legend(
      memory.map((level) => ({
        name: `${level.name} ${format(level.value, "bytes/s")}`,
        color: colors.of(level.name),
      })),
    ),
  );
  return made.figure;
}

/// Every roof has its name: those of the same height share a line, others move until none lies on another.
function nameRoofs(made: Frame, peaks: { name: string; value: number }[]): void {
  const groups: { y: number; value: number; names: string[] }[] = [];
  for (const peak of [...peaks].sort((a, b) => b.value - a.value)) {
    const y = made.y(peak.value);
    const last = groups.at(-1);
    const isSame = last && format(last.value, "flop/s") === format(peak.value, "flop/s");
    if (isSame) last.names.push(peak.name);
    else groups.push({ y, value: peak.value, names: [peak.name] });
  }
  const apart = 13;
  let above = -Infinity;
  for (const { y, value, names } of groups) {
    const at = Math.max(y - 3, above + apart);
    above = at;
    made.over.append(
      s(
        "text",
        { x: made.width - 4, y: at, "text-anchor": "end", class: "roof-name" },
        `${names.join(", ")}: ${format(value, "flop/s")}`,
      ),
    );
  }
}

/// What one asks of a machine first.
function cardsOf(document: MachineDocument): HTMLElement {
  const cards: Card[] = [];
  const peaks = document.peaks
    .map((peak) => ({ name: `${peak.dtype} ${peak.unit}`, value: valueIn(peak.flop_per_s) ?? 0 }))
    .sort((a, b) => b.value - a.value);
  const exact = peaks.find((peak) => peak.name === "fp32 vector");
  for (const peak of [peaks[0], exact])
    if (peak) cards.push({ label: "peak", value: format(peak.value, "flop/s"), detail: peak.name });
  for (const level of document.memory) {
    const [capacity, rate] = [valueIn(level.capacity_bytes), valueIn(level.bandwidth_bytes_per_s)];
    if (capacity === null && rate === null) continue;
    cards.push({
      label: level.name,
      value: capacity === null ? format(rate, "bytes/s") : format(capacity, "capacity"),
      detail: capacity === null || rate === null ? "" : format(rate, "bytes/s"),
    });
  }
  const slowest = valueIn(document.memory.at(-1)?.bandwidth_bytes_per_s);
  if (peaks[0] && slowest)
    cards.push({
      label: "balance",
      value: format(peaks[0].value / slowest, "flop/byte"),
      detail: "what work needs to fill the highest peak",
    });
  return cardList(cards);
}

/// "peaks.fp64.vector.flop_per_clock" → "peaks, fp64 vector: FLOP per clock".
function words(path: string): string {
  const parts = path.split(".").map((part) => (part === "flop_per_s" ? "rate" : labelOf(part.replace(/_(hz|w)$/, ""))));
  const last = parts.pop() ?? "";
  const [first, ...rest] = parts;
  return first === undefined ? last : `${[first, rest.join(" ")].filter((part) => part !== "").join(", ")}: ${last}`;
}

type Curve = NonNullable<MachineDocument["curves"]>[number];

function curvesChart(curves: Curve[], width: number): HTMLElement {
  const all = curves.flatMap((curve) => curve.points);
  const made = frame(
    "Bandwidth over the working set, measured",
    { width, height: 320 },
    { label: "working set", unit: "capacity", isLog: true, domain: logDomain(all.map(([bytes]) => bytes)) },
    { label: "bandwidth", unit: "bytes/s", isLog: true, domain: logDomain(all.map(([, rate]) => rate)) },
  );
  const colors = new Colors(curves.map((curve) => curve.mix));
  for (const curve of curves)
    made.area.append(
      s("path", {
        d: pathOf(curve.points.map(([bytes, rate]) => [made.x(bytes), made.y(rate)] as const)),
        class: "line",
        style: `stroke:${colors.of(curve.mix)}`,
      }),
    );
  made.figure.append(legend(curves.map((curve) => ({ name: curve.mix, color: colors.of(curve.mix) }))));
  return made.figure;
}

function renderMachine(context: Context, element: HTMLElement, width: number): void {
  const { document } = context.part;
  if (!isMachine(document)) return;
  const curves = document.curves ?? [];
  const isWide = width > 900 && curves.length > 0;
  const room = isWide ? (width - 24) / 2 : width;
  const charts = h("div", { class: isWide ? "two" : "" });
  if (document.peaks.length > 0 && document.memory.length > 0) charts.append(roofsChart(document, room));
  if (curves.length > 0) charts.append(curvesChart(curves, room));
  const lines: Line[] = [];
  linesOf(document, "", "", lines);
  const body = h("tbody", {});
  for (const line of lines)
    body.append(
      h(
        "tr",
        {},
        h("td", { title: line.path, "data-value": line.path }, h("bdi", {}, words(line.path))),
        h("td", { class: "n", "data-value": line.value }, shown(line)),
        h("td", { class: "source" }, h("bdi", { title: line.source }, short(line.source, 160))),
      ),
    );
  element.append(
    cardsOf(document),
    charts,
    h("h3", {}, "Every number, and where it comes from"),
    h(
      "div",
      { class: "wide", "aria-label": "Every number" },
      h(
        "table",
        { class: "small numbers" },
        h(
          "thead",
          {},
          h("tr", {}, h("th", {}, "number"), h("th", { class: "n" }, "value"), h("th", {}, "source")),
        ),
        body,
      ),
    ),
  );
}

export const machineView: View = {
  id: "machine",
  title: "Machine",
  fits: (context) => isMachine(context.part.document),
  render: renderMachine,
};

function renderDiff(context: Context, element: HTMLElement): void {
  const document = context.part.document as MachineDiffDocument;
  const distance = (ratio: number | null) => (ratio && ratio > 0 ? Math.abs(Math.log2(ratio)) : 0);
  const most = document.numbers.reduce((all, each) => Math.max(all, distance(each.ratio)), 0);
  const body = h("tbody", {});
  for (const each of document.numbers) {
    const unit = unitOf(each.path);
    const text = (value: number | null) => (value === null ? "–" : shown({ path: each.path, value, unit }));
    const bar = h("span", { class: (each.ratio ?? 1) < 1 ? "diff second-less" : "diff second-more" });
    bar.style.width = `${most > 0 ? (50 * distance(each.ratio)) / most : 0}%`;
    body.append(
      h(
        "tr",
        {},
        h("td", { title: each.path, "data-value": each.path }, h("bdi", {}, words(each.path.replace(/^machine\./, "")))),
        h("td", { class: "n", "data-value": each.first ?? "" }, text(each.first)),
        h("td", { class: "n", "data-value": each.second ?? "" }, text(each.second)),
        h("td", { class: "n" }, each.ratio === null ? "" : each.ratio === 1 ? "=" : format(each.ratio, "ratio")),
        h("td", { class: "diff-cell" }, each.ratio === null ? "" : bar),
      ),
    );
  }
  const head = ["number", document.first, document.second, "ratio", "less, more"];
  element.append(
    h("p", { class: "dim about-bars" }, "Bars are as long as the logarithm of the ratio."),
    h(
      "div",
      { class: "wide", "aria-label": "Every number" },
      h(
        "table",
        { class: "small compare machines" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...head.map((each, i) =>
              h("th", { class: i > 0 && i < 4 ? "n" : undefined, "data-csv": i === 4 ? "none" : undefined }, h("bdi", {}, each)),
            ),
          ),
        ),
        body,
      ),
    ),
  );
}

export const machineDiffView: View = {
  id: "machines",
  title: "Side by side",
  fits: (context) => context.part.document.kind === "machine_diff",
  render: renderDiff,
};
