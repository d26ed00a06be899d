// SPDX-License-Identifier: Apache-2.0
// What limits an iteration, what it costs, what to do about it and what would change: the document of strata explain.
import { h, name } from "./dom";
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

/// "−12 %": what the iteration loses.
function change(what: WhatIf): string {
  if (what.gain_share === null) return what.no_time_reason ?? "";
  const less = -what.gain_share;
  return `${less > 0 ? "+" : ""}${percent(less)}`;
}

function cost(finding: ExplainedFinding, explanation: ExplanationDocument | null): string {
  if (finding.cost_s === 0) return "";
  const on = finding.is_cost_on_top ? " on top" : "";
  const whole = explanation?.expected && !finding.is_expected ? "limit" : "iteration";
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

export function findingItem(context: Context, finding: ExplainedFinding, isShort: boolean): HTMLElement {
  const layer = layerOf(context, finding);
  const best = finding.what_ifs.find((each) => (each.gain_s ?? 0) > 0 && each.gain_s === finding.gain_s);
  const shown = isShort ? (best ? [best] : []) : finding.what_ifs;
  return h(
    "li",
    { "data-code": finding.code },
    h("p", { class: "what" }, h("bdi", {}, titleOf(finding)), " ", h("span", { class: "worth" }, cost(finding, explanationOf(context.part)))),
    h("p", {}, h("bdi", {}, finding.what)),
    !isShort && evidenceList(finding),
    h("p", { class: "advice" }, h("bdi", {}, finding.advice)),
    shown.length > 0 && whatIfList(shown),
    layer !== undefined &&
      h("button", { class: "link", click: () => context.links.toggle(layer) }, "show ", name(layer, 40)),
    !isShort && h("p", { class: "dim" }, `${finding.code}, ${finding.page}`),
  );
}

function evidenceList(finding: ExplainedFinding): HTMLElement {
  const list = h("dl", { class: "evidence" });
  for (const number of finding.evidence)
    list.append(
      h(
        "div",
        {},
        h("dt", {}, h("bdi", {}, number.what)),
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
        h("bdi", {}, each.change),
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
  const body = h("tbody", {});
  for (const each of whatIfs) {
    const gain = each.gain_s ?? 0;
    const bar = h("span", { class: gain < 0 ? "diff more" : "diff less" });
    bar.style.width = `${most > 0 ? (50 * Math.abs(gain)) / most : 0}%`;
    body.append(
      h(
        "tr",
        {},
        h("td", {}, h("bdi", {}, each.change)),
        h("td", { class: "n" }, each.time_s === null ? "" : format(each.time_s, "s")),
        h("td", { class: "n" }, each.time_s === null ? "" : change(each)),
        h(
          "td",
          { class: "diff-cell" },
          each.time_s === null ? h("bdi", {}, each.no_time_reason ?? "") : bar,
        ),
      ),
    );
  }
  const head = ["if", "time", "change", ""];
  return h(
    "div",
    { class: "wide" },
    h(
      "table",
      { class: "small what-if-table" },
      h(
        "thead",
        {},
        h("tr", {}, ...head.map((each, i) => h("th", { class: i === 1 || i === 2 ? "n" : undefined }, each))),
      ),
      body,
    ),
  );
}

function render(context: Context, element: HTMLElement): void {
  const explanation = explanationOf(context.part);
  if (!explanation) return;
  if (explanation.findings.length === 0) element.append(h("p", {}, "Nothing stands out."));
  else
    element.append(
      h("p", { class: "dim" }, "Sorted by what the best change of each would save; they overlap."),
      h("ol", { class: "findings full" }, ...explanation.findings.map((each) => findingItem(context, each, false))),
    );
  const expected = explanation.what_ifs.filter((each) => each.is_expected);
  const others = explanation.what_ifs.filter((each) => !each.is_expected);
  if (expected.length > 0)
    element.append(h("h3", {}, "The expected time with one thing changed"), whatIfTable(expected));
  if (others.length > 0)
    element.append(
      h("h3", {}, `The ${explanation.expected ? "limit" : "whole iteration"} with one thing changed`),
      whatIfTable(others),
    );
  if (explanation.reuse.length > 0)
    element.append(
      h("h3", {}, "Kept on chip"),
      h("ul", {}, ...explanation.reuse.map((each) => h("li", {}, h("bdi", {}, each.text)))),
    );
  for (const note of explanation.notes) element.append(h("p", { class: "note" }, h("bdi", {}, note)));
}

export const findingsView: View = {
  id: "findings",
  title: "Findings",
  fits: (context) => explanationOf(context.part) !== null,
  render,
};
