// SPDX-License-Identifier: Apache-2.0
// Points of a sweep as tables: all of few, the fastest of many, and those of the fronts that were asked for.
import { h, words } from "./dom";
import type { SweepAnswers, SweepColumn, SweepDocument, SweepPoint } from "./schema";
import { sortableTable, type SortColumn, type Sorting } from "./sortable";
import { hasCells, nameIn, nameOf } from "./sweep_columns";
import { cellText, numberAt, type Points, type Reach } from "./sweep_points";
import { goalsText } from "./sweep_summary";
import { format, unitOf, whole } from "./units";
import { isTurn } from "./work";

export const mostListedPoints = 300;

/// By samples per second, those that fit first.
export function* fastestRows(points: Points, found: number[]): Generator<void, void, void> {
  const rate = points.column("samples_per_s");
  const time = points.column("expected_s") ?? points.column("time_s") ?? points.results[0];
  const keys = new Float64Array(points.document.points);
  for (let row = 0; row < keys.length; row++) {
    if (isTurn(row)) yield;
    const speed = rate ? numberAt(rate, row) : null;
    const key = speed !== null ? -speed : ((time && numberAt(time, row)) ?? Infinity);
    keys[row] = points.isOutOfMemory(row) ? Number.MAX_VALUE : key;
  }
  // Of many only the best are put in order.
  let bound = Infinity;
  let rows: number[] = [];
  const keep = () => {
    rows.sort((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0) || a - b);
    rows = rows.slice(0, mostListedPoints);
    bound = rows.length < mostListedPoints ? Infinity : (keys[rows.at(-1) ?? 0] ?? Infinity);
  };
  for (let row = 0; row < keys.length; row++) {
    if (isTurn(row)) yield;
    if (rows.length >= mostListedPoints && (keys[row] ?? Infinity) >= bound) continue;
    rows.push(row);
    if (rows.length >= 4 * mostListedPoints) keep();
  }
  keep();
  found.push(...rows);
  for (const column of columnsOf(points)) {
    column.value(0); // a long column is unpacked when it is first asked for, which takes its time
    yield;
  }
}

const shownResults = ["expected_s", "expected_low_s", "expected_high_s", "samples_per_s", "memory_bytes", "time_s", "utilisation", "area_mm2", "strategy"];
const heads = new Map([
  ["expected_low_s", "from"],
  ["expected_high_s", "to"],
  ["samples_per_s", "samples/s"],
]);

/// What varies, what it gives, and what somebody made a column of.
function columnsOf(points: Points): SortColumn<number>[] {
  const behind = points.document.columns.findIndex((column) => column.name === "error");
  const derived = behind < 0 ? [] : points.document.columns.slice(behind + 1);
  const results = shownResults.flatMap((name) => points.document.columns.find((column) => column.name === name) ?? []);
  const shown = [...points.axes, ...[...results, ...derived].filter((column) => !points.axes.includes(column) && hasCells(column))];
  return [
    ...shown.map(
      (column): SortColumn<number> => ({
        key: column.name,
        label: heads.get(column.name) ?? nameOf(column),
        unit: column.is_number ? unitOf(column.name) : "text",
        value: (row) => column.cells[row] ?? null,
      }),
    ),
    ...(points.column("fits") && hasCells(points.column("fits") as SweepColumn)
      ? [{ key: "fits", label: "fits", unit: "text" as const, value: (row: number) => (points.isOutOfMemory(row) ? "no" : points.column("fits")?.cells[row] === 1 ? "yes" : "") }]
      : []),
  ];
}

export function pointTable(points: Points, rows: number[], sorting: Sorting, reach: Reach): HTMLElement {
  return sortableTable(rows, columnsOf(points), sorting, (line, row) => line.addEventListener("click", () => reach.choose(row)), "small points");
}

const mostOfFront = 24;

/// The points of each front, evenly from one end to the other.
export function frontTables(answers: SweepAnswers | undefined, document: SweepDocument, axes: SweepColumn[]): HTMLElement[] {
  if (!answers?.pareto) return [];
  const goals = answers.pareto.goals.map(({ column }) => column);
  return answers.pareto.fronts.flatMap(({ model, points }) => {
    if (points.length === 0) return [];
    const count = Math.min(points.length, mostOfFront);
    const shown = Array.from({ length: count }, (_, i) => points[count === 1 ? 0 : Math.floor((i * (points.length - 1)) / (count - 1))] as SweepPoint);
    const keys = [...new Set([...axes.map(({ name }) => name).filter((key) => key !== "model"), ...goals, "expected_s", "samples_per_s"])].filter((key) =>
      shown.some((point) => typeof point[key] === "string" || typeof point[key] === "number"),
    );
    const cell = (point: SweepPoint, key: string) => {
      const value = point[key] ?? null;
      const column = axes.find(({ name }) => name === key);
      return column ? cellText(column, value) : typeof value === "number" ? format(value, unitOf(key)) : String(value ?? "–");
    };
    const isNumber = (key: string) => shown.some((point) => typeof point[key] === "number");
    const part = count < points.length ? `, ${whole(count)} of ${whole(points.length)} points, evenly spread` : "";
    const of = model && axes.some(({ name }) => name === "model") ? `${model}: ` : "";
    return [
      h("h3", {}, ...words(`${of}Pareto front of ${goalsText(answers, document)}${part}`)),
      h(
        "div",
        { class: "wide short", "aria-label": "Pareto front" },
        h(
          "table",
          { class: "small asked-front" },
          h("thead", {}, h("tr", {}, ...keys.map((key) => h("th", { class: isNumber(key) ? "n" : undefined }, nameIn(document, key))))),
          h(
            "tbody",
            {},
            ...shown.map((point) =>
              h("tr", {}, ...keys.map((key) => h("td", { class: isNumber(key) ? "n" : undefined, "data-key": key, "data-value": point[key] ?? "" }, h("bdi", {}, cell(point, key))))),
            ),
          ),
        ),
      ),
    ];
  });
}
