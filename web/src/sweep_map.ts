// SPDX-License-Identifier: Apache-2.0
// A number over two axes, as a map of shades.
import { interpolateViridis } from "d3-scale-chromatic";
import { linearDomain } from "./chart";
import { h, s } from "./dom";
import type { SweepColumn } from "./schema";
import { cellText, mostDots, numberAt, outOfMemory, type Points, type Reach } from "./sweep_points";
import { withTip } from "./tooltip";
import { format, labelOf, unitOf } from "./units";

const mostCells = 4 * mostDots;
const left = 130; // for the names of the lines
const below = 46; // for those of the columns

export interface MapColumns {
  x: SweepColumn;
  y: SweepColumn;
  z: SweepColumn; // what the shade says
}

interface Layout {
  columns: ReturnType<Points["values"]>;
  lines: ReturnType<Points["values"]>;
  width: number; // of a cell
  height: number;
}

function names(svg: SVGSVGElement, { x, y }: MapColumns, layout: Layout, width: number): void {
  layout.lines.forEach((value, i) => {
    const at = { x: left - 8, y: (i + 0.5) * layout.height + 4 };
    svg.append(s("text", { ...at, "text-anchor": "end", class: "tick" }, cellText(y, value)));
  });
  const step = Math.max(1, Math.ceil(layout.columns.length / (width / 90)));
  layout.columns.forEach((value, i) => {
    if (i % step !== 0) return;
    const at = { x: left + (i + 0.5) * layout.width, y: layout.lines.length * layout.height + 16 };
    svg.append(s("text", { ...at, "text-anchor": "middle", class: "tick" }, cellText(x, value)));
  });
}

export function sweepMap(
  points: Points,
  rows: number[],
  of: MapColumns,
  width: number,
  reach: Reach,
): HTMLElement {
  const { x, y, z } = of;
  const [columns, lines] = [points.values(x), points.values(y)];
  const shown = rows.filter((row) => numberAt(z, row) !== null).slice(0, mostCells);
  const [least, most] = linearDomain(
    shown.map((row) => numberAt(z, row) ?? 0),
    false,
  );
  const layout: Layout = {
    columns,
    lines,
    width: (width - left - 10) / columns.length,
    height: Math.max(14, Math.min(34, 320 / lines.length)),
  };
  const title = `${labelOf(z.name)} over ${labelOf(x.name)} and ${labelOf(y.name)}`;
  const height = lines.length * layout.height + below;
  const svg = s("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": title,
  });
  const columnOf = new Map(columns.map((value, i) => [value, i]));
  const lineOf = new Map(lines.map((value, i) => [value, i]));
  for (const row of shown) {
    const value = numberAt(z, row) ?? 0;
    const shade = most > least ? (value - least) / (most - least) : 0.5;
    const isHollow = points.isOutOfMemory(row);
    const rect = s("rect", {
      x: left + (columnOf.get(x.cells[row] ?? null) ?? 0) * layout.width,
      y: (lineOf.get(y.cells[row] ?? null) ?? 0) * layout.height,
      width: layout.width + 0.3,
      height: layout.height - 1,
      fill: isHollow ? "none" : interpolateViridis(1 - shade),
      class: isHollow ? "heat hollow" : "heat",
      "data-row": row,
    });
    withTip(rect, isHollow ? outOfMemory : format(value, unitOf(z.name)), () => reach.tip(row));
    rect.addEventListener("click", () => reach.choose(row));
    svg.append(rect);
  }
  names(svg, of, layout, width);
  const range = `${format(least, unitOf(z.name))} to ${format(most, unitOf(z.name))}`;
  const middle = { x: left + (width - left) / 2, y: height - 6, "text-anchor": "middle", class: "axis" };
  const hollow = shown.some((row) => points.isOutOfMemory(row)) ? `; hollow: ${outOfMemory}` : "";
  svg.append(s("text", middle, `${labelOf(x.name)}; light is little: ${range}${hollow}`));
  const cut =
    rows.length > mostCells && h("p", { class: "dim" }, `the first ${mostCells} of ${rows.length} points`);
  return h("figure", { class: "chart" }, h("figcaption", {}, title), svg, cut);
}
