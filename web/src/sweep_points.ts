// SPDX-License-Identifier: Apache-2.0
// The points of a sweep as the views ask for them: by column and row, and which of them nothing beats.
import { linearDomain, logDomain, type Axis } from "./chart";
import type { SweepColumn, SweepDocument } from "./schema";
import type { Lines } from "./tooltip";
import { format, labelOf, unitOf } from "./units";

export const mostDots = 3000;

/// What pointing at a point and choosing it does.
export interface Reach {
  tip(row: number): Lines;
  choose(row: number): void;
}

export type Cell = number | string | null;

/// A sweep and what is chosen of it.
export class Points {
  readonly axes: SweepColumn[]; // with more than one value
  readonly results: SweepColumn[];

  constructor(readonly document: SweepDocument) {
    this.axes = document.columns.filter(
      (column) => column.is_axis && column.name !== "point" && new Set(column.cells).size > 1,
    );
    this.results = document.columns.filter(
      (column) =>
        column.is_number &&
        column.name !== "point" &&
        !this.axes.includes(column) &&
        new Set(column.cells).size > 1,
    );
  }

  /// Whether a point needs more memory than its device has; a limit does not say.
  isOutOfMemory(row: number): boolean {
    return this.column("fits")?.cells[row] === 0;
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

/// What a hollow mark means.
export const outOfMemory = "out of memory";

export function cellText(column: SweepColumn, cell: Cell): string {
  return typeof cell === "number" ? format(cell, unitOf(column.name)) : (cell ?? "–");
}

export function numberAt(column: SweepColumn, row: number): number | null {
  const cell = column.cells[row];
  return typeof cell === "number" ? cell : null;
}

export function choices(columns: SweepColumn[]): { value: string; label: string }[] {
  return columns.map((column) => ({ value: column.name, label: labelOf(column.name) }));
}

/// Also of more values than a call takes arguments.
function largest(values: number[]): number {
  return values.reduce((most, value) => Math.max(most, value), -Infinity);
}

export function axisOf(column: SweepColumn, values: number[], fromZero: boolean): Axis {
  const positive = values.filter((value) => value > 0);
  const isLog =
    !fromZero &&
    positive.length === values.length &&
    largest(positive) > 100 * -largest(positive.map((value) => -value));
  return {
    label: labelOf(column.name),
    unit: unitOf(column.name),
    isLog,
    domain: isLog ? logDomain(values) : linearDomain(values, fromZero),
    isExact: !fromZero,
  };
}

export function isMore(column: SweepColumn): boolean {
  return column.name === "samples_per_s" || column.name === "utilisation";
}

/// What is to be small.
export function goal(column: SweepColumn, row: number): number {
  const value = numberAt(column, row) ?? 0;
  return isMore(column) ? -value : value;
}

/// Rows that no other is at least as good as in both goals and better in one, by the first goal. Equal ones count once.
export function paretoFront(
  rows: number[],
  first: (row: number) => number,
  second: (row: number) => number,
): number[] {
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
