// SPDX-License-Identifier: Apache-2.0
// The one total of a profile, and what of it is in no row.
import { iterationOf, waitOf, type RowSet } from "./rows";
import type { ProfileDocument } from "./schema";

export interface TimePart {
  to: string;
  time_s: number;
}

/// Of an iteration: below, it is rounding.
export const noticeable = 0.0005;

/// The times of rows that are shares of the iteration: the expected ones, else those that were measured or are limits.
export function timeKey(document: ProfileDocument): "expected_s" | "time_s" {
  return document.expected ? "expected_s" : "time_s";
}

/// What is left of the iteration beside its rows, and what it is called. Rows and rest add up to the iteration.
export function restOf(document: ProfileDocument, rows: RowSet, key: string = timeKey(document)): TimePart | null {
  if (key !== "expected_s" && key !== "time_s") return null;
  const isExpected = key === "expected_s";
  const total = isExpected ? waitOf(document) : iterationOf(document);
  const time_s = total - rows.rows.reduce((sum, row) => sum + (row.numbers[key] ?? 0), 0);
  if (Math.abs(time_s) <= noticeable * total) return null;
  if (time_s < 0) return { to: "rows at the same time", time_s };
  if (isExpected) return { to: "launches and host", time_s };
  return { to: document.evidence === "predicted" ? "last write-backs" : "between kernels", time_s };
}
