// SPDX-License-Identifier: Apache-2.0
// The columns of a long sweep come packed: each value once and which of them a point has, or numbers as bytes.
import type { Report, SweepColumn, SweepDocument } from "./schema";
import { labelOf } from "./units";

function bytesOf(base64: string): ArrayBuffer {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes.buffer;
}

const known = new WeakMap<SweepColumn, Uint16Array>();

/// Which of its values each point has, where a column is packed so.
export function placesOf(column: SweepColumn): Uint16Array | null {
  if (column.index === undefined) return null;
  let places = known.get(column);
  if (!places) known.set(column, (places = new Uint16Array(bytesOf(column.index))));
  return places;
}

function cellsOf(column: SweepColumn, points: number): SweepColumn["cells"] {
  const values = column.values ?? [];
  const places = placesOf(column);
  if (column.numbers === undefined && !places) return new Array<number | string | null>(points).fill(values[0] ?? null);
  const numbers = column.numbers === undefined ? null : new Float64Array(bytesOf(column.numbers));
  const cells = new Array<number | string | null>(points);
  for (let i = 0; i < points; i++) {
    const number = numbers?.[i] ?? NaN;
    cells[i] = places ? (values[places[i] as number] ?? null) : Number.isFinite(number) ? number : null;
  }
  return cells;
}

/// Whether any point has one; a packed column is not unpacked for it.
export function hasCells(column: SweepColumn | undefined): boolean {
  if (column?.numbers !== undefined) return true;
  return (column?.values ?? column?.cells ?? []).some((cell) => cell !== null && cell !== "");
}

export function nameOf({ label, name }: SweepColumn): string {
  return label ?? labelOf(name);
}

/// The column of that name as the page calls it.
export function nameIn({ columns }: SweepDocument, key: string): string {
  return columns.find(({ name }) => name === key)?.label ?? labelOf(key);
}

/// Beside expected times the time is the limit, as the tables of the program have it.
function nameLimits(columns: SweepColumn[]): void {
  const time = columns.find(({ name }) => name === "time_s");
  if (time && hasCells(columns.find(({ name }) => name === "expected_s"))) time.label = "limit";
}

/// Columns that nobody asks for stay packed.
export function unpackSweeps(report: Report): Report {
  for (const { document } of report.parts) {
    if (document.kind !== "sweep") continue;
    const { columns, points } = document as SweepDocument;
    nameLimits(columns);
    for (const column of columns) {
      if ((column.cells as unknown) !== undefined) continue;
      let cells: SweepColumn["cells"] | null = null;
      Object.defineProperty(column, "cells", { get: () => (cells ??= cellsOf(column, points)) });
    }
  }
  return report;
}
