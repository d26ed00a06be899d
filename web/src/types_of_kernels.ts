// SPDX-License-Identifier: Apache-2.0
// The time of an iteration by type. A row of a recording is a call that launches kernels of several classes: its time is
// that of their classes, as the table of the program has it, not all of the class that the row is called by.
import { grouped, type RowSet } from "./rows";
import type { ProfileDocument, TracedProcess } from "./schema";
import { timeKey } from "./totals";

export interface TimeOfType {
  name: string;
  kind: string; // by which it is coloured
  time_s: number;
}

/// The process whose step the rows are of.
function processOf(document: ProfileDocument): TracedProcess | undefined {
  return [...(document.processes ?? [])].sort((a, b) => b.kernel_time_s - a.kernel_time_s)[0];
}

/// By the classes of kernels, where the class of each kernel of the iteration is known and their times are those of the rows.
function timesByClass(document: ProfileDocument, rows: RowSet): TimeOfType[] | null {
  const classes = new Map((processOf(document)?.kernels ?? []).map((kernel) => [kernel.name, kernel]));
  const kernels = document.kernels ?? [];
  if (classes.size === 0 || kernels.length === 0) return null;
  const types = new Map<string, TimeOfType>();
  let all = 0;
  for (const { name: kernel, time_s } of kernels) {
    const found = classes.get(kernel);
    if (!found) return null;
    const name = `${found.class} ${found.algorithm}`.trim().replaceAll("_", " ");
    const type = types.get(name) ?? { name, kind: found.class, time_s: 0 };
    type.time_s += time_s;
    types.set(name, type);
    all += time_s;
  }
  const expected = rows.rows.reduce((sum, { numbers }) => sum + (numbers.time_s ?? 0), 0);
  return Math.abs(all - expected) <= 1e-3 * expected ? [...types.values()] : null;
}

/// In no order.
export function timesByType(document: ProfileDocument, rows: RowSet): TimeOfType[] {
  const key = timeKey(document);
  const byClass = document.kind === "trace" && key === "time_s" ? timesByClass(document, rows) : null;
  return byClass ?? grouped(rows.rows, "op").map(({ name, numbers }) => ({ name, kind: name, time_s: numbers[key] ?? 0 }));
}
