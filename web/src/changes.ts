// SPDX-License-Identifier: Apache-2.0
// What would make an iteration faster: what whoever trains can change, apart from what only another chip has.
import { h, words, type Child } from "./dom";
import { explanationOf, isRecorded, titleOf } from "./findings";
import { isProfile, type ExplainedFinding, type ExplanationDocument, type WhatIf } from "./schema";
import { format, percent } from "./units";
import type { Context } from "./view";

type By = "user" | "machine" | "chip" | "supposed";

/// Older documents do not say who can make a change.
export function changedBy(what: WhatIf): By {
  if (what.by !== undefined) return what.by;
  if (what.change.startsWith("--on ")) return "machine";
  if (/on-chip|the bandwidth|the arithmetic rate|^--granularity/.test(what.change)) return "chip";
  return what.basis === "predicted_again" || /^(bf16|fp16|tf32|fp8)$/.test(what.change) ? "user" : "supposed";
}

const perSample = "time per sample";

/// In the words of whoever trains, and how it is done in PyTorch.
const known: [RegExp, string, string, "code"?][] = [
  [/^--dtype tf32$/, "TF32 for products", "torch.backends.cuda.matmul.allow_tf32 = True", "code"],
  [/^--amp (\w+)$/, "$1 autocast", "torch.autocast(\"cuda\")", "code"],
  [/^tf32$/, "TF32 for products", "torch.backends.cuda.matmul.allow_tf32 = True", "code"],
  [/^(bf16|fp16)$/, "$1 instead", "mixed precision with fp32 master weights"],
  [/^--channels-last$/, "channels-last layout", "model.to(memory_format=torch.channels_last)", "code"],
  [/^--attention sdpa$/, "fused attention", "F.scaled_dot_product_attention", "code"],
  [/^--framework pytorch-compile$/, "fusion by torch.compile", "model = torch.compile(model)", "code"],
  [/^batch (\d+)$/, "batch $1", perSample],
  [/^(.*), per sample$/, "$1", perSample],
  [/^--on (.*)$/, "on $1", ""],
  [/^zero=0$/, "no ZeRO", "zero=0", "code"],
  [/^zero=(\d)$/, "ZeRO stage $1", "optimizer states, gradients, weights split over data parallel ranks"],
  [/^micro=(\d+)$/, "$1 micro-batches", "gradients accumulated over them"],
  [/^sp=yes$/, "sequence parallelism", "norms and dropout split over tensor parallel ranks"],
  [/^v=(\d+)$/, "$1 chunks of layers per stage", "interleaved schedule"],
  [/^recompute=(.*)$/, "recomputation: $1", ""],
  [/^schedule=(.*)$/, "schedule $1", ""],
  [/^auto: (.*)$/, "$1", "the fastest of all strategies"],
  [/^--recompute (.*)$/, "recompute activations", "torch.utils.checkpoint", "code"],
];

interface Change {
  what: string;
  how: string;
  isCode: boolean;
  time_s: number | null; // with it
  gain_share: number;
  isLimit: boolean; // nobody reaches it
}

function changeOf(what: WhatIf): Change {
  const match = known.find(([pattern]) => pattern.test(what.change));
  return {
    what: match ? what.change.replace(match[0], match[1]) : what.change,
    how: match?.[2] ?? "",
    isCode: match?.[3] === "code",
    time_s: what.time_s,
    gain_share: what.gain_share ?? 0,
    isLimit: what.basis === "row_by_row",
  };
}

/// Findings about what a program does, not about kernels of a library or about a chip.
const ownCodes = new Set([
  "host-bound",
  "launch-bound",
  "between-kernels",
  "vector-products",
  "wide-products",
  "memory-bound",
  "extra-traffic",
  "zero-flop",
  "update-share",
  "gradient-sums",
]);

function changeOfFinding(finding: ExplainedFinding, time_s: number): Change {
  return {
    // Of what passes between all kernels, the subject is only where most of it is.
    what: finding.subject === "" || finding.code === "between-kernels" ? finding.title : `${finding.subject}: ${finding.title}`,
    how: finding.advice,
    isCode: false,
    time_s: null,
    gain_share: time_s > 0 ? finding.gain_s / time_s : 0,
    isLimit: true,
  };
}

const mostChanges = 3;

/// The first three in the order of strata explain. Where fewer changes were predicted, what findings advise follows.
export function userChanges(explanation: ExplanationDocument): Change[] {
  const isExpected = Boolean(explanation.expected);
  const own = explanation.what_ifs
    .filter((each) => changedBy(each) === "user" && Boolean(each.is_expected) === isExpected && (each.gain_s ?? 0) > 0)
    .map(changeOf);
  const advised = explanation.findings
    .filter((each) => ownCodes.has(each.code) && Boolean(each.is_expected) === isExpected && each.gain_s > 0)
    .map((each) => changeOfFinding(each, explanation.time_s))
    .sort((a, b) => b.gain_share - a.gain_share);
  return [...own, ...advised].slice(0, mostChanges);
}

function gainText(share: number, isLimit: boolean): string {
  return `${isLimit ? "up to " : ""}−${percent(share)}`;
}

/// Its time is of the samples of the iteration as it is, where it changes how many there are.
function changeItem(change: Change, batch: number | null): HTMLElement {
  const isPerSample = change.how === perSample && batch !== null;
  const of = isPerSample ? ` for ${batch} samples` : "";
  const how: Child[] = change.isCode ? [h("code", {}, change.how)] : words(change.how);
  return h(
    "li",
    {},
    h("strong", { class: change.isLimit ? "gain rough" : "gain" }, gainText(change.gain_share, change.isLimit)),
    h(
      "span",
      {},
      h("span", { class: "what" }, ...words(change.what)),
      change.time_s === null ? "" : `, then ${format(change.time_s, "s")}${of}`,
      change.how === "" || isPerSample ? "" : h("span", { class: "how", title: change.how }, ...how),
    ),
  );
}

function chipItem(what: WhatIf, hasExpected: boolean): HTMLElement {
  const change = changeOf(what);
  const of = hasExpected && !what.is_expected ? " of the limit" : "";
  return h(
    "li",
    {},
    h("span", { class: "what" }, ...words(change.what)),
    " ",
    h("span", { class: "gain" }, `${gainText(change.gain_share, change.isLimit)}${of}`),
  );
}

/// Of a recording nobody predicts what a change would gain: what its findings cost, and what they advise.
function findingItem(finding: ExplainedFinding): HTMLElement {
  return h(
    "li",
    {},
    h("strong", { class: "cost" }, percent(finding.cost_share)),
    h(
      "span",
      {},
      h("span", { class: "what" }, ...words(titleOf(finding))),
      h("span", { class: "how", title: finding.advice }, ...words(finding.advice)),
    ),
  );
}

function costliest(explanation: ExplanationDocument): HTMLElement[] {
  const found = explanation.findings.filter((each) => each.cost_s > 0 && each.advice !== "");
  if (found.length === 0)
    return [h("p", { class: "dim" }, "No change of precision, batch or options is known to help.")];
  return [
    h("p", { class: "dim" }, "What it costs now, and what to do about it:"),
    h("ol", { class: "gains" }, ...found.slice(0, mostChanges).map(findingItem)),
  ];
}

export function changesOf(context: Context): HTMLElement | null {
  const explanation = explanationOf(context.part);
  if (!explanation) return null;
  const changes = isRecorded(explanation) ? [] : userChanges(explanation);
  const hasExpected = Boolean(explanation.expected);
  const batch = isProfile(context.part.document) ? (context.part.document.model?.batch ?? null) : null;
  const chips = explanation.what_ifs.filter(
    (each) => ["machine", "chip"].includes(changedBy(each)) && (each.gain_s ?? 0) > 0,
  );
  const count = explanation.findings.length;
  return h(
    "div",
    { class: "changes" },
    h("h3", {}, "What you can change"),
    ...(changes.length > 0 ? [h("ol", { class: "gains" }, ...changes.map((each) => changeItem(each, batch)))] : costliest(explanation)),
    chips.length > 0 && h("h4", {}, explanation.strategy ? "What another cluster could do" : "What another chip could do"),
    chips.length > 0 && h("ul", { class: "chips" }, ...chips.slice(0, 4).map((each) => chipItem(each, hasExpected))),
    count > 0 &&
      h(
        "p",
        { class: "more" },
        h("a", { class: "to-view", href: "#findings" }, count === 1 ? "1 finding says why" : `${count} findings say why`),
      ),
  );
}
