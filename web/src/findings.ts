// SPDX-License-Identifier: Apache-2.0
// What limits an iteration, what it costs, what to do about it and what would change: the document of strata explain.
import { h, name, words, type Child } from "./dom";
import type { ExplainedFinding, ExplanationDocument, Part, WhatIf } from "./schema";
import { format, percent, type Unit } from "./units";
import type { Context, View } from "./view";

const units: Record<string, Unit> = {
  seconds: "s",
  bytes: "bytes",
  capacity_bytes: "capacity",
  flop: "flop",
  bytes_per_s: "bytes/s",
  flop_per_s: "flop/s",
  flop_per_byte: "flop/byte",
  share: "share",
  ratio: "ratio",
  count: "count",
};

export function explanationOf(part: Part): ExplanationDocument | null {
  if (part.explanation) return part.explanation;
  return part.document.kind === "explanation" ? (part.document as ExplanationDocument) : null;
}

/// Whether a recording was asked, which says why no kernel ran.
export function isRecorded(explanation: ExplanationDocument): boolean {
  return explanation.findings.some((each) => each.is_of_recording);
}

/// "−12 %": what the iteration loses.
function change(what: WhatIf): string {
  if (what.gain_share === null) return what.no_time_reason ?? "";
  const less = -what.gain_share;
  return `${less > 0 ? "+" : ""}${percent(less)}`;
}

function cost(finding: ExplainedFinding, explanation: ExplanationDocument | null, isTrace: boolean): string {
  if (finding.cost_s === 0) return "";
  const on = finding.is_cost_on_top ? " on top" : "";
  const isOfRecording = finding.is_of_recording ?? isTrace;
  const own = explanation?.time_from === "step" ? "step" : "iteration";
  const whole = explanation?.expected && !finding.is_expected ? "limit" : isOfRecording && own !== "step" ? "recording" : own;
  return `${format(finding.cost_s, "s")}, ${percent(finding.cost_share)} of the ${whole}${on}`;
}

/// The layer that a finding is about, where the page has one of that name.
function layerOf(context: Context, finding: ExplainedFinding): string | undefined {
  return context.rows?.rows.some((row) => row.layer === finding.subject) ? finding.subject : undefined;
}

/// "fp16: lower precision would be faster".
export function titleOf(finding: ExplainedFinding): string {
  return finding.subject === "" ? finding.title : `${finding.subject}: ${finding.title}`;
}

function findingItem(context: Context, layers: Set<string>, finding: ExplainedFinding): HTMLElement {
  const layer = layerOf(context, finding);
  const worth = cost(finding, explanationOf(context.part), context.part.document.kind === "trace");
  return h(
    "li",
    { "data-code": finding.code },
    h("p", { class: "what" }, ...words(titleOf(finding)), " ", h("span", { class: "worth" }, worth)),
    h("p", {}, ...linked(context, layers, finding.what)),
    evidenceList(finding),
    h("p", { class: "advice" }, ...words(finding.advice)),
    finding.what_ifs.length > 0 && whatIfList(finding.what_ifs),
    layer !== undefined &&
      h("button", { class: "link", click: () => context.links.toggle(layer) }, "show ", name(layer, 40)),
    h("p", { class: "dim" }, "more in ", h("code", {}, finding.page)),
  );
}

/// Layers that a sentence names can be chosen in it.
function linked(context: Context, layers: Set<string>, text: string): Child[] {
  return text.split(/(\s+)/).flatMap((word) => {
    const plain = word.replace(/[,;:.]+$/, "");
    if (!layers.has(plain) || !/[._\d]/.test(plain)) return words(word); // "add" may be a word
    const button = h("button", { class: "link", click: () => context.links.toggle(plain) }, name(plain, 60));
    return [button, word.slice(plain.length)];
  });
}

function evidenceList(finding: ExplainedFinding): HTMLElement {
  const list = h("dl", { class: "evidence" });
  for (const number of finding.evidence)
    list.append(
      h(
        "div",
        {},
        h("dt", {}, ...words(number.what)),
        h("dd", {}, format(number.value, units[number.measure] ?? "count")),
      ),
    );
  return list;
}

function whatIfList(whatIfs: WhatIf[]): HTMLElement {
  return h(
    "ul",
    { class: "what-ifs" },
    h("li", { class: "dim" }, "what if"),
    ...whatIfs.map((each) =>
      h(
        "li",
        {},
        ...words(each.change),
        ": ",
        h("strong", { class: (each.gain_s ?? 0) > 0 ? "less" : undefined }, change(each)),
        each.basis === "row_by_row" && each.time_s !== null ? h("span", { class: "dim" }, " (row by row)") : "",
      ),
    ),
  );
}

/// Everything else held as it is, one thing changed: bars of what would go.
function whatIfTable(whatIfs: WhatIf[]): HTMLElement {
  const most = whatIfs.reduce((all, each) => Math.max(all, Math.abs(each.gain_s ?? 0)), 0);
  const hasMemory = whatIfs.some((each) => each.memory_bytes !== undefined);
  const body = h("tbody", {});
  for (const each of whatIfs) {
    const gain = each.gain_s ?? 0;
    const bar = h("span", { class: gain < 0 ? "diff more" : "diff less" });
    bar.style.width = `${most > 0 ? (50 * Math.abs(gain)) / most : 0}%`;
    body.append(
      h(
        "tr",
        {},
        h("td", {}, ...words(each.change)),
        h("td", { class: "n" }, each.time_s === null ? "" : format(each.time_s, "s")),
        h("td", { class: "n" }, each.time_s === null ? "" : change(each)),
        hasMemory && h("td", { class: "n" }, format(each.memory_bytes, "capacity")),
        h(
          "td",
          { class: "diff-cell" },
          each.time_s === null ? h("span", {}, ...words(each.no_time_reason ?? "")) : bar,
        ),
      ),
    );
  }
  const head = ["if", "time", "change", ...(hasMemory ? ["memory"] : []), ""];
  return h(
    "div",
    { class: "wide" },
    h(
      "table",
      { class: "small what-if-table" },
      h(
        "thead",
        {},
        h("tr", {}, ...head.map((each, i) => h("th", { class: i > 0 && each !== "" ? "n" : undefined }, each))),
      ),
      body,
    ),
  );
}

/// Findings of the expected time are about what a program does; those of the limit about what a chip could have.
function renderFindings(context: Context, explanation: ExplanationDocument, element: HTMLElement): void {
  const layers = new Set(context.rows?.rows.map((row) => row.layer));
  const list = (findings: ExplainedFinding[], start = 1) =>
    h("ol", { class: "findings full", start }, ...findings.map((each) => findingItem(context, layers, each)));
  const isOfChip = (each: ExplainedFinding) => Boolean(explanation.expected) && !each.is_expected;
  const own = explanation.findings.filter((each) => !isOfChip(each));
  const chip = explanation.findings.filter(isOfChip);
  const order = isRecorded(explanation)
    ? "Those of the whole recording first, by what they cost; they overlap."
    : "Sorted by what the best change of each would save; they overlap.";
  element.append(h("p", { class: "dim" }, order), list(own));
  if (chip.length > 0)
    element.append(
      h("h3", {}, `What a chip could have: of the limit, ${format(explanation.limit_time_s, "s")}`),
      list(chip, own.length + 1),
    );
}

function render(context: Context, element: HTMLElement): void {
  const explanation = explanationOf(context.part);
  if (!explanation) return;
  if (explanation.findings.length === 0) element.append(h("p", {}, "Nothing stands out."));
  else renderFindings(context, explanation, element);
  const expected = explanation.what_ifs.filter((each) => each.is_expected);
  const others = explanation.what_ifs.filter((each) => !each.is_expected);
  if (expected.length > 0)
    element.append(h("h3", {}, "The expected time with one thing changed: what you can change"), whatIfTable(expected));
  if (others.length > 0)
    element.append(
      h("h3", {}, explanation.expected
          ? "The limit with one thing changed: what a chip could have"
          : "The whole iteration with one thing changed"),
      whatIfTable(others),
    );
  if (explanation.reuse.length > 0)
    element.append(
      h("h3", {}, "Kept on chip"),
      h("ul", {}, ...explanation.reuse.map((each) => h("li", {}, ...words(each.text)))),
    );
  for (const note of explanation.notes) element.append(h("p", { class: "note" }, ...words(note)));
}

export const findingsView: View = {
  id: "findings",
  title: "Findings",
  fits: (context) => explanationOf(context.part) !== null,
  render,
};
