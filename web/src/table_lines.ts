// SPDX-License-Identifier: Apache-2.0
// Which lines and columns the table of layers has: found, sorted and grouped as the state says.
import { grouped, valueOf, type Group, type GroupKey, type Metric, type Row, type RowSet } from "./rows";
import type { Context } from "./view";

const usual = [
  "expected_s",
  "expected_share",
  "time_s",
  "time_share",
  "stall_time_s",
  "flop",
  "traffic_bytes",
  "flop_per_s",
  "distance",
  "parameters",
  "activation_bytes",
  "kept_bytes",
];

/// A line of the table: a row, or a group of rows that can be opened.
export type Line = { row: Row; isInside: boolean } | { group: Group; isOpen: boolean };

export interface TableState {
  lines: Line[];
  columns: Metric[];
  most: Map<string, number>; // of each column, for the bars
  matching: number;
}

export function textColumns(rows: RowSet): { key: "pass" | "op" | "bound"; label: string }[] {
  return (
    [
      ["pass", "pass"],
      ["op", "type"],
      ["bound", "bound"],
    ] as const
  )
    .filter(([key]) => rows.rows.some((row) => row[key] !== ""))
    .map(([key, label]) => ({ key, label }));
}

/// All words must be in the row; "op:relu" or "pass:forward" asks one column.
export function matchesWords(row: object, words: string[]): boolean {
  const cells = row as Record<string, unknown>;
  return words.every((word) => {
    const [key, rest] = word.split(":", 2);
    const cell = key !== undefined && rest !== undefined ? cells[key === "type" ? "op" : key] : undefined;
    if (typeof cell === "string" && rest !== undefined) return cell.toLowerCase().includes(rest);
    return ["layer", "pass", "op", "block", "bound"]
      .map((each) => cells[each] ?? "")
      .join(" ")
      .toLowerCase()
      .includes(word);
  });
}

export function chosenColumns(context: Context, rows: RowSet): Metric[] {
  const chosen = context.state.get("cols");
  if (chosen !== "") {
    const keys = chosen.split(",");
    return keys.flatMap((key) => rows.metrics.find((metric) => metric.key === key) ?? []);
  }
  const found = usual
    .filter((key) => key !== "time_share" || rows.main.key !== "expected_s")
    .flatMap((key) => rows.metrics.find((metric) => metric.key === key) ?? []);
  return found.length > 1 ? found : rows.metrics.slice(0, 6);
}

function comparison(
  key: string,
  metrics: Metric[],
): (a: { numbers: Record<string, number>; text: string }, b: typeof a) => number {
  const isDown = key.startsWith("-");
  const metric = metrics.find((each) => each.key === key.replace(/^-/, ""));
  const sign = isDown ? -1 : 1;
  return (a, b) => {
    if (!metric) return sign * a.text.localeCompare(b.text, "en", { numeric: true });
    // What has no value comes last, whatever the direction.
    const [x, y] = [valueOf(a.numbers, metric), valueOf(b.numbers, metric)];
    return x === null ? (y === null ? 0 : 1) : y === null ? -1 : sign * (x - y);
  };
}

function sortText(row: Row, key: string): string {
  const plain = key.replace(/^-/, "");
  return plain === "pass" || plain === "op" || plain === "bound" ? row[plain] : row.layer;
}

export function stateOf(context: Context, rows: RowSet, open: Set<string>): TableState {
  const { state } = context;
  const words = state
    .get("find")
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const found = words.length === 0 ? rows.rows : rows.rows.filter((row) => matchesWords(row, words));
  const sort = state.get("sort");
  const compare = comparison(sort, rows.metrics);
  const sorted = (list: Row[]) =>
    sort === ""
      ? list
      : list
          .map((row) => ({ row, numbers: row.numbers, text: sortText(row, sort) }))
          .sort(compare)
          .map((each) => each.row);
  const by = state.get("group") as GroupKey | "";
  const lines: Line[] = [];
  if (by === "" || !rows.groups.includes(by)) {
    for (const row of sorted(found)) lines.push({ row, isInside: false });
  } else {
    let groups = grouped(found, by);
    if (sort !== "")
      groups = groups
        .map((group) => ({ group, numbers: group.numbers, text: group.name }))
        .sort(compare)
        .map((each) => each.group);
    for (const group of groups) {
      lines.push({ group, isOpen: open.has(group.name) });
      if (open.has(group.name)) for (const row of sorted(group.rows)) lines.push({ row, isInside: true });
    }
  }
  const columns = chosenColumns(context, rows);
  const most = new Map<string, number>();
  for (const metric of columns) {
    let largest = 0;
    for (const line of lines) {
      if ("row" in line && line.isInside) continue;
      largest = Math.max(
        largest,
        valueOf("row" in line ? line.row.numbers : line.group.numbers, metric) ?? 0,
      );
    }
    most.set(metric.key, largest);
  }
  return { lines, columns, most, matching: found.length };
}
