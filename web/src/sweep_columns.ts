// SPDX-License-Identifier: Apache-2.0
// The columns of a long sweep come packed: each value once and which of them a point has, or numbers as bytes.
import type { Report, SweepColumn, SweepDocument } from "./schema";

function bytesOf(base64: string): ArrayBuffer {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes.buffer;
}

function cellsOf(column: SweepColumn, points: number): SweepColumn["cells"] {
  if (column.numbers !== undefined)
    return Array.from(new Float64Array(bytesOf(column.numbers)), (value) => (Number.isFinite(value) ? value : null));
  const values = column.values ?? [];
  if (column.index === undefined) return new Array<number | string | null>(points).fill(values[0] ?? null);
  return Array.from(new Uint16Array(bytesOf(column.index)), (place) => values[place] ?? null);
}

/// Columns that nobody asks for stay packed.
export function unpackSweeps(report: Report): Report {
  for (const { document } of report.parts) {
    if (document.kind !== "sweep") continue;
    const { columns, points } = document as SweepDocument;
    for (const column of columns) {
      if ((column.cells as unknown) !== undefined) continue;
      let cells: SweepColumn["cells"] | null = null;
      Object.defineProperty(column, "cells", { get: () => (cells ??= cellsOf(column, points)) });
    }
  }
  return report;
}
