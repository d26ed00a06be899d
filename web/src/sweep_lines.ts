// SPDX-License-Identifier: Apache-2.0
// A result over one axis: a line for each combination of the others. Of many lines some are drawn, evenly from the least
// to the most, in a band that holds all.
import { frame, pathOf, type Frame } from "./chart";
import { s } from "./dom";
import { Colors, dash } from "./palette";
import { roving, withTipAnyhow } from "./roving";
import type { SweepColumn } from "./schema";
import { nameOf } from "./sweep_columns";
import { axisOf, cellText, mostDots, numberAt, Range, type Points, type Reach } from "./sweep_points";
import { isTurn } from "./work";

export const mostSeries = 24;
const fewSeries = 12; // when not all are drawn

interface Series {
  name: string;
  rows: number[];
}

export interface DrawnLines {
  figure: HTMLElement;
  series: { name: string; color: string; dash: string | undefined }[];
  all: number; // lines, also those that are not drawn
  order: string; // by what those that are drawn were chosen
  hasHollow: boolean;
}

export class SweepLines {
  private readonly others: SweepColumn[];
  private readonly across = new Range();
  private readonly up = new Range();

  constructor(
    private readonly points: Points,
    private readonly x: SweepColumn,
    private readonly y: SweepColumn,
    private readonly width: number,
    private readonly reach: Reach,
    private readonly knees: number[] = [], // of the axis
  ) {
    this.others = points.axes.filter((axis) => axis !== x);
  }

  *draw(model: string, show: (lines: DrawnLines) => void): Generator<void, void, void> {
    const all: Series[] = [];
    yield* this.split(model, all);
    const { shown, order } = this.chosen(all);
    const drawn = frame(
      `${nameOf(this.y)} over ${nameOf(this.x)}`,
      { width: this.width, height: 360 },
      axisOf(this.points, this.x, this.across, false),
      axisOf(this.points, this.y, this.up, true),
    );
    if (shown.length < all.length) {
      yield* this.band(drawn, all);
    }
    this.markKnees(drawn);
    const colors = new Colors(shown.map((each) => each.name));
    const dots = shown.reduce((sum, each) => sum + each.rows.length, 0);
    for (const each of shown) {
      this.line(drawn, each, colors, Math.max(1, Math.ceil(dots / mostDots)));
      yield;
    }
    roving(drawn.svg, ".dot", (mark) => this.spoken(Number(mark.getAttribute("data-row"))));
    show({
      figure: drawn.figure,
      series: shown.map(({ name }) => ({ name, color: colors.of(name), dash: dash(colors.index(name)) })),
      all: all.length,
      order,
      hasHollow: shown.some(({ rows }) => rows.some((row) => this.points.isOutOfMemory(row))),
    });
  }

  /// Where the program found that more stops paying.
  private markKnees(drawn: Frame): void {
    this.knees.forEach((knee, at) => {
      const x = drawn.x(knee);
      const isRight = x > 0.75 * drawn.width;
      drawn.area.append(s("path", { d: `M${x},0V${drawn.height}`, class: "line knee" }));
      drawn.over.append(
        s(
          "text",
          { x: isRight ? x - 5 : x + 5, y: 12 + 13 * at, "text-anchor": isRight ? "end" : "start", class: "roof-name" },
          `knee ${cellText(this.x, knee)}`,
        ),
      );
    });
  }

  /// A series for each combination of the other axes.
  private *split(model: string, all: Series[]): Generator<void, void, void> {
    const { points, y } = this;
    const networks = points.axes.find((axis) => axis.name === "model");
    const codes = this.others.map((axis) => points.codes(axis));
    const series = new Map<number, Series>();
    for (let row = 0; row < points.document.points; row++) {
      if (isTurn(row)) yield;
      const value = numberAt(y, row);
      if (value === null || (model !== "" && networks && networks.cells[row] !== model)) continue;
      this.up.see(value);
      this.across.see(numberAt(this.x, row) ?? NaN);
      const key = codes.reduce((sum, code) => sum * code.values.length + (code.at[row] ?? 0), 0);
      const found = series.get(key);
      if (found) found.rows.push(row);
      else series.set(key, { name: this.nameOf(row), rows: [row] });
    }
    all.push(...series.values());
  }

  private nameOf(row: number): string {
    return this.others.map((axis) => cellText(axis, axis.cells[row] ?? null)).join(", ") || "all points";
  }

  private chosen(all: Series[]): { shown: Series[]; order: string } {
    if (all.length <= mostSeries) return { shown: all, order: "" };
    const only = this.others.length === 1 && this.others[0]?.is_number ? this.others[0] : null;
    const mean = ({ rows }: Series) => rows.reduce((sum, row) => sum + (numberAt(this.y, row) ?? 0), 0) / rows.length;
    const rank = new Map(
      all.map((each) => [each, only ? (numberAt(only, each.rows[0] as number) ?? 0) : mean(each)]),
    );
    const sorted = [...all].sort((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0));
    const shown = Array.from(
      { length: fewSeries },
      (_, i) => sorted[Math.round((i * (sorted.length - 1)) / (fewSeries - 1))] as Series,
    );
    return { shown, order: nameOf(only ?? this.y) };
  }

  /// From the least to the most of all lines, wherever they have a point.
  private *band(drawn: Frame, all: Series[]): Generator<void, void, void> {
    const { values, at } = this.points.codes(this.x);
    const ranges = values.map(() => new Range());
    for (const { rows } of all) {
      for (const row of rows) ranges[at[row] ?? 0]?.see(numberAt(this.y, row) ?? NaN);
      yield;
    }
    const there = values.flatMap((value, i) => {
      const range = ranges[i];
      return typeof value === "number" && range && !range.isEmpty ? [{ x: drawn.x(value), range }] : [];
    });
    const above = there.map(({ x, range }) => [x, drawn.y(range.most)] as const);
    const below = there.map(({ x, range }) => [x, drawn.y(range.least)] as const).reverse();
    drawn.area.append(s("path", { d: `${pathOf([...above, ...below])}Z`, class: "all-lines" }));
  }

  private line(drawn: Frame, { name, rows }: Series, colors: Colors, step: number): void {
    const sorted = [...rows].sort((a, b) => (numberAt(this.x, a) ?? 0) - (numberAt(this.x, b) ?? 0));
    const at = (row: number) => [drawn.x(numberAt(this.x, row) ?? 0), drawn.y(numberAt(this.y, row) ?? 0)] as const;
    const paint = colors.of(name);
    drawn.area.append(
      s("path", {
        d: pathOf(sorted.map(at)),
        class: "line",
        stroke: paint,
        "stroke-dasharray": dash(colors.index(name)),
      }),
    );
    sorted.forEach((row, i) => {
      if (i % step !== 0 && i !== sorted.length - 1) return;
      const isHollow = this.points.isOutOfMemory(row);
      const dot = s("circle", {
        cx: at(row)[0],
        cy: at(row)[1],
        r: isHollow ? 3.2 : step > 1 ? 2 : 2.6,
        fill: isHollow ? "var(--paper)" : paint,
        stroke: isHollow ? paint : undefined,
        class: isHollow ? "dot hollow" : "dot",
        "data-row": row,
      });
      withTipAnyhow(dot, name, () => this.reach.tip(row));
      dot.addEventListener("click", () => this.reach.choose(row));
      drawn.area.append(dot);
    });
  }

  private spoken(row: number): string {
    const text = (column: SweepColumn) => `${nameOf(column)} ${cellText(column, column.cells[row] ?? null)}`;
    return `${this.nameOf(row)}: ${text(this.x)}, ${text(this.y)}`;
  }
}
