// SPDX-License-Identifier: Apache-2.0
// A number over two axes, as a map of shades. Where there are more points than a map can show, neighbours share a cell,
// which says the median, the least or the most of all of them.
import { scaleBar } from "./chart";
import { h, s } from "./dom";
import { shade } from "./palette";
import { cornerOf, roving } from "./roving";
import type { SweepColumn } from "./schema";
import { nameOf } from "./sweep_columns";
import { cellText, numberAt, outOfMemory, Range, type Cell, type Points, type Reach } from "./sweep_points";
import { hideTip, showTip, type Lines } from "./tooltip";
import { format, unitOf } from "./units";
import { isTurn } from "./work";

const left = 118; // for the names of the lines
const below = 46; // for those of the columns
const tallest = 360;
const mostLines = 40;
const narrowest = 10;

export type Statistic = "median" | "least" | "most";

export interface MapColumns {
  x: SweepColumn;
  y: SweepColumn;
  z: SweepColumn; // what the shade says
}

/// Values of an axis, neighbours together.
class Bins {
  readonly count: number;

  constructor(
    readonly values: Cell[],
    most: number,
  ) {
    this.count = Math.max(1, Math.min(values.length, Math.floor(most)));
  }

  of(place: number): number {
    return Math.floor((place * this.count) / this.values.length);
  }

  name(column: SweepColumn, bin: number): string {
    const first = Math.ceil((bin * this.values.length) / this.count);
    const last = Math.ceil(((bin + 1) * this.values.length) / this.count) - 1;
    const text = (place: number) => cellText(column, this.values[place] ?? null);
    return last > first ? `${text(first)} to ${text(last)}` : text(first);
  }

  firstName(column: SweepColumn, bin: number): string {
    return cellText(column, this.values[Math.ceil((bin * this.values.length) / this.count)] ?? null);
  }
}

interface MapCell {
  rows: number[]; // by what the map shows, the least first
  value: number;
  row: number; // that has the value
  isHollow: boolean;
}

export class SweepMap {
  private readonly across: Bins;
  private readonly up: Bins;
  private readonly cells = new Map<number, MapCell>();
  private readonly range = new Range();
  private readonly spoken = new Map<Element, () => string>();

  constructor(
    private readonly points: Points,
    private readonly of: MapColumns,
    private readonly statistic: Statistic,
    private readonly width: number,
    private readonly reach: Reach,
  ) {
    this.across = new Bins(points.values(of.x), (width - left - 10) / narrowest);
    this.up = new Bins(points.values(of.y), mostLines);
  }

  /// Whether a cell may hold several points.
  get isBinned(): boolean {
    return this.across.count < this.across.values.length || this.up.count < this.up.values.length;
  }

  /// Puts the points into their cells, then draws them.
  *draw(rows: number[], place: HTMLElement): Generator<void, void, void> {
    const [x, y] = [this.points.codes(this.of.x).at, this.points.codes(this.of.y).at];
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i] as number;
      if (isTurn(i)) yield;
      if (numberAt(this.of.z, row) === null) continue;
      const key = this.up.of(y[row] ?? 0) * this.across.count + this.across.of(x[row] ?? 0);
      const cell = this.cells.get(key);
      if (cell) cell.rows.push(row);
      else this.cells.set(key, { rows: [row], value: 0, row, isHollow: false });
    }
    let step = 0;
    for (const cell of this.cells.values()) {
      this.judge(cell);
      if (isTurn(step++)) yield;
    }
    yield* this.picture(rows.length, place);
  }

  private judge(cell: MapCell): void {
    const number = (row: number) => numberAt(this.of.z, row) ?? 0;
    cell.rows.sort((a, b) => number(a) - number(b));
    const last = cell.rows.length - 1;
    const at = this.statistic === "least" ? 0 : this.statistic === "most" ? last : last >> 1;
    cell.row = cell.rows[at] as number;
    cell.value = number(cell.row);
    cell.isHollow = cell.rows.every((row) => this.points.isOutOfMemory(row));
    if (!cell.isHollow) this.range.see(cell.value);
  }

  private share(value: number): number {
    const { least, most } = this.range;
    if (!(most > least)) return 0.5;
    // The shades of a result that spans decades would all lie at one end; figures do the same.
    return least > 0 && most > 20 * least
      ? Math.log(value / least) / Math.log(most / least)
      : (value - least) / (most - least);
  }

  private *picture(points: number, place: HTMLElement): Generator<void, void, void> {
    const { x, y, z } = this.of;
    const height = Math.max(4, Math.min(34, Math.floor(tallest / this.up.count)));
    const cellWidth = (this.width - left - 10) / this.across.count;
    const all = height * this.up.count;
    const title = `${nameOf(z)} over ${nameOf(x)} and ${nameOf(y)}`;
    const svg = s("svg", {
      viewBox: `0 0 ${this.width} ${all + below}`,
      width: this.width,
      height: all + below,
      "aria-label": title,
    });
    const edge = (bin: number) => Math.round(left + bin * cellWidth); // whole pixels: no seams
    let step = 0;
    for (const [key, cell] of [...this.cells].sort((a, b) => a[0] - b[0])) {
      const [line, column] = [Math.floor(key / this.across.count), key % this.across.count];
      const mark = s("rect", {
        x: edge(column),
        y: all - (line + 1) * height, // much is above, as in figures
        width: Math.max(1, edge(column + 1) - edge(column)),
        height,
        fill: cell.isHollow ? "none" : shade(this.share(cell.value)),
        class: cell.isHollow ? "heat hollow" : "heat",
        "data-row": cell.row,
        "data-count": cell.rows.length,
      });
      this.listen(mark, cell, line, column);
      svg.append(mark);
      if (isTurn(4 * step++)) yield;
    }
    this.names(svg, all, height, cellWidth);
    roving(svg, ".heat", (mark) => this.spoken.get(mark)?.() ?? "");
    const hollow = [...this.cells.values()].some((cell) => cell.isHollow);
    place.replaceChildren(
      h("figure", { class: "chart" }, h("figcaption", {}, title), svg, this.key(hollow)),
      this.isBinned
        ? h(
            "p",
            { class: "dim" },
            `all ${points.toLocaleString("en-US")} points in ${this.cells.size.toLocaleString("en-US")} cells; a cell shows the ${this.statistic} of its points`,
          )
        : "",
    );
  }

  private key(hasHollow: boolean): HTMLElement {
    const { least, most } = this.range;
    const unit = unitOf(this.of.z.name);
    const isLog = least > 0 && most > 20 * least;
    const at = (share: number) => (isLog ? least * (most / least) ** share : least + share * (most - least));
    return h(
      "div",
      { class: "scale-row" },
      this.range.isEmpty ? "" : scaleBar(shade, (share) => format(at(share), unit), this.width),
      hasHollow && h("span", { class: "dim" }, `hollow: ${outOfMemory}`),
    );
  }

  private listen(mark: SVGRectElement, cell: MapCell, line: number, column: number): void {
    const { x, y, z } = this.of;
    const unit = unitOf(z.name);
    const title = () => (cell.isHollow ? outOfMemory : format(cell.value, unit));
    const lines = (): Lines => {
      if (cell.rows.length === 1) return this.reach.tip(cell.row);
      const number = (row: number | undefined) => format(numberAt(z, row ?? 0), unit);
      return [
        [nameOf(x), this.across.name(x, column)],
        [nameOf(y), this.up.name(y, line)],
        ["points", String(cell.rows.length)],
        ["least", number(cell.rows[0])],
        ["median", number(cell.rows[(cell.rows.length - 1) >> 1])],
        ["most", number(cell.rows.at(-1))],
      ];
    };
    mark.addEventListener("pointermove", (event) => showTip(event, title(), lines()));
    mark.addEventListener("pointerleave", hideTip);
    mark.addEventListener("focus", () => showTip(cornerOf(mark), title(), lines()));
    mark.addEventListener("blur", hideTip);
    mark.addEventListener("click", () => this.reach.choose(cell.row));
    this.spoken.set(
      mark,
      () =>
        `${nameOf(x)} ${this.across.name(x, column)}, ${nameOf(y)} ${this.up.name(y, line)}: ${title()}`,
    );
  }

  private names(svg: SVGSVGElement, all: number, height: number, cellWidth: number): void {
    const { x, y } = this.of;
    const everyLine = Math.ceil(15 / height);
    for (let line = 0; line < this.up.count; line += everyLine)
      svg.append(
        s(
          "text",
          { x: left - 8, y: all - (line + 0.5) * height + 4, "text-anchor": "end", class: "tick" },
          this.up.firstName(y, line),
        ),
      );
    const everyColumn = Math.ceil(92 / cellWidth);
    for (let column = 0; column < this.across.count; column += everyColumn)
      svg.append(
        s(
          "text",
          { x: left + (column + 0.5) * cellWidth, y: all + 16, "text-anchor": "middle", class: "tick" },
          this.across.firstName(x, column),
        ),
      );
    svg.append(
      s("text", { x: left + (this.width - left) / 2, y: all + 38, "text-anchor": "middle", class: "axis" }, nameOf(x)),
      s(
        "text",
        { transform: `translate(12,${all / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis" },
        nameOf(y),
      ),
    );
  }
}
