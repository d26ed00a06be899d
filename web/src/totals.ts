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

/// The times of rows that every view sums: the expected ones, else those that were measured or are limits. Rows of a
/// recording in which kernels ran at the same time add up to more than the step, as in the tables of the program.
export function timeKey(document: ProfileDocument): "expected_s" | "time_s" {
  return document.expected ? "expected_s" : "time_s";
}

/// The same, but of what ran at the same time only each row's part of the step: what has to add up without a rest.
export function partKey(document: ProfileDocument): "expected_s" | "step_time_s" | "time_s" {
  const key = timeKey(document);
  return key === "time_s" && document.layers.some((row) => row.step_time_s !== undefined) ? "step_time_s" : key;
}

export const atTheSameTime = "at the same time";

/// What is left of the iteration beside its rows, and what it is called: of a recording, why no kernel ran, and less than
/// nothing where kernels ran at the same time. Rows and rest add up to the iteration.
export function restsOf(document: ProfileDocument, rows: RowSet, key: string = timeKey(document)): TimePart[] {
  if (key !== "expected_s" && key !== "time_s" && key !== "step_time_s") return [];
  const isExpected = key === "expected_s";
  const total = isExpected ? waitOf(document) : iterationOf(document);
  const idle = isExpected ? [] : (document.idle ?? []).map(({ cause, time_s }) => ({ to: `idle: ${cause}`, time_s }));
  const sum = (times: number[]) => times.reduce((all, time) => all + time, 0);
  const left = total - sum(rows.rows.map((row) => row.numbers[key] ?? 0)) - sum(idle.map((each) => each.time_s));
  const between = document.evidence === "predicted" ? "last write-backs" : "between kernels";
  const to = left < 0 ? atTheSameTime : isExpected ? "launches and host" : between;
  return [{ to, time_s: left }, ...idle].filter((part) => Math.abs(part.time_s) > noticeable * total);
}
