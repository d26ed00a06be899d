// SPDX-License-Identifier: Apache-2.0
// Two profiles side by side: by type first, then as fine as one asks.
import { difference, pairsOf, ratio, reached, restPair, type By, type Pair, type TimeKey } from "./compare_pairs";
import { h, menu } from "./dom";
import { Marks } from "./links";
import { iterationOf, rowsOf, waitOf, type Row } from "./rows";
import { isProfile, type ComparisonDocument, type Document, type Part, type ProfileDocument } from "./schema";
import { sortableTable, type SortColumn } from "./sortable";
import { matchesWords } from "./table_lines";
import { format } from "./units";
import { remade, type Context, type View } from "./view";

interface Compared {
  names: [string, string];
  iterations: [number, number]; // seconds
  rests: Rest[]; // beside the rows
  batches: [number | null, number | null];
  rows: [Row[], Row[]];
  time: TimeKey;
  isMeasured: boolean; // the second
  controls: HTMLElement[];
}

interface Rest {
  to: string;
  times: [number, number]; // seconds
}

/// As strata compare: expected times, unless a prediction has none; then limits.
function timeIn(documents: Document[]): TimeKey {
  const predicted = documents.filter((each) => isProfile(each) && each.evidence === "predicted");
  return predicted.length > 0 && predicted.every((each) => isProfile(each) && each.expected)
    ? "expected_s"
    : "time_s";
}

function iterationIn(document: Document, time: TimeKey): number {
  if (!isProfile(document)) return 0;
  return time === "expected_s" ? waitOf(document) : iterationOf(document);
}

function batchOf(document: Document | undefined): number | null {
  return (document && isProfile(document) && document.model?.batch) || null;
}

function totalOf(document: ProfileDocument, key: string): number {
  const time = document.totals?.[key];
  return typeof time === "number" ? time : 0;
}

/// What iterations are besides their rows: gaps by their causes where both are recordings.
function restsIn(first: ProfileDocument, second: ProfileDocument): Rest[] {
  const overlap: Rest = { to: "at the same time", times: [-totalOf(first, "overlap_time_s"), -totalOf(second, "overlap_time_s")] };
  if (!first.idle || !second.idle)
    return [overlap, { to: "between kernels", times: [totalOf(first, "gap_time_s"), totalOf(second, "gap_time_s")] }];
  const of = (document: ProfileDocument, cause: string) => document.idle?.find((each) => each.cause === cause)?.time_s ?? 0;
  const causes = new Set([...first.idle, ...second.idle].map((each) => each.cause));
  return [overlap, ...[...causes].map((cause): Rest => ({ to: `idle: ${cause}`, times: [of(first, cause), of(second, cause)] }))];
}

function restsOfComparison({ totals: { a, b }, idle = [] }: ComparisonDocument): Rest[] {
  const overlap: Rest = { to: "at the same time", times: [-(a.overlap_time_s ?? 0), -(b.overlap_time_s ?? 0)] };
  const isRecorded = [a, b].every(({ time_from }) => time_from === "step" || time_from === "recording");
  if (isRecorded) return [overlap, ...idle.map((each): Rest => ({ to: `idle: ${each.cause}`, times: [each.a_s, each.b_s] }))];
  return [overlap, { to: "between kernels", times: [a.gap_time_s ?? 0, b.gap_time_s ?? 0] }];
}

/// The results that a comparison of the program is of, where they are in the page.
export function sidesOf(parts: Part[], document: ComparisonDocument): [Part | undefined, Part | undefined] {
  const profiles = parts.filter((part) => isProfile(part.document));
  const named = (label: string) => profiles.find((part) => part.name === label);
  return [named(document.a.file), named(document.b.file)];
}

function rowsOfComparison(document: ComparisonDocument, side: "a" | "b"): Row[] {
  return document.rows.flatMap((row, index): Row[] => {
    const numbers = row[side];
    if (numbers === null) return [];
    const { layer, pass, op, block } = row;
    return [{ index, layer, pass, op, block, class: "", bound: "", cause: "", numbers: { ...numbers } }];
  });
}

function comparedByProgram(context: Context, document: ComparisonDocument): Compared {
  const sides = sidesOf(context.report.parts, document);
  const { a, b } = document.totals;
  return {
    names: [document.a.file, document.b.file],
    iterations: [a.time_s, b.time_s],
    rests: restsOfComparison(document),
    batches: [batchOf(sides[0]?.document), batchOf(sides[1]?.document)],
    rows: [rowsOfComparison(document, "a"), rowsOfComparison(document, "b")],
    time: "time_s",
    isMeasured: document.b.evidence === "measured",
    controls: [],
  };
}

/// Of a comparison that the program made, what it says; else of two profiles of the page.
function comparedIn(context: Context): Compared | null {
  const { report, state, part } = context;
  if (part.document.kind === "comparison") return comparedByProgram(context, part.document as ComparisonDocument);
  const profiles = report.parts
    .map((each, at) => ({ part: each, at }))
    .filter((each) => isProfile(each.part.document));
  const pick = (key: string, otherwise: number) =>
    profiles.find(({ at }) => String(at) === state.get(key)) ?? profiles[otherwise];
  const [a, b] = [pick("cmpa", 0), pick("cmpb", 1)];
  if (!a || !b) return null;
  const [first, second] = [a.part.document as ProfileDocument, b.part.document as ProfileDocument];
  const choices = profiles.map((each) => ({ value: String(each.at), label: each.part.name }));
  const usual = timeIn([first, second]);
  const time = state.get("cmptimes") === "limit" ? "time_s" : usual;
  const times = [
    { value: "", label: "expected" },
    { value: "limit", label: "limit" },
  ];
  return {
    names: [a.part.name, b.part.name],
    iterations: [iterationIn(first, time), iterationIn(second, time)],
    rests: restsIn(first, second),
    batches: [batchOf(first), batchOf(second)],
    rows: [rowsOf(a.part)?.rows ?? [], rowsOf(b.part)?.rows ?? []],
    time,
    isMeasured: second.evidence === "measured",
    controls: [
      menu("first", choices, String(a.at), (value) => state.set("cmpa", value)),
      menu("second", choices, String(b.at), (value) => state.set("cmpb", value)),
      ...(usual === "expected_s"
        ? [menu("times", times, state.get("cmptimes"), (value) => state.set("cmptimes", value))]
        : []),
    ],
  };
}

const groupings: { value: By; label: string }[] = [
  { value: "op", label: "type" },
  { value: "block", label: "block" },
  { value: "pass", label: "pass" },
  { value: "layer", label: "layer" },
  { value: "row", label: "layer and pass" },
];

/// Where batches differ, times of an iteration say little: those of a sample do.
function perSample({ batches: [a, b] }: Compared): [number, number] | null {
  return a !== null && b !== null && a !== b ? [a, b] : null;
}

const passColumn: SortColumn<Pair> = { key: "pass", label: "pass", unit: "text", value: (pair) => pair.pass };

function barOf(pair: Pair, most: number): HTMLElement {
  const bar = h("span", { class: difference(pair) > 0 ? "diff more" : "diff less" });
  bar.style.width = `${(50 * Math.abs(difference(pair))) / (most || 1)}%`;
  return bar;
}

const narrow = 700; // pixels, below which a phone shows four columns at most

/// On a phone the answer, difference and ratio, stands beside the name; what it is made of is scrolled to.
function inOrder(columns: SortColumn<Pair>[], width: number): SortColumn<Pair>[] {
  if (width >= narrow) return columns;
  const first = ["name", "difference_s", "ratio"];
  return [...first.flatMap((key) => columns.find((column) => column.key === key) ?? []), ...columns.filter(({ key }) => !first.includes(key))];
}

function columnsOf(compared: Compared, by: By, pairs: Pair[]): SortColumn<Pair>[] {
  const [, b] = compared.names;
  const most = pairs.reduce((all, pair) => Math.max(all, Math.abs(difference(pair))), 0);
  const batches = perSample(compared);
  const time = (key: "first" | "second", at: 0 | 1): SortColumn<Pair> => ({
    key: `${key}_s`,
    label: compared.names[at],
    unit: "s",
    value: (pair) => pair[key],
    show: (pair) => timeCell(pair[key], batches?.[at] ?? null),
  });
  const rates: SortColumn<Pair>[] = batches
    ? [
        {
          key: "ratio_per_sample",
          label: "ratio a sample",
          unit: "ratio",
          value: (pair) => ((each) => (each === null ? null : (each * batches[0]) / batches[1]))(ratio(pair)),
        },
      ]
    : [];
  return [
    { key: "name", label: by === "row" ? "layer" : (groupings.find((each) => each.value === by)?.label ?? ""), unit: "text", value: (pair) => pair.name },
    ...(by === "row" ? [passColumn] : []),
    time("first", 0),
    time("second", 1),
    {
      key: "difference_s",
      label: "difference",
      unit: "s",
      value: difference,
      order: (pair) => Math.abs(difference(pair)),
      show: (pair) => h("span", {}, `${difference(pair) > 0 ? "+" : ""}${format(difference(pair), "s")}`),
    },
    {
      key: "ratio",
      label: "ratio",
      unit: "ratio",
      value: ratio,
      show: (pair) =>
        h("span", {}, ratio(pair) === null ? (pair.first === null ? "only second" : "only first") : format(ratio(pair), "ratio")),
    },
    ...rates,
    {
      key: "bar",
      label: "less, more",
      about: "the difference as a bar: to the left the second is faster",
      unit: "text",
      kind: "diff-cell",
      value: () => null,
      show: (pair) => barOf(pair, most),
      isPicture: true,
    },
    {
      key: "reached",
      label: `${b} reached`,
      about: "rates of the second, and how much more work it counts",
      unit: "text",
      kind: "reached",
      value: (pair) => reached(pair, compared.isMeasured),
    },
  ];
}

/// Below the time of the iteration that of a sample, where batches differ.
function timeCell(time: number | null, batch: number | null): HTMLElement {
  const cell = h("span", {}, format(time, "s"));
  if (batch !== null && time !== null) cell.append(h("small", {}, `${format(time / batch, "s")} a sample`));
  return cell;
}

function answer(compared: Compared): HTMLElement {
  const [first, second] = compared.iterations;
  const [a, b] = compared.names.map((name) => h("bdi", {}, name)) as [HTMLElement, HTMLElement];
  const batches = perSample(compared);
  const times = `: ${first > 0 ? format(second / first, "ratio") : "–"}.`;
  const line = h("p", { class: "lead" }, b, ` takes ${format(second, "s")} where `, a, ` takes ${format(first, "s")}${times}`);
  if (batches && first > 0) {
    const [one, other] = [first / batches[0], second / batches[1]];
    line.append(
      ` The batches are ${batches[0]} and ${batches[1]}: a sample takes ${format(other, "s")} and ${format(one, "s")}, ${format(other / one, "ratio")}.`,
    );
  }
  return line;
}

/// A pair opens what it is made of, or the layer.
function open(context: Context, by: By, pair: Pair, row: HTMLElement, marks: Marks): void {
  if (pair.layer !== "") {
    marks.add(row, { layer: pair.layer });
    return;
  }
  const key = { op: "type", block: "block", pass: "pass" }[by as "op" | "block" | "pass"];
  const word = pair.name.split(/\s/)[0] ?? "";
  if (pair.op === "" || word === "") return;
  row.addEventListener("click", () => {
    context.state.set("cmpfind", `${key}:${word}`);
    context.state.set("cmpby", "row");
  });
}

function searchField(context: Context): HTMLElement {
  const { state } = context;
  const field: HTMLInputElement = h("input", {
    type: "search",
    placeholder: "search: conv pass:forward",
    "aria-label": "Search what is compared",
    value: state.get("cmpfind"),
    input: () => state.set("cmpfind", field.value),
  });
  state.on(["cmpfind"], () => {
    if (field.value !== state.get("cmpfind")) field.value = state.get("cmpfind");
  });
  return field;
}

function render(context: Context, element: HTMLElement, width: number): void {
  const { state } = context;
  const marks = new Marks(context.links);
  const lead = h("div", {});
  const menus = h("div", { class: "controls" });
  const body = h("div", {});
  element.append(lead, h("div", { class: "controls" }, searchField(context), menus), body);
  remade(context, ["cmpa", "cmpb", "cmpby", "cmptimes", "cmpfind", "cmpsort"], () => {
    marks.clear();
    const compared = comparedIn(context);
    if (!compared) return;
    const by = groupings.find((each) => each.value === state.get("cmpby"))?.value ?? "op";
    const words = state.get("cmpfind").toLowerCase().split(/\s+/).filter((word) => word !== "");
    const found = (rows: Row[]) => (words.length === 0 ? rows : rows.filter((row) => matchesWords(row, words)));
    const pairs = pairsOf(found(compared.rows[0]), found(compared.rows[1]), by, compared.time);
    const isNoticeable = ({ times }: Rest) => times.some((time, i) => Math.abs(time) > 0.005 * (compared.iterations[i] ?? 0));
    if (by === "op" && words.length === 0)
      for (const rest of compared.rests.filter(isNoticeable)) pairs.push(restPair(rest.to, ...rest.times));
    lead.replaceChildren(answer(compared));
    menus.replaceChildren(
      ...compared.controls,
      menu("by", groupings, by, (value) => state.set("cmpby", value === "op" ? "" : value)),
    );
    body.replaceChildren(
      sortableTable(
        pairs,
        inOrder(columnsOf(compared, by, pairs), width),
        {
          sort: state.get("cmpsort", "-difference_s"),
          onSort: (sort) => state.set("cmpsort", sort === "" ? "none" : sort),
          about: "What is compared",
        },
        (row, pair) => open(context, by, pair, row, marks),
        "small compare",
      ),
    );
  });
}

export const compareView: View = {
  id: "compare",
  title: "Compare",
  fits: (context) =>
    context.part.document.kind === "comparison" ||
    context.report.parts.filter((part) => isProfile(part.document)).length > 1,
  render,
};
