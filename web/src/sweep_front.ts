// SPDX-License-Identifier: Apache-2.0
// The points that nothing beats in two goals at once, among all others.
import { frame, pathOf, type Axis, type Frame } from "./chart";
import { s } from "./dom";
import { Colors, dash } from "./palette";
import { roving, withTipAnyhow } from "./roving";
import type { SweepColumn } from "./schema";
import { nameOf } from "./sweep_columns";
import {
  axisOf,
  goal,
  numberAt,
  outOfMemory,
  paretoFront,
  Range,
  type Cell,
  type Points,
  type Reach,
} from "./sweep_points";
import { isTurn } from "./work";

const grain = 3; // pixels: of points that lie on each other one is drawn

export interface Front {
  figure: HTMLElement;
  networks: Cell[]; // [null]: the sweep is of one
  colors: Colors;
  considered: number;
  onFront: number;
  hollow: number; // out of memory: shown, but nothing that one could choose
}

/// How networks are called in a legend.
export function networkName(network: Cell): string {
  return String(network ?? "on the front");
}

/// The best points are the extreme ones: they must not lie on the edge. A logarithmic axis has room already.
function withRoom(axis: Axis): Axis {
  if (axis.isLog) return axis;
  const [from, to] = axis.domain;
  const room = 0.04 * (to > from ? to - from : Math.abs(to) || 1);
  return { ...axis, domain: [from - room, to + room], isExact: true };
}

export class FrontChart {
  private readonly rows: number[] = []; // that fit
  private readonly tooLarge: number[] = [];
  private drawn!: Frame;
  private onFront = 0;

  constructor(
    private readonly points: Points,
    private readonly x: SweepColumn,
    private readonly y: SweepColumn,
    private readonly width: number,
    private readonly chosen: string,
    private readonly reach: Reach,
    private readonly asked: Set<number> | null = null, // rows of the front that the program found
  ) {}

  *draw(show: (front: Front) => void): Generator<void, void, void> {
    const { points, x, y } = this;
    const [across, up] = [new Range(), new Range()];
    for (let row = 0; row < points.document.points; row++) {
      if (isTurn(row)) yield;
      const [a, b] = [numberAt(x, row), numberAt(y, row)];
      if (a === null || b === null) continue;
      across.see(a);
      up.see(b);
      (points.isOutOfMemory(row) ? this.tooLarge : this.rows).push(row);
    }
    const title = `The best of ${nameOf(x)} and ${nameOf(y)}`;
    this.drawn = frame(
      title,
      { width: this.width, height: 360 },
      withRoom(axisOf(points, x, across, false)),
      withRoom(axisOf(points, y, up, true)),
    );
    yield* this.others();
    // Two networks are no alternatives to each other: each has its own front.
    const model = points.axes.find((axis) => axis.name === "model");
    const networks = model ? points.values(model) : [null];
    const colors = new Colors(networks.map(networkName));
    for (const network of networks) {
      const own = model ? this.rows.filter((row) => model.cells[row] === network) : this.rows;
      yield;
      yield* this.front(own, network, colors);
    }
    roving(this.drawn.svg, ".on-front", (mark) => `point ${mark.getAttribute("data-row")}`);
    show({
      figure: this.drawn.figure,
      networks,
      colors,
      considered: this.rows.length,
      onFront: this.onFront,
      hollow: this.tooLarge.length,
    });
  }

  /// All points, those on the same place once.
  private *others(): Generator<void, void, void> {
    const seen = new Set<number>();
    for (const list of [this.rows, this.tooLarge])
      for (let i = 0; i < list.length; i++) {
        if (isTurn(i)) yield;
        const row = list[i] as number;
        const [cx, cy] = this.at(row);
        const place = Math.round(cx / grain) * 4096 + Math.round(cy / grain);
        if (seen.has(place)) continue;
        seen.add(place);
        if (list === this.rows) {
          this.drawn.area.append(s("circle", { cx, cy, r: 2, class: "far" }));
          continue;
        }
        const dot = s("circle", { cx, cy, r: 3, class: "hollow", "data-row": row });
        withTipAnyhow(dot, outOfMemory, () => this.reach.tip(row));
        this.drawn.area.append(dot);
      }
  }

  private at(row: number): [number, number] {
    return [this.drawn.x(numberAt(this.x, row) ?? 0), this.drawn.y(numberAt(this.y, row) ?? 0)];
  }

  private *front(rows: number[], network: Cell, colors: Colors): Generator<void, void, void> {
    const best: number[] = [];
    const { asked } = this;
    if (asked) best.push(...rows.filter((row) => asked.has(row)).sort((a, b) => goal(this.x, a) - goal(this.x, b)));
    else
      yield* paretoFront(
        rows,
        (row) => goal(this.x, row),
        (row) => goal(this.y, row),
        best,
      );
    const name = networkName(network);
    this.drawn.area.append(
      s("path", {
        d: pathOf(best.map((row) => this.at(row))),
        class: "line",
        stroke: colors.of(name),
        "stroke-dasharray": dash(colors.index(name)),
      }),
    );
    for (const row of best) this.drawn.area.append(this.dot(row, name, colors.of(name)));
    this.onFront += best.length;
  }

  private dot(row: number, name: string, fill: string): SVGCircleElement {
    const isChosen = String(row) === this.chosen;
    const [cx, cy] = this.at(row);
    const dot = s("circle", {
      cx,
      cy,
      r: isChosen ? 7 : 4,
      fill,
      class: isChosen ? "dot on-front chosen" : "dot on-front",
      "data-row": row,
    });
    withTipAnyhow(dot, name, () => this.reach.tip(row));
    dot.addEventListener("click", () => this.reach.choose(row));
    return dot;
  }
}
