// SPDX-License-Identifier: Apache-2.0
// A network that is long and narrow stands in several columns, as text does, so that it fills the page.
import type { GraphNode, Placed } from "./layout";

export const box = { width: 262, height: 22, across: 286, down: 40, side: 34, top: 12 };
const fewRows = 24; // that need no second column
const mostColumns = 6;

export interface Spot {
  x: number;
  y: number;
  column: number;
}

export interface Sheet {
  spots: Spot[];
  width: number;
  height: number;
  gutters: number[]; // left of each column
}

/// Rows after which a column may end, the number of edges that such a cut crosses beside each.
function crossings(nodes: GraphNode[], places: Placed[], rows: number): number[] {
  const count = new Array<number>(rows + 1).fill(0);
  nodes.forEach((node, at) => {
    const to = places[at]?.row ?? 0;
    for (const input of node.inputs) for (let row = (places[input]?.row ?? 0) + 1; row <= to; row++) count[row]++;
  });
  return count;
}

/// The first rows of columns that are about as long as each other and cut few edges.
function starts(nodes: GraphNode[], places: Placed[], rows: number, columns: number): number[] {
  const cut = crossings(nodes, places, rows);
  const found = [0];
  for (let column = 1; column < columns; column++) {
    const wanted = (column * rows) / columns;
    const room = rows / columns / 4;
    let best = Math.round(wanted);
    for (let row = Math.ceil(wanted - room); row <= wanted + room; row++) {
      const worth = (at: number) => (cut[at] ?? Infinity) + Math.abs(at - wanted) / (room + 1);
      if (worth(row) < worth(best)) best = row;
    }
    found.push(best);
  }
  return found;
}

export function sheetOf(nodes: GraphNode[], places: Placed[], room: number): Sheet {
  const rows = places.reduce((most, place) => Math.max(most, place.row), 0) + 1;
  const lanes = places.reduce((most, place) => Math.max(most, place.lane), 0) + 1;
  const fitting = Math.floor(room / (lanes * box.across + box.side));
  const columns = Math.max(1, Math.min(mostColumns, fitting, Math.ceil(rows / fewRows)));
  const first = starts(nodes, places, rows, columns);
  const columnOf = (row: number) => first.filter((start) => start <= row).length - 1;
  const width = new Array<number>(columns).fill(0);
  const height = new Array<number>(columns).fill(0);
  for (const { row, lane } of places) {
    const column = columnOf(row);
    width[column] = Math.max(width[column] ?? 0, (lane + 1) * box.across + box.side);
    height[column] = Math.max(height[column] ?? 0, row - (first[column] ?? 0) + 1);
  }
  const gutters = width.map((_, column) => width.slice(0, column).reduce((sum, each) => sum + each, 0));
  const spots = places.map(({ row, lane }): Spot => {
    const column = columnOf(row);
    return {
      x: (gutters[column] ?? 0) + box.side + lane * box.across,
      y: box.top + (row - (first[column] ?? 0)) * box.down,
      column,
    };
  });
  return {
    spots,
    width: width.reduce((sum, each) => sum + each, 0) + 8,
    height: Math.max(...height) * box.down + 2 * box.top,
    gutters,
  };
}

/// Straight down in the lane that is free: an edge leaves its lane at once when it goes outwards, and comes back at its
/// end. Within one lane it goes around the nodes that it skips. To another column it goes below the one and above the other.
export function edgePath(from: Spot, to: Spot, rows: number, sheet: Sheet): string {
  const [x1, y1, x2, y2] = [from.x + 18, from.y + box.height, to.x + 18, to.y];
  if (from.column !== to.column) {
    const gutter = (sheet.gutters[to.column] ?? 0) + 6;
    const below = sheet.height - 6;
    return `M${x1},${y1}L${x1},${below}L${gutter},${below}L${gutter},5L${x2},5L${x2},${y2}`;
  }
  const aside = Math.min(from.x, to.x) - Math.min(26, 8 + 2 * rows);
  const bend = box.down - box.height;
  if (rows <= 1) return `M${x1},${y1}C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`;
  if (to.x > from.x) return `M${x1},${y1}C${x1},${y1 + bend} ${x2},${y1} ${x2},${y1 + bend}L${x2},${y2}`;
  if (from.x > to.x) return `M${x1},${y1}L${x1},${y2 - bend}C${x1},${y2} ${x2},${y2 - bend} ${x2},${y2}`;
  return `M${from.x},${from.y + 11}C${aside},${from.y + 16} ${aside},${to.y + 6} ${to.x},${to.y + 11}`;
}
