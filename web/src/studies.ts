// SPDX-License-Identifier: Apache-2.0
// A view per study: its published statements beside what Strata finds, then its figures drawn anew.
import { h, menu } from "./dom";
import { save } from "./export";
import type {
  ClaimCounts,
  ReproductionDocument,
  ReproducedStudy,
  StudyFigure,
  StudyFinding,
  Verdict,
} from "./schema";
import { sortableTable, type SortColumn } from "./sortable";
import { remade, type Context, type View } from "./view";

const verdictTexts: Record<Verdict, string> = {
  holds: "holds",
  does_not_hold: "does not hold",
  not_judged: "cannot be judged",
  not_printed: "",
};

function verdictOf(finding: StudyFinding): Verdict {
  if (finding.is_printed) return finding.holds ? "holds" : "does_not_hold";
  return finding.printed === "" ? "not_printed" : "not_judged";
}

/// By what was measured beside it.
function measuredVerdictOf(finding: StudyFinding): Verdict {
  const holds = finding.measured?.holds ?? null;
  if (holds !== null) return holds ? "holds" : "does_not_hold";
  return finding.printed === "" ? "not_printed" : "not_judged";
}

function textColumn(
  key: string,
  label: string,
  text: (finding: StudyFinding) => string,
  kind = "words",
): SortColumn<StudyFinding> {
  return { key, label, unit: "text", value: text, kind };
}

function verdictColumn(
  key: string,
  label: string,
  of: (finding: StudyFinding) => Verdict,
): SortColumn<StudyFinding> {
  return {
    ...textColumn(key, label, (finding) => verdictTexts[of(finding)], "verdict-cell"),
    show: (finding) => h("span", { class: `verdict ${of(finding)}` }, verdictTexts[of(finding)]),
  };
}

function columnsOf(study: ReproducedStudy, findings: StudyFinding[]): SortColumn<StudyFinding>[] {
  const measuredOn = study.measured_on;
  const hasRules = findings.some((each) => (each.rule ?? "") !== ""); // else the study's, above the table
  return [
    textColumn("observation", "about", (each) => each.observation),
    textColumn("sentence", "the study says", (each) => each.sentence ?? "", "statement"),
    textColumn("network", study.place ?? "of what", (each) =>
      (each.apart ?? "") === "" ? each.network : `${each.network} (apart)`,
    ),
    textColumn("what", "data", (each) => each.what, "statement"),
    textColumn("printed", "printed", (each) => each.printed),
    textColumn("found", measuredOn === undefined ? "computed" : "predicted", (each) => each.found),
    verdictColumn("verdict", "verdict", verdictOf),
    ...(measuredOn === undefined
      ? []
      : [
          textColumn("measured", measuredOn, (each) => each.measured?.found ?? ""),
          verdictColumn("measured_verdict", "verdict", measuredVerdictOf),
        ]),
    ...(hasRules ? [textColumn("rule", "rule", (each) => each.rule ?? "", "reason")] : []),
    textColumn("reason", "reason", (each) => each.reason ?? each.note, "reason"),
  ];
}

const choices = [
  { value: "", label: "all" },
  { value: "holds", label: "what holds" },
  { value: "does_not_hold", label: "what does not hold" },
  { value: "not_judged", label: "what cannot be judged" },
  { value: "not_printed", label: "what the study does not print" },
];

function renderStatements(
  context: Context,
  study: ReproducedStudy,
  findings: StudyFinding[],
  element: HTMLElement,
): void {
  const { state } = context;
  const sortKey = `sort-${study.name}`;
  const body = h("div", {});
  element.append(body);
  remade(context, ["verdict", sortKey], () => {
    const wanted = state.get("verdict");
    const shown = findings.filter((each) => wanted === "" || verdictOf(each) === wanted);
    body.replaceChildren(
      h(
        "div",
        { class: "controls" },
        menu("showing", choices, wanted, (value) => state.set("verdict", value)),
      ),
      sortableTable(
        shown,
        columnsOf(study, findings),
        { sort: state.get(sortKey), onSort: (sort) => state.set(sortKey, sort) },
        (row, finding) => row.setAttribute("data-verdict", verdictOf(finding)),
        "small study",
      ),
    );
  });
}

/// A picture from a text of ours. As an image it can neither run a script nor fetch anything.
function picture(figure: StudyFigure): HTMLElement {
  return h("img", {
    src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(figure.svg)}`,
    alt: figure.title,
  });
}

function gallery(figures: StudyFigure[]): HTMLElement {
  return h(
    "div",
    { class: "gallery" },
    ...figures.map((figure) =>
      h(
        "figure",
        { class: "paper", "data-figure": figure.name },
        picture(figure),
        h(
          "figcaption",
          {},
          h("bdi", {}, figure.name),
          h(
            "span",
            {},
            figure.csv !== "" &&
              h(
                "button",
                { class: "link", click: () => save(figure.csv, "text/csv", `${figure.name}.csv`) },
                "its table as CSV",
              ),
            " ",
            h(
              "button",
              { class: "link", click: () => save(figure.svg, "image/svg+xml", `${figure.name}.svg`) },
              "SVG",
            ),
          ),
        ),
      ),
    ),
  );
}

function verdictsText(held = 0, notHeld = 0, notJudged = 0): string {
  return `${held} yes, ${notHeld} no, ${notJudged} cannot be judged`;
}

/// "20 claims in 33 rows: 15 yes, 14 no, 4 cannot be judged"; `verdicts` where more than these are
/// known.
function countsText(
  counts: ClaimCounts,
  verdicts = verdictsText(counts.held, counts.not_held, counts.not_judged),
): string {
  const { claims = 0, statements = 0 } = counts;
  return `${claims} claim${claims === 1 ? "" : "s"} in ${statements} row${statements === 1 ? "" : "s"}: ${verdicts}`;
}

/// As predicted and as measured, where both stand beside a statement.
function studyCountsText(study: ReproducedStudy): string {
  if (study.measured_on === undefined) return countsText(study);
  const predicted = verdictsText(study.held, study.not_held, study.not_judged);
  const measured = verdictsText(
    study.measured_held,
    study.measured_not_held,
    study.measured_not_judged,
  );
  return countsText(
    study,
    `as predicted ${predicted}; as measured on ${study.measured_on} ${measured}; by neither ${study.by_neither ?? 0}`,
  );
}

function renderStudy(
  context: Context,
  document: ReproductionDocument,
  study: ReproducedStudy,
  element: HTMLElement,
): void {
  element.append(h("p", { class: "lead" }, h("bdi", {}, study.title ?? study.name)));
  if (study.reason !== undefined) {
    element.append(h("p", { class: "note" }, h("bdi", {}, study.reason)));
    return;
  }
  const about = [study.published, study.basis].filter((each) => each !== undefined).join("; here ");
  if (about !== "") element.append(h("p", {}, h("bdi", {}, about)));
  element.append(h("p", { class: "counts" }, h("bdi", {}, `${studyCountsText(study)}.`)));
  for (const counts of study.apart ?? []) {
    const text = `Apart, ${countsText(counts)} (${counts.why}).`;
    element.append(h("p", { class: "counts" }, h("bdi", {}, text)));
  }
  // The first figure comes before the rows, which are many.
  const figures = (context.part.figures ?? []).filter((figure) => figure.study === study.name);
  const [first, ...others] = figures;
  if (first !== undefined) element.append(gallery([first]));
  element.append(h("p", { class: "dim" }, "Holds: ", h("bdi", {}, `${study.rule ?? ""}.`)));
  renderStatements(
    context,
    study,
    document.findings.filter((each) => each.study === study.name),
    element,
  );
  if (first === undefined) return;
  element.append(
    h("h3", {}, figures.length === 1 ? "1 figure" : `${figures.length} figures`),
    h("p", { class: "dim" }, "Open diamonds and dotted lines are what the paper prints, where it prints it."),
  );
  if (others.length > 0) element.append(gallery(others));
}

export function studyView(name: string): string {
  return `study-${name}`;
}

/// One for each study of the result that is shown; none where that is no reproduction.
export function studyViews(context: Context): View[] {
  if (context.part.document.kind !== "reproduction") return [];
  const document = context.part.document as ReproductionDocument;
  return document.studies.map((study) => ({
    id: studyView(study.name),
    title: study.name,
    fits: () => true,
    render: (_, element) => renderStudy(context, document, study, element),
  }));
}
