// SPDX-License-Identifier: Apache-2.0
// The points of a sweep: lines over one axis, a map over two, and the front of what is best in two goals at once.
import { interpolateViridis } from "d3";
import { frame, legend, linearDomain, logDomain, type Axis } from "./chart";
import { h, menu, s } from "./dom";
import { color } from "./palette";
import type { SweepColumn, SweepDocument } from "./schema";
import { withTip } from "./tooltip";
import { format, labelOf, unitOf } from "./units";
import { remade, type Context, type View } from "./view";

const mostDots = 3000;
const mostSeries = 24;

type Cell = number | string | null;

/// A sweep and what is chosen of it.
class Points {
  readonly axes: SweepColumn[]; // with more than one value
  readonly results: SweepColumn[];

  constructor(readonly document: SweepDocument) {
    this.axes = document.columns.filter((column) => column.is_axis && column.name !== "point" && new Set(column.cells).size > 1);
    this.results = document.columns.filter((column) => column.is_number && column.name !== "point" && !this.axes.includes(column) && new Set(column.cells).size > 1);
  }

  column(name: string): SweepColumn | undefined {
    return this.document.columns.find((column) => column.name === name);
  }

  values(column: SweepColumn): Cell[] {
    const values = [...new Set(column.cells)];
    return column.is_number ? values.sort((a, b) => Number(a) - Number(b)) : values;
  }

  /// Rows for which every fixed column has its value.
  rows(fixed: Map<string, string>): number[] {
    const tests = [...fixed].map(([key, value]) => ({ cells: this.column(key)?.cells ?? [], value }));
    const found: number[] = [];
    for (let row = 0; row < this.document.points; row++)
      if (tests.every((test) => String(test.cells[row]) === test.value)) found.push(row);
    return found;
  }
}

function cellText(column: SweepColumn, cell: Cell): string {
  return typeof cell === "number" ? format(cell, unitOf(column.name)) : (cell ?? "–");
}

function numberAt(column: SweepColumn, row: number): number | null {
  const cell = column.cells[row];
  return typeof cell === "number" ? cell : null;
}

function choices(columns: SweepColumn[]): { value: string; label: string }[] {
  return columns.map((column) => ({ value: column.name, label: labelOf(column.name) }));
}

/// Also of more values than a call takes arguments.
function largest(values: number[]): number {
  return values.reduce((most, value) => Math.max(most, value), -Infinity);
}

function axisOf(column: SweepColumn, values: number[], fromZero: boolean): Axis {
  const positive = values.filter((value) => value > 0);
  const isLog = !fromZero && positive.length === values.length && largest(positive) > 100 * -largest(positive.map((value) => -value));
  return { label: labelOf(column.name), unit: unitOf(column.name), isLog, domain: isLog ? logDomain(values) : linearDomain(values, fromZero), isExact: !fromZero };
}

class SweepViews {
  private readonly points: Points;

  constructor(
    private readonly context: Context,
    document: SweepDocument,
    private readonly element: HTMLElement,
    private readonly width: number,
  ) {
    this.points = new Points(document);
  }

  private pick(key: string, among: SweepColumn[], otherwise: SweepColumn | undefined): SweepColumn | undefined {
    return among.find((column) => column.name === this.context.state.get(key)) ?? otherwise;
  }

  /// The axis with most values.
  private longest(axes: SweepColumn[]): SweepColumn | undefined {
    return [...axes].sort((a, b) => new Set(b.cells).size - new Set(a.cells).size)[0];
  }

  private details(row: number): void {
    this.context.state.set("point", String(row));
  }

  private tip(row: number): [string, string][] {
    const shown = [...this.points.axes, ...this.points.results.slice(0, 6)];
    return shown.map((column): [string, string] => [labelOf(column.name), cellText(column, column.cells[row] ?? null)]);
  }

  render(): void {
    const { axes, results } = this.points;
    const numeric = axes.filter((column) => column.is_number);
    const speed = results.find((column) => column.name === "time_s") ?? results[0];
    if (!speed || axes.length === 0) {
      this.element.append(h("p", {}, "the points differ in nothing that could be drawn"));
      return;
    }
    const lines = h("div", {});
    const heat = h("div", {});
    const front = h("div", {});
    const chosen = h("div", { class: "point" });
    this.element.append(lines, heat, front, chosen);
    const x = this.longest(numeric);
    if (x) remade(this.context, ["sx", "sy", "smodel"], () => this.lines(lines, numeric, x, speed));
    if (axes.length > 1) remade(this.context, ["hx", "hy", "hz", "sfix"], () => this.heat(heat, speed));
    remade(this.context, ["px", "py", "point"], () => this.front(front, speed));
    remade(this.context, ["point"], () => this.chosen(chosen));
  }

  /// A menu for each axis that the picture does not show.
  private fixed(used: SweepColumn[]): { menus: HTMLElement[]; fixed: Map<string, string> } {
    const given = new URLSearchParams(this.context.state.get("sfix"));
    const fixed = new Map<string, string>();
    const menus = this.points.axes
      .filter((axis) => !used.includes(axis))
      .map((axis) => {
        const values = this.points.values(axis);
        const value = values.map(String).includes(given.get(axis.name) ?? "") ? (given.get(axis.name) as string) : String(values[0]);
        fixed.set(axis.name, value);
        return menu(labelOf(axis.name), values.map((each) => ({ value: String(each), label: cellText(axis, each) })), value, (next) => {
          given.set(axis.name, next);
          this.context.state.set("sfix", given.toString());
        });
      });
    return { menus, fixed };
  }

  private lines(element: HTMLElement, numeric: SweepColumn[], first: SweepColumn, speed: SweepColumn): void {
    const { axes, results, document } = this.points;
    const x = this.pick("sx", numeric, first) as SweepColumn;
    const y = this.pick("sy", results, speed) as SweepColumn;
    const model = axes.find((axis) => axis.name === "model");
    const wanted = this.context.state.get("smodel");
    // One line for each combination of the other axes.
    const others = axes.filter((axis) => axis !== x);
    const series = new Map<string, number[]>();
    for (let row = 0; row < document.points; row++) {
      if (numberAt(y, row) === null || (wanted !== "" && model && model.cells[row] !== wanted)) continue;
      const key = others.map((axis) => cellText(axis, axis.cells[row] ?? null)).join(", ");
      const rows = series.get(key);
      if (rows) rows.push(row);
      else series.set(key, [row]);
    }
    const shown = [...series].slice(0, mostSeries);
    const values = (column: SweepColumn) => shown.flatMap(([, rows]) => rows.map((row) => numberAt(column, row) ?? 0));
    const drawn = frame(`${labelOf(y.name)} over ${labelOf(x.name)}`, { width: this.width, height: 360 }, axisOf(x, values(x), false), axisOf(y, values(y), true));
    shown.forEach(([key, rows], index) => this.line(drawn, key, rows, x, y, index));
    element.replaceChildren(
      h("div", { class: "controls" },
        menu("over", choices(numeric), x.name, (value) => this.context.state.set("sx", value)),
        menu("show", choices(results), y.name, (value) => this.context.state.set("sy", value)),
        model && menu("network", [{ value: "", label: "all" }, ...this.points.values(model).map((each) => ({ value: String(each), label: String(each) }))], wanted, (value) => this.context.state.set("smodel", value))),
      drawn.figure,
      series.size > 1 ? legend(shown.map(([key], index) => ({ name: key, color: color(index) })), mostSeries) : "",
      series.size > mostSeries ? h("p", { class: "dim" }, `the first ${mostSeries} of ${series.size} lines`) : "",
    );
  }

  private line(drawn: ReturnType<typeof frame>, key: string, rows: number[], x: SweepColumn, y: SweepColumn, index: number): void {
    const sorted = [...rows].sort((a, b) => (numberAt(x, a) ?? 0) - (numberAt(x, b) ?? 0));
    const at = (row: number) => [drawn.x(numberAt(x, row) ?? 0), drawn.y(numberAt(y, row) ?? 0)] as const;
    const path = sorted.map((row, i) => `${i === 0 ? "M" : "L"}${at(row).map((value) => value.toFixed(1)).join(",")}`).join("");
    const dash = ["", "6 3", "2 3"][Math.floor(index / 8) % 3];
    drawn.area.append(s("path", { d: path, class: "line", stroke: color(index), "stroke-dasharray": dash || undefined }));
    const step = Math.max(1, Math.ceil((sorted.length * mostSeries) / mostDots));
    sorted.forEach((row, i) => {
      if (i % step !== 0 && i !== sorted.length - 1) return;
      const dot = s("circle", { cx: at(row)[0], cy: at(row)[1], r: 2.6, fill: color(index), class: "dot", "data-row": row });
      withTip(dot, key || "point", () => this.tip(row));
      dot.addEventListener("click", () => this.details(row));
      drawn.area.append(dot);
    });
  }

  private heat(element: HTMLElement, speed: SweepColumn): void {
    const { axes, results } = this.points;
    const x = this.pick("hx", axes, this.longest(axes)) as SweepColumn;
    // Networks differ too much for one scale: where there is another axis, the map is of one network.
    const others = axes.filter((axis) => axis !== x);
    const y = this.pick("hy", others, others.find((axis) => axis.name !== "model") ?? others[0]) as SweepColumn;
    const z = this.pick("hz", results, speed) as SweepColumn;
    const { menus, fixed } = this.fixed([x, y]);
    const rows = this.points.rows(fixed).filter((row) => numberAt(z, row) !== null);
    const [columns, lines] = [this.points.values(x), this.points.values(y)];
    const [least, most] = linearDomain(rows.map((row) => numberAt(z, row) ?? 0), false);
    const [left, cell] = [130, { width: (this.width - 140) / columns.length, height: Math.max(14, Math.min(34, 320 / lines.length)) }];
    const height = lines.length * cell.height + 46;
    const svg = s("svg", { viewBox: `0 0 ${this.width} ${height}`, width: this.width, height, role: "img", "aria-label": `${labelOf(z.name)} over ${labelOf(x.name)} and ${labelOf(y.name)}` });
    const [columnOf, lineOf] = [new Map(columns.map((value, i) => [value, i])), new Map(lines.map((value, i) => [value, i]))];
    for (const row of rows.slice(0, 4 * mostDots)) {
      const value = numberAt(z, row) ?? 0;
      const shade = most > least ? (value - least) / (most - least) : 0.5;
      const rect = s("rect", { x: left + (columnOf.get(x.cells[row] ?? null) ?? 0) * cell.width, y: (lineOf.get(y.cells[row] ?? null) ?? 0) * cell.height,
        width: cell.width + 0.3, height: cell.height - 1, fill: interpolateViridis(1 - shade), class: "heat", "data-row": row });
      withTip(rect, format(value, unitOf(z.name)), () => this.tip(row));
      rect.addEventListener("click", () => this.details(row));
      svg.append(rect);
    }
    lines.forEach((value, i) => svg.append(s("text", { x: left - 8, y: (i + 0.5) * cell.height + 4, "text-anchor": "end", class: "tick" }, cellText(y, value))));
    const step = Math.max(1, Math.ceil(columns.length / (this.width / 90)));
    columns.forEach((value, i) => {
      if (i % step === 0) svg.append(s("text", { x: left + (i + 0.5) * cell.width, y: lines.length * cell.height + 16, "text-anchor": "middle", class: "tick" }, cellText(x, value)));
    });
    svg.append(s("text", { x: left + (this.width - 140) / 2, y: height - 6, "text-anchor": "middle", class: "axis" }, `${labelOf(x.name)}; light is little: ${format(least, unitOf(z.name))} to ${format(most, unitOf(z.name))}`));
    element.replaceChildren(
      h("div", { class: "controls" },
        menu("map of", choices(results), z.name, (value) => this.context.state.set("hz", value)),
        menu("over", choices(axes), x.name, (value) => this.context.state.set("hx", value)),
        menu("and", choices(others), y.name, (value) => this.context.state.set("hy", value)),
        ...menus),
      h("figure", { class: "chart" }, h("figcaption", {}, `${labelOf(z.name)} over ${labelOf(x.name)} and ${labelOf(y.name)}`), svg),
    );
  }

  private front(element: HTMLElement, speed: SweepColumn): void {
    const { axes, results, document } = this.points;
    const goals = [...axes.filter((axis) => axis.is_number), ...results];
    const x = this.pick("px", goals, this.longest(axes.filter((axis) => axis.is_number)) ?? results[1] ?? speed) as SweepColumn;
    const y = this.pick("py", goals, results.find((column) => column.name === "samples_per_s") ?? speed) as SweepColumn;
    const rows: number[] = [];
    for (let row = 0; row < document.points; row++) if (numberAt(x, row) !== null && numberAt(y, row) !== null) rows.push(row);
    // Two networks are no alternatives to each other: each has its own front.
    const model = axes.find((axis) => axis.name === "model");
    const networks = model ? this.points.values(model) : [null];
    const value = (column: SweepColumn) => rows.map((row) => numberAt(column, row) ?? 0);
    const drawn = frame(`The best of ${labelOf(x.name)} and ${labelOf(y.name)}`, { width: this.width, height: 360 }, axisOf(x, value(x), false), axisOf(y, value(y), true));
    const at = (row: number) => [drawn.x(numberAt(x, row) ?? 0), drawn.y(numberAt(y, row) ?? 0)] as const;
    const step = Math.max(1, Math.ceil(rows.length / mostDots));
    rows.forEach((row, i) => {
      if (i % step === 0) drawn.area.append(s("circle", { cx: at(row)[0], cy: at(row)[1], r: 2, class: "far" }));
    });
    let onFront = 0;
    networks.forEach((network, index) => {
      const own = network === null || !model ? rows : rows.filter((row) => model.cells[row] === network);
      const best = paretoFront(own, (row) => goal(x, row), (row) => goal(y, row));
      onFront += best.length;
      drawn.area.append(s("path", { d: best.map((row, i) => `${i === 0 ? "M" : "L"}${at(row).map((each) => each.toFixed(1)).join(",")}`).join(""), class: "line", stroke: color(index) }));
      for (const row of best) {
        const isChosen = String(row) === this.context.state.get("point");
        const dot = s("circle", { cx: at(row)[0], cy: at(row)[1], r: isChosen ? 7 : 4, fill: color(index), class: isChosen ? "dot chosen" : "dot", "data-row": row, tabindex: 0, role: "button", "aria-label": `point ${row}` });
        withTip(dot, network === null ? "on the front" : String(network), () => this.tip(row));
        dot.addEventListener("click", () => this.details(row));
        dot.addEventListener("keydown", (event) => event.key === "Enter" && this.details(row));
        drawn.area.append(dot);
      }
    });
    const word = (column: SweepColumn) => (isMore(column) ? "more" : "less");
    element.replaceChildren(
      h("div", { class: "controls" },
        menu("front of", choices(goals), x.name, (next) => this.context.state.set("px", next)),
        menu("and", choices(goals), y.name, (next) => this.context.state.set("py", next)),
        h("span", { class: "dim" }, `${word(x)} ${labelOf(x.name)} and ${word(y)} ${labelOf(y.name)} is better: ${onFront} of ${rows.length} points are on the front`)),
      drawn.figure,
      networks.length > 1 ? legend(networks.map((network, index) => ({ name: String(network), color: color(index) }))) : "",
    );
  }

  private chosen(element: HTMLElement): void {
    const text = this.context.state.get("point");
    const row = Number(text);
    const hasPoint = text !== "" && Number.isInteger(row) && row >= 0 && row < this.points.document.points;
    if (!hasPoint) {
      element.replaceChildren(h("p", { class: "dim" }, "choose a point to see all of its numbers"));
      return;
    }
    const list = h("dl", { class: "facts" });
    for (const column of this.points.document.columns)
      if (column.cells[row] !== "" && column.cells[row] !== null) list.append(h("dt", {}, labelOf(column.name)), h("dd", { "data-key": column.name }, h("bdi", {}, cellText(column, column.cells[row] ?? null))));
    element.replaceChildren(h("h3", {}, `Point ${row}`), list);
  }
}

function isMore(column: SweepColumn): boolean {
  return column.name === "samples_per_s" || column.name === "utilisation";
}

/// What is to be small.
function goal(column: SweepColumn, row: number): number {
  const value = numberAt(column, row) ?? 0;
  return isMore(column) ? -value : value;
}

/// Rows that no other is at least as good as in both goals and better in one, by the first goal. Equal ones count once.
export function paretoFront(rows: number[], first: (row: number) => number, second: (row: number) => number): number[] {
  const sorted = [...rows].sort((a, b) => first(a) - first(b) || second(a) - second(b));
  const front: number[] = [];
  let best = Infinity;
  for (const row of sorted) {
    if (second(row) >= best) continue;
    best = second(row);
    front.push(row);
  }
  return front;
}

export const sweepView: View = {
  id: "sweep",
  title: "Sweep",
  fits: (context) => context.part.document.kind === "sweep",
  render: (context, element, width) => new SweepViews(context, context.part.document as SweepDocument, element, width).render(),
};
