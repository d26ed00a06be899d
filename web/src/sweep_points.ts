// SPDX-License-Identifier: Apache-2.0
// The points of a sweep as the views ask for them: by column and row, and which of them nothing beats.
import type { Axis } from "./chart";
import type { SweepColumn, SweepDocument } from "./schema";
import { nameOf, placesOf } from "./sweep_columns";
import type { Lines } from "./tooltip";
import { format, unitOf } from "./units";
import { isTurn } from "./work";

export const mostDots = 3000;

/// What pointing at a point and choosing it does.
export interface Reach {
  tip(row: number): Lines;
  choose(row: number): void;
}

export type Cell = number | string | null;

/// The values of a column in order, and which of them each row has.
export interface Coded {
  values: Cell[];
  at: Uint32Array;
}

function inOrder(column: SweepColumn, values: Cell[]): Cell[] {
  return column.is_number ? values.sort((a, b) => Number(a) - Number(b)) : values;
}

/// A sweep and what is chosen of it.
export class Points {
  readonly axes: SweepColumn[]; // with more than one value
  readonly results: SweepColumn[];
  private readonly coded = new Map<SweepColumn, Coded>();
  private readonly fits: SweepColumn | undefined;

  constructor(readonly document: SweepDocument) {
    this.axes = document.columns.filter(
      (column) => column.is_axis && column.name !== "point" && this.varies(column),
    );
    this.results = document.columns.filter(
      (column) =>
        column.is_number && column.name !== "point" && !this.axes.includes(column) && this.varies(column),
    );
    this.fits = this.column("fits");
  }

  private varies(column: SweepColumn): boolean {
    if (column.numbers !== undefined) return true;
    if (column.values) return column.values.length > 1;
    return column.cells.some((cell) => cell !== column.cells[0]);
  }

  /// Whether a point needs more memory than its device has; a limit does not say.
  isOutOfMemory(row: number): boolean {
    return this.fits?.cells[row] === 0;
  }

  column(name: string): SweepColumn | undefined {
    return this.document.columns.find((column) => column.name === name);
  }

  values(column: SweepColumn): Cell[] {
    if (column.values) return inOrder(column, [...column.values]);
    return this.codes(column).values;
  }

  codes(column: SweepColumn): Coded {
    let found = this.coded.get(column);
    if (!found) {
      const values = inOrder(column, [...(column.values ?? new Set(column.cells))]);
      const rank = new Map(values.map((value, at) => [value, at]));
      const at = new Uint32Array(this.document.points);
      const places = placesOf(column);
      if (places) {
        const ranks = Uint32Array.from(column.values ?? [], (value) => rank.get(value) ?? 0);
        for (let row = 0; row < at.length; row++) at[row] = ranks[places[row] ?? 0] ?? 0;
      } else for (let row = 0; row < at.length; row++) at[row] = rank.get(column.cells[row] ?? null) ?? 0;
      this.coded.set(column, (found = { values, at }));
    }
    return found;
  }

  /// Rows for which every fixed column has its value.
  *rows(fixed: Map<string, string>, found: number[]): Generator<void, void, void> {
    const tests = [...fixed].flatMap(([key, value]) => {
      const column = this.column(key);
      if (!column) return [];
      const { values, at } = this.codes(column);
      return [{ at, wanted: values.findIndex((each) => String(each) === value) }];
    });
    for (let row = 0; row < this.document.points; row++) {
      if (tests.every((test) => test.at[row] === test.wanted)) found.push(row);
      if (isTurn(row)) yield;
    }
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
  return columns.map((column) => ({ value: column.name, label: nameOf(column) }));
}

/// Least and most of numbers that are seen one after the other.
export class Range {
  least = Infinity;
  most = -Infinity;

  see(value: number): void {
    if (!Number.isFinite(value)) return;
    if (value < this.least) this.least = value;
    if (value > this.most) this.most = value;
  }

  get isEmpty(): boolean {
    return this.least > this.most;
  }
}

const mostNamedTicks = 12;

export function axisOf(points: Points, column: SweepColumn, range: Range, fromZero: boolean): Axis {
  const isLog = !fromZero && range.least > 0 && range.most > 8 * range.least;
  const room = Math.max(1.15, (range.most / range.least) ** 0.03);
  const values = column.is_axis ? points.values(column) : [];
  const domain: [number, number] = range.isEmpty
    ? [0, 1]
    : isLog
      ? [range.least / room, range.most * room]
      : [fromZero ? Math.min(0, range.least) : range.least, fromZero ? Math.max(0, range.most) : range.most];
  const axis: Axis = { label: nameOf(column), unit: unitOf(column.name), isLog, domain, isExact: !fromZero };
  // Sizes that were asked for are better ticks than round numbers that were not.
  if (values.length <= mostNamedTicks)
    axis.at = values.flatMap((value) => (typeof value === "number" ? [value] : []));
  return axis;
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
/// Of rows that share the first goal only the best can be among them, so few are left to be sorted.
export function* paretoFront(
  rows: number[],
  first: (row: number) => number,
  second: (row: number) => number,
  front: number[],
): Generator<void, void, void> {
  const best = new Map<number, number>();
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as number;
    const before = best.get(first(row));
    if (before === undefined || second(row) < second(before)) best.set(first(row), row);
    if (isTurn(i)) yield;
  }
  const sorted = [...best.values()].sort((a, b) => first(a) - first(b));
  let least = Infinity;
  for (const row of sorted) {
    if (second(row) >= least) continue;
    least = second(row);
    front.push(row);
  }
}
