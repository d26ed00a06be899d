// SPDX-License-Identifier: Apache-2.0
// The points of a sweep: lines over one axis, a map over two, and the front of what is best in two goals at once.
import { frame, legend, pathOf } from "./chart";
import { h, menu, s } from "./dom";
import { color } from "./palette";
import type { SweepColumn, SweepDocument } from "./schema";
import { FrontChart } from "./sweep_front";
import { sweepMap } from "./sweep_map";
import {
  axisOf,
  cellText,
  choices,
  isMore,
  mostDots,
  numberAt,
  outOfMemory,
  Points,
  type Reach,
} from "./sweep_points";
import { withTip, type Lines } from "./tooltip";
import { labelOf } from "./units";
import { remade, type Context, type View } from "./view";

const mostSeries = 24;

class SweepViews implements Reach {
  private readonly points: Points;

  constructor(
    private readonly context: Context,
    document: SweepDocument,
    private readonly element: HTMLElement,
    private readonly width: number,
  ) {
    this.points = new Points(document);
  }

  private pick(
    key: string,
    among: SweepColumn[],
    otherwise: SweepColumn | undefined,
  ): SweepColumn | undefined {
    return among.find((column) => column.name === this.context.state.get(key)) ?? otherwise;
  }

  /// The axis with most values.
  private longest(axes: SweepColumn[]): SweepColumn | undefined {
    return [...axes].sort((a, b) => new Set(b.cells).size - new Set(a.cells).size)[0];
  }

  choose(row: number): void {
    this.context.state.set("point", String(row));
  }

  tip(row: number): Lines {
    const shown = [...this.points.axes, ...this.points.results.slice(0, 6)];
    const lines = shown.map((column): [string, string] => [
      labelOf(column.name),
      cellText(column, column.cells[row] ?? null),
    ]);
    return this.points.isOutOfMemory(row) ? [[outOfMemory, "it does not fit its device"], ...lines] : lines;
  }

  render(): void {
    const { axes, results } = this.points;
    const numeric = axes.filter((column) => column.is_number);
    const named = (name: string) => results.find((column) => column.name === name);
    const speed = named("expected_s") ?? named("time_s") ?? results[0];
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
        const value = values.map(String).includes(given.get(axis.name) ?? "")
          ? (given.get(axis.name) as string)
          : String(values[0]);
        fixed.set(axis.name, value);
        return menu(
          labelOf(axis.name),
          values.map((each) => ({ value: String(each), label: cellText(axis, each) })),
          value,
          (next) => {
            given.set(axis.name, next);
            this.context.state.set("sfix", given.toString());
          },
        );
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
    const values = (column: SweepColumn) =>
      shown.flatMap(([, rows]) => rows.map((row) => numberAt(column, row) ?? 0));
    const drawn = frame(
      `${labelOf(y.name)} over ${labelOf(x.name)}`,
      { width: this.width, height: 360 },
      axisOf(x, values(x), false),
      axisOf(y, values(y), true),
    );
    shown.forEach(([key, rows], index) => this.line(drawn, key, rows, x, y, index));
    const hollow = shown.some(([, rows]) => rows.some((row) => this.points.isOutOfMemory(row)))
      ? [{ name: outOfMemory, color: "var(--dim)", isOpen: true }]
      : [];
    element.replaceChildren(
      h(
        "div",
        { class: "controls" },
        menu("over", choices(numeric), x.name, (value) => this.context.state.set("sx", value)),
        menu("show", choices(results), y.name, (value) => this.context.state.set("sy", value)),
        model &&
          menu(
            "network",
            [
              { value: "", label: "all" },
              ...this.points.values(model).map((each) => ({ value: String(each), label: String(each) })),
            ],
            wanted,
            (value) => this.context.state.set("smodel", value),
          ),
      ),
      drawn.figure,
      series.size > 1 || hollow.length > 0
        ? legend(
            [...hollow, ...shown.map(([key], index) => ({ name: key || "all points", color: color(index) }))],
            mostSeries + 1,
          )
        : "",
      series.size > mostSeries
        ? h("p", { class: "dim" }, `the first ${mostSeries} of ${series.size} lines`)
        : "",
    );
  }

  private line(
    drawn: ReturnType<typeof frame>,
    key: string,
    rows: number[],
    x: SweepColumn,
    y: SweepColumn,
    index: number,
  ): void {
    const sorted = [...rows].sort((a, b) => (numberAt(x, a) ?? 0) - (numberAt(x, b) ?? 0));
    const at = (row: number) => [drawn.x(numberAt(x, row) ?? 0), drawn.y(numberAt(y, row) ?? 0)] as const;
    const path = pathOf(sorted.map(at));
    const dash = ["", "6 3", "2 3"][Math.floor(index / 8) % 3];
    drawn.area.append(
      s("path", { d: path, class: "line", stroke: color(index), "stroke-dasharray": dash || undefined }),
    );
    const step = Math.max(1, Math.ceil((sorted.length * mostSeries) / mostDots));
    sorted.forEach((row, i) => {
      if (i % step !== 0 && i !== sorted.length - 1) return;
      const isHollow = this.points.isOutOfMemory(row);
      const dot = s("circle", {
        cx: at(row)[0],
        cy: at(row)[1],
        r: isHollow ? 3.2 : 2.6,
        fill: isHollow ? "var(--paper)" : color(index),
        stroke: isHollow ? color(index) : undefined,
        class: isHollow ? "dot hollow" : "dot",
        "data-row": row,
      });
      withTip(dot, key || "point", () => this.tip(row));
      dot.addEventListener("click", () => this.choose(row));
      drawn.area.append(dot);
    });
  }

  private heat(element: HTMLElement, speed: SweepColumn): void {
    const { axes, results } = this.points;
    const x = this.pick("hx", axes, this.longest(axes)) as SweepColumn;
    // Networks differ too much for one scale: where there is another axis, the map is of one network.
    const others = axes.filter((axis) => axis !== x);
    const y = this.pick(
      "hy",
      others,
      others.find((axis) => axis.name !== "model") ?? others[0],
    ) as SweepColumn;
    const z = this.pick("hz", results, speed) as SweepColumn;
    const { menus, fixed } = this.fixed([x, y]);
    element.replaceChildren(
      h(
        "div",
        { class: "controls" },
        menu("map of", choices(results), z.name, (value) => this.context.state.set("hz", value)),
        menu("over", choices(axes), x.name, (value) => this.context.state.set("hx", value)),
        menu("and", choices(others), y.name, (value) => this.context.state.set("hy", value)),
        ...menus,
      ),
      sweepMap(this.points, this.points.rows(fixed), { x, y, z }, this.width, this),
    );
  }

  private front(element: HTMLElement, speed: SweepColumn): void {
    const { axes, results } = this.points;
    const goals = [...axes.filter((axis) => axis.is_number), ...results];
    const x = this.pick(
      "px",
      goals,
      this.longest(axes.filter((axis) => axis.is_number)) ?? results[1] ?? speed,
    ) as SweepColumn;
    const y = this.pick(
      "py",
      goals,
      results.find((column) => column.name === "samples_per_s") ?? speed,
    ) as SweepColumn;
    const chart = new FrontChart(this.points, x, y, this.width, this.context.state.get("point"), this);
    const { figure, networks, considered, onFront, hollow } = chart.draw();
    const word = (column: SweepColumn) => (isMore(column) ? "more" : "less");
    element.replaceChildren(
      h(
        "div",
        { class: "controls" },
        menu("front of", choices(goals), x.name, (next) => this.context.state.set("px", next)),
        menu("and", choices(goals), y.name, (next) => this.context.state.set("py", next)),
        h(
          "span",
          { class: "dim" },
          `${word(x)} ${labelOf(x.name)} and ${word(y)} ${labelOf(y.name)} is better: ${onFront} of ${considered} points are on the front${hollow > 0 ? `; ${hollow} are out of memory and not considered` : ""}`,
        ),
      ),
      figure,
      networks.length > 1 || hollow > 0
        ? legend([
            ...(hollow > 0 ? [{ name: outOfMemory, color: "var(--dim)", isOpen: true }] : []),
            ...networks.map((network, index) => ({ name: String(network ?? "on the front"), color: color(index) })),
          ])
        : "",
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
      if (column.cells[row] !== "" && column.cells[row] !== null)
        list.append(
          h("dt", {}, labelOf(column.name)),
          h("dd", { "data-key": column.name }, h("bdi", {}, cellText(column, column.cells[row] ?? null))),
        );
    element.replaceChildren(h("h3", {}, `Point ${row}`), list);
  }
}

export const sweepView: View = {
  id: "sweep",
  title: "Sweep",
  fits: (context) => context.part.document.kind === "sweep",
  render: (context, element, width) =>
    new SweepViews(context, context.part.document as SweepDocument, element, width).render(),
};
