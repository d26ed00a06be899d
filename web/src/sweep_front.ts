// SPDX-License-Identifier: Apache-2.0
// The points that nothing beats in two goals at once, among all others.
import { frame, pathOf, type Frame } from "./chart";
import { s } from "./dom";
import { color } from "./palette";
import type { SweepColumn } from "./schema";
import {
  axisOf,
  goal,
  mostDots,
  numberAt,
  outOfMemory,
  paretoFront,
  type Cell,
  type Points,
  type Reach,
} from "./sweep_points";
import { withTip } from "./tooltip";
import { labelOf } from "./units";

export interface Front {
  figure: HTMLElement;
  networks: Cell[]; // in the order of their colours; [null]: the sweep is of one
  considered: number;
  onFront: number;
  hollow: number; // out of memory: shown, but nothing that one could choose
}

export class FrontChart {
  private readonly rows: number[] = []; // that fit
  private readonly tooLarge: number[] = [];
  private readonly drawn: Frame;

  constructor(
    private readonly points: Points,
    private readonly x: SweepColumn,
    private readonly y: SweepColumn,
    width: number,
    private readonly chosen: string,
    private readonly reach: Reach,
  ) {
    for (let row = 0; row < points.document.points; row++)
      if (numberAt(x, row) !== null && numberAt(y, row) !== null)
        (points.isOutOfMemory(row) ? this.tooLarge : this.rows).push(row);
    const values = (column: SweepColumn) =>
      [...this.rows, ...this.tooLarge].map((row) => numberAt(column, row) ?? 0);
    const title = `The best of ${labelOf(x.name)} and ${labelOf(y.name)}`;
    this.drawn = frame(
      title,
      { width, height: 360 },
      axisOf(x, values(x), false),
      axisOf(y, values(y), true),
    );
  }

  draw(): Front {
    const step = Math.max(1, Math.ceil(this.rows.length / mostDots));
    this.rows.forEach((row, i) => {
      const [cx, cy] = this.at(row);
      if (i % step === 0) this.drawn.area.append(s("circle", { cx, cy, r: 2, class: "far" }));
    });
    const skipped = Math.max(1, Math.ceil(this.tooLarge.length / mostDots));
    this.tooLarge.forEach((row, i) => {
      const [cx, cy] = this.at(row);
      if (i % skipped !== 0) return;
      const dot = s("circle", { cx, cy, r: 3, class: "hollow", "data-row": row });
      withTip(dot, outOfMemory, () => this.reach.tip(row));
      this.drawn.area.append(dot);
    });
    // Two networks are no alternatives to each other: each has its own front.
    const model = this.points.axes.find((axis) => axis.name === "model");
    const networks = model ? this.points.values(model) : [null];
    let onFront = 0;
    networks.forEach((network, index) => {
      const own = model ? this.rows.filter((row) => model.cells[row] === network) : this.rows;
      onFront += this.drawFront(own, network, index);
    });
    return { figure: this.drawn.figure, networks, considered: this.rows.length, onFront, hollow: this.tooLarge.length };
  }

  private at(row: number): [number, number] {
    return [this.drawn.x(numberAt(this.x, row) ?? 0), this.drawn.y(numberAt(this.y, row) ?? 0)];
  }

  private drawFront(rows: number[], network: Cell, index: number): number {
    const best = paretoFront(
      rows,
      (row) => goal(this.x, row),
      (row) => goal(this.y, row),
    );
    const path = pathOf(best.map((row) => this.at(row)));
    this.drawn.area.append(s("path", { d: path, class: "line", stroke: color(index) }));
    for (const row of best) this.drawn.area.append(this.dot(row, network, index));
    return best.length;
  }

  private dot(row: number, network: Cell, index: number): SVGCircleElement {
    const isChosen = String(row) === this.chosen;
    const [cx, cy] = this.at(row);
    const dot = s("circle", {
      cx,
      cy,
      r: isChosen ? 7 : 4,
      fill: color(index),
      class: isChosen ? "dot chosen" : "dot",
      "data-row": row,
      tabindex: 0,
      role: "button",
      "aria-label": `point ${row}`,
    });
    withTip(dot, network === null ? "on the front" : String(network), () => this.reach.tip(row));
    dot.addEventListener("click", () => this.reach.choose(row));
    dot.addEventListener("keydown", (event) => event.key === "Enter" && this.reach.choose(row));
    return dot;
  }
}
