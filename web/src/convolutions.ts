// SPDX-License-Identifier: Apache-2.0
// Strategies of convolution: time and scratch memory over a swept size, what their kernels do, and why some are missing.
import { frame, legend, linearDomain, logDomain, type Axis } from "./chart";
import { h, menu, s, words } from "./dom";
import { Colors, roleColor } from "./palette";
import { roving, withTipAnyhow } from "./roving";
import type { ConvCell, ConvDocument, ConvSeries } from "./schema";
import { withTip } from "./tooltip";
import { format, percent } from "./units";
import { remade, warningText, type Context, type View } from "./view";

/// The cells of one series and pass, by point and strategy.
interface Grid {
  series: ConvSeries;
  pass: string;
  strategies: string[];
  cell(point: number, strategy: string): ConvCell | undefined;
}

/// The letters of `strata conv --sweep`, in words.
const axisNames = new Map([
  ["b", "batch size"],
  ["i", "image side"],
  ["c", "channels"],
  ["f", "filters"],
  ["k", "kernel side"],
  ["s", "stride"],
]);

function axisName(series: string): string {
  return axisNames.get(series) ?? series;
}

function gridOf(document: ConvDocument, series: ConvSeries, pass: string): Grid {
  const cells = new Map<string, ConvCell>();
  for (const cell of document.cells)
    if (cell.pass === pass) cells.set(`${JSON.stringify(cell.shape)} ${cell.strategy}`, cell);
  const keys = series.points.map((point) => JSON.stringify(point.shape));
  const cell = (point: number, strategy: string) => cells.get(`${keys[point]} ${strategy}`);
  const strategies = document.strategies
    .map((each) => each.name)
    .filter((each) => keys.some((_, at) => cell(at, each)?.time_s !== undefined));
  return { series, pass, strategies, cell };
}

/// "± 12 %" from 5 % on; below that no choice turns on it.
function spreadText(cell: ConvCell | undefined): string {
  return (cell?.spread ?? 0) < 0.05 ? "" : ` ± ${percent(cell?.spread ?? 0)}`;
}

/// By all strategies of the document, so that they have the same colours in every picture and in the figures.
function colorsOf(document: ConvDocument): Colors {
  return new Colors(document.strategies.map((each) => each.name));
}

function isVendor(document: ConvDocument, strategy: string): boolean {
  return document.strategies.find((each) => each.name === strategy)?.is_vendor ?? false;
}

function lines(
  grid: Grid,
  document: ConvDocument,
  what: "time_s" | "scratch_bytes",
  width: number,
): HTMLElement {
  const at = (point: number) => grid.series.points[point]?.at ?? point;
  const value = (cell: ConvCell | undefined) =>
    cell?.time_s === undefined ? null : what === "time_s" ? cell.time_s : cell.scratch_bytes;
  const values = grid.series.points.flatMap((_, point) =>
    grid.strategies.map((each) => value(grid.cell(point, each)) ?? 0),
  );
  const x: Axis = {
    label: axisName(grid.series.name),
    unit: "count",
    domain: linearDomain(
      grid.series.points.map((_, point) => at(point)),
      false,
    ),
    isWhole: true,
    at: grid.series.points.length <= 12 ? grid.series.points.map((_, point) => at(point)) : [],
  };
  const colors = colorsOf(document);
  const y: Axis =
    what === "time_s"
      ? { label: "time", unit: "s", isLog: true, domain: logDomain(values) }
      : { label: "scratch memory", unit: "capacity", domain: linearDomain(values) };
  const drawn = frame(
    what === "time_s"
      ? `Time over ${axisName(grid.series.name)}, ${grid.pass}`
      : `Scratch memory over ${axisName(grid.series.name)}, ${grid.pass}`,
    { width, height: 330 },
    x,
    y,
  );
  grid.strategies.forEach((strategy) => {
    const spots: [number, number, ConvCell][] = [];
    grid.series.points.forEach((_, point) => {
      const cell = grid.cell(point, strategy);
      const found = value(cell);
      if (cell && found !== null && (found > 0 || what !== "time_s"))
        spots.push([drawn.x(at(point)), drawn.y(found), cell]);
    });
    drawn.area.append(
      s("path", {
        d: spots.map(([px, py], i) => `${i === 0 ? "M" : "L"}${px.toFixed(1)},${py.toFixed(1)}`).join(""),
        class: "line",
        stroke: colors.of(strategy),
        "stroke-dasharray": isVendor(document, strategy) ? "5 3" : undefined,
      }),
    );
    for (const [px, py, cell] of spots) {
      const dot = s("circle", { cx: px, cy: py, r: 3, fill: colors.of(strategy), class: "dot", "data-name": `${strategy}: ${format(cell.time_s, "s")}` });
      withTipAnyhow(dot, strategy, () => [
        ["time", `${format(cell.time_s, "s")}${spreadText(cell)}`],
        ["scratch", format(cell.scratch_bytes, "capacity")],
        ["rate", format(cell.direct_flop_per_s, "flop/s")],
      ]);
      drawn.area.append(dot);
    }
  });
  roving(drawn.svg, ".dot", (mark) => mark.getAttribute("data-name") ?? "");
  return drawn.figure;
}

/// Per point: each strategy's time, the fastest marked where it is clear, refusals with their reason.
function table(grid: Grid, clear: (boolean | undefined)[]): HTMLElement {
  const body = h("tbody", {});
  grid.series.points.forEach((point, at) => {
    const times = grid.strategies.map((each) => grid.cell(at, each)?.time_s);
    const best = Math.min(...times.map((time) => time ?? Infinity));
    const row = h("tr", {}, h("th", { scope: "row" }, h("bdi", {}, point.label)));
    grid.strategies.forEach((strategy, i) => {
      const cell = grid.cell(at, strategy);
      const time = times[i];
      row.append(
        h(
          "td",
          {
            class: time !== undefined && time === best && clear[at] !== false ? "n best" : "n",
            "data-value": time ?? "",
            title: cell?.reason ?? point.refusal,
          },
          time === undefined ? (cell ? cell.status : "–") : `${format(time, "s")}${spreadText(cell)}`,
        ),
      );
    });
    body.append(row);
  });
  const head = h(
    "tr",
    {},
    h("th", {}, grid.series.name),
    ...grid.strategies.map((each) => h("th", { class: "n" }, h("bdi", {}, each))),
  );
  return h("div", { class: "wide" }, h("table", { class: "small" }, h("thead", {}, head), body));
}

/// What part of each strategy's time each role of kernel takes, at one point.
function roles(grid: Grid, point: number): HTMLElement {
  const names = new Set<string>();
  for (const strategy of grid.strategies)
    for (const role of grid.cell(point, strategy)?.roles ?? []) names.add(role.role);
  const all = [...names];
  const list = h("div", { class: "bars" });
  for (const strategy of grid.strategies) {
    const cell = grid.cell(point, strategy);
    const sum = (cell?.roles ?? []).reduce((total, role) => total + role.time_s, 0);
    if (!cell || sum <= 0) continue;
    const track = h("span", { class: "bar-track stacked" });
    for (const role of cell.roles ?? []) {
      const part = h("span", { class: "bar" });
      part.style.width = `${(100 * role.time_s) / sum}%`;
      part.style.setProperty("--swatch", roleColor(role.role));
      withTip(part, `${strategy}: ${role.role}`, () => [
        ["time", format(role.time_s, "s")],
        ["share", percent(role.time_s / sum)],
      ]);
      track.append(part);
    }
    list.append(
      h(
        "div",
        { class: "bar-row" },
        h("bdi", { class: "bar-name" }, strategy),
        track,
        h("span", { class: "bar-value" }, format(cell.time_s, "s")),
      ),
    );
  }
  return h("div", {}, list, legend(all.map((role) => ({ name: role, color: roleColor(role) }))));
}

function refusals(document: ConvDocument, grid: Grid): HTMLElement | "" {
  const reasons = new Map<string, number>();
  for (const [at] of grid.series.points.entries())
    for (const { name } of document.strategies) {
      const cell = grid.cell(at, name);
      if (cell?.reason)
        reasons.set(`${name}: ${cell.reason}`, (reasons.get(`${name}: ${cell.reason}`) ?? 0) + 1);
    }
  if (reasons.size === 0) return "";
  return h(
    "details",
    {},
    h("summary", {}, "what is missing, and why"),
    h(
      "ul",
      {},
      ...[...reasons].map(([reason, count]) =>
        h("li", {}, h("bdi", {}, reason), count > 1 ? ` (${count} points)` : ""),
      ),
    ),
  );
}

function render(context: Context, element: HTMLElement, width: number): void {
  const document = context.part.document as ConvDocument;
  const { state } = context;
  const body = h("div", {});
  element.append(body);
  remade(context, ["series", "convpass", "convpoint"], () => {
    const series = document.series.find((each) => each.name === state.get("series")) ?? document.series[0];
    const pass = document.passes.find((each) => each === state.get("convpass")) ?? document.passes[0];
    if (!series || pass === undefined) return;
    const grid = gridOf(document, series, pass);
    const point = Math.min(series.points.length - 1, Math.max(0, Number(state.get("convpoint")) || 0));
    const advice = document.advice.filter((each) => each.series === series.name && each.pass === pass);
    const half = width > 900 ? Math.floor((width - 16) / 2) : width;
    body.replaceChildren(
      h(
        "div",
        { class: "controls" },
        menu(
          "series",
          document.series.map((each) => ({ value: each.name, label: each.name })),
          series.name,
          (value) => state.set("series", value),
        ),
        menu(
          "pass",
          document.passes.map((each) => ({ value: each, label: each })),
          pass,
          (value) => state.set("convpass", value),
        ),
      ),
      ...(document.warnings ?? []).map((each) => h("p", { class: "note" }, ...words(warningText(each)))),
      ...advice.map((each) =>
        h(
          "p",
          { class: "advice" },
          each.scratch_budget_bytes === undefined
            ? ""
            : `within ${format(each.scratch_budget_bytes, "capacity")}: `,
          h("bdi", {}, each.recommendation),
        ),
      ),
      series.is_sweep
        ? h(
            "div",
            { class: half < width ? "two even" : "" },
            lines(grid, document, "time_s", half),
            lines(grid, document, "scratch_bytes", half),
          )
        : "",
      series.is_sweep
        ? legend(
            grid.strategies.map((each) => ({
              name: each,
              color: colorsOf(document).of(each),
              dash: isVendor(document, each) ? "5 3" : undefined,
            })),
            24,
          )
        : "",
      table(
        grid,
        (advice.find((each) => each.scratch_budget_bytes === undefined)?.fastest ?? []).map((each) => each.is_clear),
      ),
      h(
        "div",
        { class: "controls" },
        menu(
          "kernels at",
          series.points.map((each, i) => ({ value: i === 0 ? "" : String(i), label: each.label })),
          point === 0 ? "" : String(point),
          (value) => state.set("convpoint", value),
        ),
      ),
      roles(grid, point),
      refusals(document, grid),
    );
  });
}

export const convolutionsView: View = {
  id: "convolutions",
  title: "Convolutions",
  fits: (context) => context.part.document.kind === "convolutions",
  render,
};
