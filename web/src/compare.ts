// SPDX-License-Identifier: Apache-2.0
// Two profiles side by side, the largest differences first.
import { h, menu, name } from "./dom";
import { Marks } from "./links";
import { iterationOf, rowsOf, waitOf, type GroupKey, type Row } from "./rows";
import { isProfile, type ComparisonDocument, type Document } from "./schema";
import { format } from "./units";
import { remade, type Context, type View } from "./view";

const mostLines = 200;

export interface Pair {
  name: string;
  layer: string;
  first: number | null; // seconds; null: not there
  second: number | null;
}

type By = "row" | "layer" | "op" | "block" | "pass";

/// One result may have its backward pass in two parts where the other has it in one: the coarser names win.
function passNames(first: Row[], second: Row[]): (pass: string) => string {
  const split = (rows: Row[]) =>
    rows.some((row) => row.pass === "backward_input" || row.pass === "backward_weight");
  if (split(first) && split(second)) return (pass) => pass;
  return (pass) => (pass === "backward_input" || pass === "backward_weight" ? "backward" : pass);
}

/// Which number of a row is compared.
type TimeKey = "time_s" | "expected_s";

export function pairsOf(first: Row[], second: Row[], by: By, time: TimeKey = "time_s"): Pair[] {
  const passOf = passNames(first, second);
  const pairs = new Map<string, Pair>();
  const add = (row: Row, side: "first" | "second") => {
    const key =
      by === "row"
        ? `${row.layer} ${passOf(row.pass)}`
        : by === "pass"
          ? passOf(row.pass)
          : row[by as GroupKey];
    let pair = pairs.get(key);
    if (!pair)
      pairs.set(
        key,
        (pair = {
          name: key,
          layer: by === "row" || by === "layer" ? row.layer : "",
          first: null,
          second: null,
        }),
      );
    pair[side] = (pair[side] ?? 0) + (row.numbers[time] ?? row.numbers.time_s ?? 0);
  };
  for (const row of first) add(row, "first");
  for (const row of second) add(row, "second");
  const difference = (pair: Pair) => Math.abs((pair.second ?? 0) - (pair.first ?? 0));
  return [...pairs.values()].sort((a, b) => difference(b) - difference(a));
}

function line(pair: Pair, most: number, marks: Marks): HTMLElement {
  const difference = (pair.second ?? 0) - (pair.first ?? 0);
  const bar = h("span", { class: difference > 0 ? "diff more" : "diff less" });
  bar.style.width = `${(50 * Math.abs(difference)) / (most || 1)}%`;
  const ratio = pair.first && pair.second !== null ? pair.second / pair.first : null;
  const row = h(
    "tr",
    {},
    h("td", {}, name(pair.name, 48)),
    h("td", { class: "n" }, format(pair.first, "s")),
    h("td", { class: "n" }, format(pair.second, "s")),
    h("td", { class: "n" }, `${difference > 0 ? "+" : ""}${format(difference, "s")}`),
    h(
      "td",
      { class: "n" },
      ratio === null ? (pair.first === null ? "only second" : "only first") : format(ratio, "ratio"),
    ),
    h("td", { class: "diff-cell" }, bar),
  );
  if (pair.layer !== "") marks.add(row, { layer: pair.layer });
  return row;
}

interface Compared {
  names: [string, string];
  iterations: [number, number]; // seconds
  rows: [Row[], Row[]];
  time: TimeKey;
  controls: HTMLElement[];
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

/// Of a comparison that the program made, what it says; else of two profiles of the page.
function comparedIn(context: Context): Compared | null {
  const { report, state, part } = context;
  if (part.document.kind === "comparison") {
    const document = part.document as ComparisonDocument;
    const side = (key: "a" | "b") =>
      document.rows.flatMap((row, index): Row[] =>
        row[key] === null
          ? []
          : [
              {
                index,
                layer: row.layer,
                pass: row.pass,
                op: row.op,
                block: row.block,
                class: "",
                bound: "",
                cause: "",
                numbers: { ...row[key] },
              },
            ],
      );
    return {
      names: [document.a.file, document.b.file],
      iterations: [document.totals.a.time_s, document.totals.b.time_s],
      rows: [side("a"), side("b")],
      time: "time_s",
      controls: [],
    };
  }
  const profiles = report.parts
    .map((each, at) => ({ part: each, at }))
    .filter((each) => isProfile(each.part.document));
  const pick = (key: string, otherwise: number) =>
    profiles.find(({ at }) => String(at) === state.get(key)) ?? profiles[otherwise];
  const [a, b] = [pick("cmpa", 0), pick("cmpb", 1)];
  if (!a || !b) return null;
  const choices = profiles.map((each) => ({ value: String(each.at), label: each.part.name }));
  const usual = timeIn([a.part.document, b.part.document]);
  const time = state.get("cmptimes") === "limit" ? "time_s" : usual;
  const times = [
    { value: "", label: "expected" },
    { value: "limit", label: "limit" },
  ];
  return {
    names: [a.part.name, b.part.name],
    iterations: [iterationIn(a.part.document, time), iterationIn(b.part.document, time)],
    rows: [rowsOf(a.part)?.rows ?? [], rowsOf(b.part)?.rows ?? []],
    time,
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
  { value: "row", label: "layer and pass" },
  { value: "layer", label: "layer" },
  { value: "op", label: "type" },
  { value: "block", label: "block" },
  { value: "pass", label: "pass" },
];

function pairTable(names: [string, string], pairs: Pair[], marks: Marks): HTMLElement {
  const most = Math.abs((pairs[0]?.second ?? 0) - (pairs[0]?.first ?? 0));
  const head = ["", ...names, "difference", "ratio", ""];
  return h(
    "div",
    { class: "wide tall" },
    h(
      "table",
      { class: "small compare" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ...head.map((each, i) => h("th", { class: i > 0 && i < 5 ? "n" : undefined }, h("bdi", {}, each))),
        ),
      ),
      h("tbody", {}, ...pairs.slice(0, mostLines).map((pair) => line(pair, most, marks))),
    ),
  );
}

function render(context: Context, element: HTMLElement): void {
  const { state } = context;
  const marks = new Marks(context.links);
  const body = h("div", {});
  element.append(body);
  remade(context, ["cmpa", "cmpb", "cmpby", "cmptimes"], () => {
    marks.clear();
    const compared = comparedIn(context);
    if (!compared) return;
    const by = groupings.find((each) => each.value === state.get("cmpby"))?.value ?? "row";
    const pairs = pairsOf(compared.rows[0], compared.rows[1], by, compared.time);
    const [first, second] = compared.iterations;
    const [a, b] = compared.names;
    body.replaceChildren(
      h(
        "div",
        { class: "controls" },
        ...compared.controls,
        menu("by", groupings, by, (value) => state.set("cmpby", value)),
      ),
      h(
        "p",
        { class: "lead" },
        h(
          "bdi",
          {},
          `${b} takes ${format(second, "s")} where ${a} takes ${format(first, "s")}: ${first > 0 ? format(second / first, "ratio") : "–"}.`,
        ),
      ),
      pairTable(compared.names, pairs, marks),
      pairs.length > mostLines
        ? h("p", { class: "dim" }, `the ${mostLines} largest differences of ${pairs.length}`)
        : "",
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
