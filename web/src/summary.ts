// SPDX-License-Identifier: Apache-2.0
// The answer first: what it is, how long it takes, what limits it, and the largest findings.
import { answer } from "./answer";
import { cardList, type Card } from "./cards";
import { changesOf } from "./changes";
import { h, kept, name, words, type Child } from "./dom";
import { expectedCards, interval, outOfMemory } from "./expected";
import { machineChoiceOf, renderMachineChoice } from "./machine_choice";
import { isParallel } from "./parallel";
import { renderParallel } from "./parallel_summary";
import { grouped, iterationOf, total, waitOf, type RowSet } from "./rows";
import { scalingOf } from "./scaling";
import { renderScaling } from "./scaling_summary";
import { isMachine, isProfile, type ExplanationDocument, type ModelDocument, type ProfileDocument, type RooflineDocument } from "./schema";
import {
  renderComparison,
  renderConv,
  renderList,
  renderMachine,
  renderMachineDiff,
  renderReproduction,
} from "./summary_documents";
import { renderSweep } from "./sweep_summary";
import { partKey } from "./totals";
import { format, percent, whole } from "./units";
import { warningText, type Context, type View } from "./view";

function number(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function subject({ model }: ProfileDocument): Child[] {
  const details = [model?.batch ? `batch ${model.batch}` : "", model?.setup ?? model?.dtype ?? ""].filter((each) => each !== "");
  return [name(model?.title || model?.name || "the program"), details.length > 0 ? ` (${details.join(", ")})` : ""];
}

function trafficOf(document: ProfileDocument): number {
  const totals = document.totals ?? {};
  return Number(totals.traffic_in_bytes ?? 0) + Number(totals.traffic_out_bytes ?? 0);
}

/// What the time of a recording is of: a step of it where steps were found, else all of it; where nothing says when
/// kernels ran, the sum of their times.
function recordedPiece(document: ProfileDocument): [before: string, after: string] {
  const [longest] = [...(document.processes ?? [])].sort((a, b) => b.kernel_time_s - a.kernel_time_s);
  const steps = longest?.steps.count ?? 0;
  const from = document.totals?.time_from;
  if (from === "rows") return [`The kernels of ${steps > 0 ? "a step of " : ""}`, " together"];
  if (steps === 0 || from === "recording") return ["The recording of ", ", from its first kernel to its last,"];
  return [`A step ${steps > 1 ? `(the median of ${whole(steps)}) ` : ""}of `, ""];
}

function beginning(document: ProfileDocument, time: number): Child[] {
  if (document.kind === "trace") {
    const [before, after] = recordedPiece(document);
    return [before, ...subject(document), `${after} took ${format(time, "s")}`];
  }
  const kind = document.model?.mode === "inference" ? "inference pass" : "training iteration";
  const head = [`One ${kind} of `, ...subject(document)];
  const { expected } = document;
  if (expected) return [...head, ` is expected to take ${format(expected.time_s, "s")} (${interval(expected)})`];
  return [...head, ` ${document.evidence === "predicted" ? "takes" : "took"} ${format(time, "s")}`];
}

/// The answer in words. Names stand alone, so that none of them turns the sentence around.
function sentence(document: ProfileDocument, rows: RowSet): Child[] {
  const time = rows.rows.some((row) => row.numbers.time_s !== undefined) ? iterationOf(document) : undefined;
  const machine = document.machine?.title || document.machine?.name;
  const on: Child[] = machine ? [" on ", name(machine)] : [];
  if (time === undefined)
    return [
      `${whole(rows.rows.length)} rows of `,
      ...subject(document),
      ...on,
      `, ${document.evidence}. They say no times, so that what needs time is not shown.`,
    ];
  const text = [...beginning(document, time), ...on, "."];
  const running = document.idle ? runningTime(document) : null;
  if (running !== null && time > 0) text.push(` A kernel ran ${percent(running / time)} of that time.`);
  if (document.expected) text.push(` Perfect kernels would take ${format(time, "s")}: the limit.`);
  else if (document.evidence === "predicted")
    text.push(" This is the limit that compute, bandwidth and capacity set, not a calibrated time.");
  return text;
}

/// The numbers of the first screen.
function headCards(document: ProfileDocument, rows: RowSet): Card[] {
  const totals = document.totals ?? {};
  const time = rows.rows.some((row) => row.numbers.time_s !== undefined) ? iterationOf(document) : null;
  const samples = number(totals.samples_per_s);
  const { expected } = document;
  const cards: Card[] = [
    ...(expected ? expectedCards(document, expected) : []),
    {
      label: expected ? "limit" : "time",
      value: format(time, "s"),
      detail:
        samples === null
          ? `${whole(rows.rows.length)} rows`
          : `${format(samples, "count")} samples per second`,
    },
  ];
  if (!expected) cards.push(...busyCards(document), ...memoryCards(document));
  return cards;
}

/// How long a kernel ran, or several at once.
function runningTime({ totals = {} }: ProfileDocument): number | null {
  const busy = number(totals.busy_time_s);
  return busy === null ? null : busy - (number(totals.overlap_time_s) ?? 0);
}

/// How much of a measured iteration the device works, with how many kernels, and how long the host takes to launch them.
function busyCards(document: ProfileDocument): Card[] {
  const { totals = {}, evidence } = document;
  const [busy, time, launches, host] = [totals.busy_time_s, totals.time_s, totals.launches, totals.host_time_s].map(number);
  const running = runningTime(document);
  if (evidence !== "measured" || typeof busy !== "number" || typeof time !== "number" || running === null) return [];
  const cards =
    totals.time_from === "rows" ? [] : [{ label: "device busy", value: percent(running / time), detail: `${format(running, "s")} in kernels` }];
  if (typeof launches === "number" && launches > 0)
    cards.push({ label: "kernels", value: whole(launches), detail: `${format(busy / launches, "s")} each on average` });
  if (typeof host === "number")
    cards.push({ label: "host", value: format(host, "s"), detail: "to launch them, without waiting for the device" });
  return cards;
}

function memoryCards({ totals = {} }: ProfileDocument): Card[] {
  const memory = number(totals.footprint_bytes) ?? number(totals.peak_memory_bytes);
  if (memory === null) return [];
  const fits =
    totals.fits_device === true
      ? "peak; fits in the device"
      : totals.fits_device === false
        ? "out of memory: more than the device has"
        : "peak";
  return [{ label: "memory", value: format(memory, "capacity"), detail: fits }];
}

/// Measured rows by what limits them. Predicted rows wait for one another's transfers: no row is bound by itself.
function boundCard(document: ProfileDocument, rows: RowSet): Card[] {
  const groups = grouped(rows.rows, "bound").filter((group) => group.name !== "");
  if (groups.length === 0 || document.evidence === "predicted") return [];
  const all = iterationOf(document);
  const time = ({ numbers }: (typeof groups)[number]) => numbers[partKey(document)] ?? 0;
  groups.sort((a, b) => time(b) - time(a));
  const shares = groups.map((group) => `${group.name} ${percent(time(group) / (all || 1))}`);
  return [{ label: "rows bound by", value: groups[0]?.name ?? "", detail: `of the time: ${shares.join(", ")}` }];
}

function moreCards(document: ProfileDocument, rows: RowSet): Card[] {
  const totals = document.totals ?? {};
  const sums = total(rows.rows);
  const cards: Card[] = [];
  if (document.bounds)
    cards.push({
      label: "lower bound",
      value: format(document.bounds.time_s, "s"),
      detail: `of the limit, for this order of layers (from “${document.bounds.time_from}”)`,
    });
  cards.push(...boundCard(document, rows));
  const traffic = trafficOf(document) || (sums.traffic_bytes ?? 0);
  if (traffic > 0)
    cards.push({
      label: "traffic",
      value: format(traffic, "bytes"),
      detail: `${format(number(totals.traffic_in_bytes) ?? sums.traffic_in_bytes, "bytes")} in, ${format(number(totals.traffic_out_bytes) ?? sums.traffic_out_bytes, "bytes")} out`,
    });
  const flop = number(totals.flop) ?? sums.flop ?? 0;
  if (flop > 0 && sums.time_s !== undefined)
    cards.push({
      label: "arithmetic",
      value: format(flop, "flop"),
      detail: `${format(flop / waitOf(document), "flop/s")} on average`,
    });
  return cards;
}

const scopeTitles: Record<string, string> = {
  recurrent: "recurrent weights",
  "forward-backward": "saved activations",
  adjacent: "adjacent layers",
  block: "blocks",
};

function renderReuse(document: ProfileDocument, element: HTMLElement): void {
  const scopes = (document.reuse ?? []).filter((scope) => scope.offered_bytes > 0);
  if (scopes.length === 0) return;
  const row = (cells: string[], tag: "th" | "td") =>
    h("tr", {}, ...cells.map((cell, i) => h(tag, { class: i > 0 ? "n" : undefined }, cell)));
  const table = h(
    "table",
    { class: "small" },
    h(
      "thead",
      {},
      row(["kept on chip", "reused", "stays", "half needs", "nine tenths need", "all needs"], "th"),
    ),
  );
  const body = h("tbody", {});
  for (const scope of scopes)
    body.append(
      row(
        [
          scopeTitles[scope.scope] ?? scope.scope,
          format(scope.offered_bytes, "bytes"),
          percent(scope.captured_bytes / scope.offered_bytes),
          format(scope.capacity_50_bytes, "capacity"),
          format(scope.capacity_90_bytes, "capacity"),
          format(scope.capacity_100_bytes, "capacity"),
        ],
        "td",
      ),
    );
  table.append(body);
  element.append(
    h("h3", {}, "Values used again, and the on-chip capacity that it takes to keep them"),
    h("div", { class: "wide" }, table),
  );
}

function renderProfile(
  context: Context,
  document: ProfileDocument,
  rows: RowSet,
  element: HTMLElement,
  width: number,
): void {
  const problem = outOfMemory(document);
  if (problem) element.append(problem);
  const text = sentence(document, rows).map((each) => (typeof each === "string" ? kept(each) : each));
  element.append(h("p", { class: "lead" }, ...text));
  element.append(cardList(headCards(document, rows)));
  if (waitOf(document) > 0) element.append(...answer(context, document, rows, width));
  const more = moreCards(document, rows);
  if (more.length > 0) element.append(h("h3", {}, "More numbers"), cardList(more));
  renderReuse(document, element);
}

function renderModel(document: ModelDocument, element: HTMLElement): void {
  const { model, totals } = document;
  const flop = (totals.forward_flop ?? 0) + (totals.backward_flop ?? 0);
  element.append(
    h(
      "p",
      { class: "lead" },
      name(model.title || model.name || "The network"),
      ` has ${whole(totals.nodes ?? 0)} layers and ${format(totals.parameters, "count")} parameters` +
        `${model.batch ? `; all numbers are for a batch of ${model.batch} in ${model.dtype}` : ""}.`,
    ),
    cardList([
      {
        label: "parameters",
        value: format(totals.parameters, "count"),
        detail: format(totals.parameter_bytes, "bytes"),
      },
      {
        label: "arithmetic",
        value: format(flop, "flop"),
        detail: `forward ${format(totals.forward_flop, "flop")}`,
      },
      {
        label: "kept for backward",
        value: format(totals.kept_bytes, "bytes"),
        detail: `activations ${format(totals.activation_bytes, "bytes")}`,
      },
    ]),
  );
}

function renderRoofline(document: RooflineDocument, element: HTMLElement): void {
  const rows = document.profiles.reduce((sum, series) => sum + series.rows.length, 0);
  element.append(
    h(
      "p",
      { class: "lead" },
      `${whole(rows)} rows (by ${document.by}) of ${document.profiles.length === 1 ? "one profile" : `${document.profiles.length} profiles`} under the roofs of `,
      name(document.machine.title || document.machine.name),
      ".",
    ),
  );
  for (const note of document.notes) element.append(h("p", { class: "note" }, ...words(note)));
}

function renderExplanation(context: Context, document: ExplanationDocument, element: HTMLElement): void {
  const { model, machine, expected } = document;
  element.append(
    h(
      "p",
      { class: "lead" },
      "One iteration of ",
      name(model.title || model.name || "the program"),
      ` takes ${format(document.time_s, "s")} on `,
      name(machine.title || machine.name || "this machine"),
      expected
        ? `, expected in ${expected.framework}; the limit is ${format(document.limit_time_s, "s")}.`
        : `, ${document.evidence}.`,
    ),
  );
  const changes = changesOf(context);
  if (changes) element.append(changes);
}

function renderAnswer(context: Context, element: HTMLElement, width: number): void {
  const { document } = context.part;
  const scaling = scalingOf(document);
  const choice = machineChoiceOf(document);
  if (scaling) renderScaling(context, scaling, element, width);
  else if (choice) renderMachineChoice(context, choice, element, width);
  else if (isParallel(document)) renderParallel(context, document, element, width);
  else if (isProfile(document)) {
    if (context.rows) renderProfile(context, document, context.rows, element, width);
  } else if (isMachine(document)) renderMachine(document, element);
  else if (document.kind === "model") renderModel(document, element);
  else if (document.kind === "convolutions") renderConv(document, element);
  else if (document.kind === "sweep") renderSweep(context.part, document, element);
  else if (document.kind === "roofline") renderRoofline(document, element);
  else if (document.kind === "comparison") renderComparison(document, element);
  else if (document.kind === "explanation") renderExplanation(context, document, element);
  else if (document.kind === "machine_diff") renderMachineDiff(document, element);
  else if (document.kind === "reproduction") renderReproduction(document, element);
  else renderList(document, element);
}

/// What else the document says, below the answer.
function renderNotes(context: Context, element: HTMLElement): void {
  const { document } = context.part;
  // Those of convolutions stand beside their times.
  const hasOwn = document.kind === "convolutions";
  const warnings = "warnings" in document && !hasOwn ? ((document as ProfileDocument).warnings ?? []) : [];
  for (const warning of warnings) element.append(h("p", { class: "note" }, ...words(warningText(warning))));
  for (const note of context.part.notes ?? []) element.append(h("p", { class: "note" }, ...words(note)));
  if (document.provenance?.command)
    element.append(h("p", { class: "command" }, h("code", {}, document.provenance.command)));
}

export const summaryView: View = {
  id: "summary",
  title: "Summary",
  fits: () => true,
  render: (context, element, width) => {
    renderAnswer(context, element, width);
    renderNotes(context, element);
  },
};

/// A view that is all there is to see: what a summary says stands around it.
export function withSummary(view: View): View {
  return {
    ...view,
    render: (context, element, width) => {
      renderAnswer(context, element, width);
      view.render(context, element, width);
      renderNotes(context, element);
    },
  };
}
