// SPDX-License-Identifier: Apache-2.0
// The answer of a sweep in words: how many points, the fastest of them, and what was asked of them.
import { h, words } from "./dom";
import type { Part, SweepAnswers, SweepColumn, SweepDocument, SweepPoint } from "./schema";
import { nameIn, nameOf } from "./sweep_columns";
import { format, labelOf, percent, unitOf, whole } from "./units";

/// The fastest and the slowest point of each network, with what tells them apart.
function extremes(document: SweepDocument, axes: SweepColumn[]): string[] {
  const speed =
    document.columns.find((column) => column.name === "samples_per_s") ??
    document.columns.find((column) => column.name === "time_s");
  if (!speed) return [];
  const isRate = speed.name === "samples_per_s";
  const model = axes.find((axis) => axis.name === "model");
  const others = axes.filter((axis) => axis !== model);
  const cell = (column: SweepColumn, row: number) => {
    const value = column.cells[row];
    return typeof value === "number" ? format(value, unitOf(column.name)) : String(value ?? "");
  };
  const best = new Map<string, [number, number]>();
  const fits = document.columns.find((column) => column.name === "fits");
  speed.cells.forEach((value, row) => {
    if (typeof value !== "number" || fits?.cells[row] === 0) return; // nobody can choose what is out of memory
    const key = model ? String(model.cells[row]) : "";
    const known = best.get(key) ?? [row, row];
    const at = (index: number) => speed.cells[index] as number;
    best.set(key, [value > at(known[0]) ? row : known[0], value < at(known[1]) ? row : known[1]]);
  });
  const point = (row: number) =>
    `${cell(speed, row)}${isRate ? " samples per second" : ""} (${others.map((axis) => `${nameOf(axis)} ${cell(axis, row)}`).join(", ")})`;
  return [...best].map(
    ([name, [most, least]]) =>
      `${name === "" ? "" : `${name}: `}fastest ${point(isRate ? most : least)}, slowest ${point(isRate ? least : most)}`,
  );
}

function shownIn(point: SweepPoint, key: string): string {
  const value = point[key];
  return typeof value === "number" ? format(value, unitOf(key)) : String(value ?? "–");
}

/// "capacity 64 MiB, batch 32": what varies.
function placeOf(point: SweepPoint, axes: SweepColumn[], left = ""): string {
  return axes
    .filter(({ name }) => name !== left && point[name] !== undefined)
    .map(({ name }) => `${labelOf(name)} ${shownIn(point, name)}`)
    .join(", ");
}

const mostListed = 6;

function knots(answers: SweepAnswers, axes: SweepColumn[]): string[] {
  return answers.knees.flatMap(({ column, least_gain, knees }) => {
    const head = `Knee of ${labelOf(column)} (from there on twice as much saves less than ${percent(least_gain)})`;
    const lines = knees.slice(0, mostListed).map((knee) => {
      const at = placeOf(knee.at, axes, column);
      if (knee.value !== null) return `${format(knee.value, unitOf(column))}${at === "" ? "" : ` at ${at}`}`;
      if (knee.largest_judged === null) return `none${at === "" ? "" : ` at ${at}`}: no value has its double in the sweep`;
      return `none${at === "" ? "" : ` at ${at}`}: twice ${format(knee.largest_judged, unitOf(column))} still saves ${percent(knee.gain_of_doubling ?? 0)}`;
    });
    const more = knees.length > mostListed ? `; and ${whole(knees.length - mostListed)} more` : "";
    return [`${head}: ${lines.join("; ")}${more}.`];
  });
}

/// What was asked on the command line, in a sentence each.
function answersOf(answers: SweepAnswers, document: SweepDocument, axes: SweepColumn[]): string[] {
  const lines: string[] = [];
  const of = (model: string | null | undefined) => (model && axes.some(({ name }) => name === "model") ? `${model}: ` : "");
  if (answers.pareto) {
    const goals = goalsText(answers, document);
    for (const { model, considered, points } of answers.pareto.fronts)
      lines.push(`${of(model)}${whole(points.length)} of ${whole(considered)} points ${points.length === 1 ? "is" : "are"} on the Pareto front of ${goals}: no other point dominates them.`);
  }
  lines.push(...knots(answers, axes));
  for (const { model, best, nearest, points, satisfying } of answers.best_under?.networks ?? []) {
    const constraint = answers.best_under?.constraint ?? "";
    const speed = (point: SweepPoint) => ("samples_per_s" in point ? `, ${shownIn(point, "samples_per_s")} samples per second` : "");
    if (best) lines.push(`${of(model)}Fastest under ${constraint}: ${placeOf(best, axes)}${speed(best)}; ${whole(satisfying)} of ${whole(points)} points satisfy it.`);
    else lines.push(`${of(model)}No point satisfies ${constraint}${nearest ? `; the nearest is ${placeOf(nearest, axes)}${speed(nearest)}` : ""}.`);
  }
  for (const { model, sensitivity } of answers.networks) {
    if (!sensitivity) continue;
    const gains = sensitivity.resources.map(({ resource, gained, error }) => (gained === null ? `${resource}: ${error ?? "no answer"}` : `${resource} ${gained >= 0 ? "+" : "−"}${percent(Math.abs(gained))}`));
    lines.push(`${of(model)}10 % more of each gives so many more samples per second: ${gains.join(", ")}.`);
  }
  return lines;
}

/// "least limit per sample and most samples per second".
export function goalsText({ pareto }: SweepAnswers, document: SweepDocument): string {
  const goals = (pareto?.goals ?? []).map(({ column, better, per_sample }) => `${better === "more" ? "most" : "least"} ${nameIn(document, column)}${per_sample ? " per sample" : ""}`);
  return goals.length < 2 ? (goals[0] ?? "") : `${goals.slice(0, -1).join(", ")} and ${goals.at(-1)}`;
}

function sizeOf(axis: SweepColumn): string {
  const values = [...new Set(axis.cells)].filter((cell) => cell !== null && cell !== "");
  return `${whole(values.length)} values of ${nameOf(axis)}`;
}

export function renderSweep(part: Part, document: SweepDocument, element: HTMLElement): void {
  const axes = document.columns.filter((column) => column.is_axis && new Set(column.cells).size > 1);
  const count = (name: string, test: (cell: number | string | null) => boolean) =>
    document.columns.find((column) => column.name === name)?.cells.filter(test).length ?? 0;
  const failed = count("error", (cell) => cell !== "" && cell !== null);
  const small = count("fits", (cell) => cell === 0);
  const rest = [failed > 0 ? ` ${whole(failed)} failed.` : "", small > 0 ? ` ${whole(small)} are out of memory.` : ""].join("");
  const of = axes.length > 0 ? `: ${axes.map(sizeOf).join(", ")}` : "";
  element.append(h("p", { class: "lead" }, ...words(`${whole(document.points)} ${document.points === 1 ? "point" : "points"}${of}.${rest}`)));
  const lines = [...extremes(document, axes), ...(part.answers ? answersOf(part.answers, document, axes) : [])];
  element.append(h("ul", { class: "answers" }, ...lines.map((line) => h("li", {}, ...words(line)))));
}
