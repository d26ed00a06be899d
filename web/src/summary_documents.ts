// SPDX-License-Identifier: Apache-2.0
// The answer first, of documents that are no profiles.
import { cardList, type Card } from "./cards";
import { h, words } from "./dom";
import type {
  ComparedLabel,
  ComparedSide,
  ComparisonDocument,
  ConvDocument,
  Document,
  MachineDiffDocument,
  MachineDocument,
  ReproducedStudy,
  ReproductionDocument,
} from "./schema";
import { studyView } from "./studies";
import { format, labelOf, percent, whole, type Unit } from "./units";

function sideOf(label: ComparedLabel): string {
  const what = [label.title || label.network, label.setup ?? label.dtype, label.machine_title || label.machine];
  return `${label.file} (${label.times ?? label.evidence}: ${what.filter((each) => each !== "").join(", ")})`;
}

export function renderComparison(document: ComparisonDocument, element: HTMLElement): void {
  const { a, b, totals } = document;
  const ratio = totals.ratio === null ? "" : `, ${format(totals.ratio, "ratio")} as long`;
  element.append(
    h(
      "p",
      { class: "lead" },
      ...words(`${sideOf(b)} takes ${format(totals.b.time_s, "s")} where ${sideOf(a)} takes ${format(totals.a.time_s, "s")}${ratio}.`),
    ),
  );
  const card = (label: string, key: keyof ComparedSide, unit: Unit): Card => ({
    label,
    value: totals.a[key] > 0 ? format(totals.b[key] / totals.a[key], "ratio") : "–",
    detail: `${format(totals.a[key], unit)} and ${format(totals.b[key], unit)}`,
  });
  element.append(
    cardList([
      card("time", "time_s", "s"),
      card("arithmetic", "flop", "flop"),
      card("traffic", "traffic_bytes", "bytes"),
      card("launches", "launches", "count"),
    ]),
  );
  if (a.times === "expected" && b.times === "expected")
    element.append(
      h("p", {}, `The limits are ${format(a.limit_time_s, "s")} and ${format(b.limit_time_s, "s")}.`),
    );
  if (document.threshold !== null)
    element.append(
      h("p", {}, `${document.beyond_threshold ? "More" : "Less"} than ${percent(document.threshold)} apart.`),
    );
}

export function renderMachine(document: MachineDocument, element: HTMLElement): void {
  const { measured } = document;
  const from = measured ? `measured on ${measured.host ?? "a host"}, ${measured.date ?? ""}` : "from documents";
  element.append(
    h("p", { class: "lead" }, ...words(`${document.title} (${document.name}), ${document.kind}: ${from}.`)),
  );
}

export function renderConv(document: ConvDocument, element: HTMLElement): void {
  const measured = document.cells.filter((cell) => cell.time_s !== undefined).length;
  element.append(
    h(
      "p",
      { class: "lead" },
      `${measured} of ${document.cells.length} convolutions were measured on ${document.device} in ${document.dtype}; the others say why not.`,
    ),
    // Of one series and pass, the view below says it.
    document.advice.length > 1 ? h(
      "ul",
      { class: "answers" },
      ...document.advice.map((advice) =>
        h(
          "li",
          {},
          `${advice.series}, ${advice.pass}${advice.scratch_budget_bytes === undefined ? "" : ` within ${format(advice.scratch_budget_bytes, "capacity")} of scratch`}: ${advice.recommendation}`,
        ),
      ),
    ) : "",
  );
}

/// How many there are of what a list is of.
export function renderList(document: Document, element: HTMLElement): void {
  const counts = Object.entries(document).flatMap(([key, value]) =>
    Array.isArray(value) && value.length > 0 ? [`${whole(value.length)} ${labelOf(key)}`] : [],
  );
  if (counts.length > 0) element.append(h("p", { class: "lead" }, ...words(`${counts.join(", ")}.`)));
}

export function renderMachineDiff(document: MachineDiffDocument, element: HTMLElement): void {
  const both = document.numbers.filter((each) => each.ratio !== null);
  const equal = both.filter((each) => each.ratio === 1).length;
  element.append(
    h(
      "p",
      { class: "lead" },
      ...words(
        `${document.second} beside ${document.first}: ${whole(both.length)} numbers in both, ${whole(equal)} of them equal; a ratio is ${document.second} over ${document.first}.`,
      ),
    ),
  );
}

/// A line per study, two where it was predicted and measured.
function studyLines(study: ReproducedStudy): HTMLElement[] {
  const link = () => h("a", { class: "to-view", href: `#${studyView(study.name)}` }, study.name);
  const title = () =>
    h("td", { class: "words" }, h("bdi", {}, study.title ?? ""), " ", h("bdi", { class: "dim" }, study.published ?? ""));
  if (study.reason !== undefined)
    return [
      h(
        "tr",
        { "data-study": study.name },
        h("td", {}, link()),
        ...["–", "–", "–", "–"].map((none) => h("td", { class: "n" }, none)),
        h("td", { class: "words", colspan: 2 }, h("bdi", {}, study.reason)),
      ),
    ];
  const line = (basis: string, held = 0, not_held = 0, not_judged = 0) =>
    h(
      "tr",
      { "data-study": study.name },
      h("td", {}, link()),
      ...[held + not_held + not_judged, held, not_held, not_judged].map((count) =>
        h("td", { class: "n" }, whole(count)),
      ),
      title(),
      h("td", { class: "words" }, h("bdi", {}, basis)),
    );
  const lines = [line(study.basis ?? "", study.held, study.not_held, study.not_judged)];
  if (study.measured_on !== undefined)
    lines.push(
      line(
        `measured on ${study.measured_on}`,
        study.measured_held,
        study.measured_not_held,
        study.measured_not_judged,
      ),
    );
  return lines;
}

export function renderReproduction(document: ReproductionDocument, element: HTMLElement): void {
  const sum = (key: "held" | "not_held" | "not_judged") =>
    document.studies.reduce((all, study) => all + (study[key] ?? 0), 0);
  const statements = sum("held") + sum("not_held") + sum("not_judged");
  const heads = ["study", "statements", "hold", "do not", "not judged", "published as", "predicted or measured"];
  element.append(
    h(
      "p",
      { class: "lead" },
      `${whole(sum("held"))} of ${whole(statements)} published statements hold in ${document.studies.length === 1 ? "this study" : `${document.studies.length} studies`}, ${whole(sum("not_held"))} do not, ${whole(sum("not_judged"))} cannot be judged by what is at hand.`,
    ),
    h(
      "div",
      { class: "wide", tabindex: 0 },
      h(
        "table",
        { class: "small studies" },
        h("thead", {}, h("tr", {}, ...heads.map((each, i) => h("th", { class: i > 0 && i < 5 ? "n" : undefined }, each)))),
        h("tbody", {}, ...document.studies.flatMap(studyLines)),
      ),
    ),
    h(
      "p",
      { class: "dim" },
      "Everything is computed by Strata from its own predictions and from results that it measured; what was printed stands beside each.",
    ),
  );
}
