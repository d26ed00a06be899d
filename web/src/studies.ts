// SPDX-License-Identifier: Apache-2.0
// Published findings beside ours, and the published figures drawn anew.
import { h, menu } from "./dom";
import type { ReproductionDocument, StudyFigure, StudyFinding } from "./schema";
import { remade, type Context, type View } from "./view";

function documentOf(context: Context): ReproductionDocument | null {
  const { document } = context.part;
  return document.kind === "reproduction" ? (document as ReproductionDocument) : null;
}

type Verdict = "yes" | "no" | "none";

function verdictOf(finding: StudyFinding): Verdict {
  return !finding.is_printed ? "none" : finding.holds ? "yes" : "no";
}

const verdictTexts: Record<Verdict, string> = { yes: "holds", no: "does not", none: "" };

function verdictCell(verdict: Verdict): HTMLElement {
  return h("td", {}, h("span", { class: `verdict ${verdict}` }, verdictTexts[verdict]));
}

/// What was measured beside it, and its verdict; two cells for every row of a study that has any.
function measuredCells(finding: StudyFinding): HTMLElement[] {
  const holds = finding.measured?.holds ?? null;
  return [
    h("td", { class: "n" }, h("bdi", {}, finding.measured?.found ?? "")),
    verdictCell(holds === null ? "none" : holds ? "yes" : "no"),
  ];
}

function findingRow(finding: StudyFinding, hasMeasured: boolean): HTMLElement {
  const verdict = verdictOf(finding);
  const cells = [finding.observation, finding.network, finding.what];
  return h(
    "tr",
    { class: `verdict-${verdict}` },
    ...cells.map((cell) => h("td", {}, h("bdi", {}, cell))),
    h("td", { class: "n" }, h("bdi", {}, finding.printed)),
    h("td", { class: "n" }, h("bdi", {}, finding.found)),
    verdictCell(verdict),
    ...(hasMeasured ? measuredCells(finding) : []),
    h("td", { class: "source" }, h("bdi", {}, finding.note)),
  );
}

function studyTable(place: string, findings: StudyFinding[], measuredOn?: string): HTMLElement {
  const measured = measuredOn === undefined ? [] : [measuredOn, ""];
  const found = measuredOn === undefined ? "found" : "predicted";
  const head = ["no.", place, "what", "printed", found, "", ...measured, "note"];
  const isNumber = (i: number) => i === 3 || i === 4 || (measuredOn !== undefined && i === 6);
  return h(
    "div",
    { class: "wide" },
    h(
      "table",
      { class: "small study" },
      h(
        "thead",
        {},
        h("tr", {}, ...head.map((each, i) => h("th", { class: isNumber(i) ? "n" : undefined }, each))),
      ),
      h("tbody", {}, ...findings.map((each) => findingRow(each, measuredOn !== undefined))),
    ),
  );
}

function renderFindings(context: Context, element: HTMLElement): void {
  const document = documentOf(context);
  if (!document) return;
  const { state } = context;
  const body = h("div", {});
  element.append(body);
  const choices = [
    { value: "", label: "all" },
    { value: "yes", label: "what holds" },
    { value: "no", label: "what does not" },
    { value: "none", label: "what the study does not print" },
  ];
  remade(context, ["verdict"], () => {
    const wanted = state.get("verdict");
    body.replaceChildren(
      h(
        "div",
        { class: "controls" },
        menu("showing", choices, wanted, (value) => state.set("verdict", value)),
      ),
    );
    for (const study of document.studies) {
      const own = document.findings.filter(
        (each) => each.study === study.name && (wanted === "" || verdictOf(each) === wanted),
      );
      body.append(h("h3", {}, study.title ?? study.name));
      if (study.reason !== undefined) body.append(h("p", { class: "note" }, h("bdi", {}, study.reason)));
      else
        body.append(
          h("p", { class: "dim" }, `${study.held} of ${study.printed} hold: ${study.rule}`),
          own.length > 0 ? studyTable(study.place ?? "where", own, study.measured_on) : h("p", {}, "none"),
        );
    }
  });
}

export const studyFindingsView: View = {
  id: "study",
  title: "Published findings",
  fits: (context) => documentOf(context) !== null,
  render: renderFindings,
};

/// A picture from a text of ours. As an image it can neither run a script nor fetch anything.
function picture(figure: StudyFigure): HTMLElement {
  return h("img", {
    src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(figure.svg)}`,
    alt: figure.title,
  });
}

function save(figure: StudyFigure): void {
  const link = h("a", {
    href: URL.createObjectURL(new Blob([figure.csv], { type: "text/csv" })),
    download: `${figure.name}.csv`,
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function renderFigures(context: Context, element: HTMLElement): void {
  const figures = context.part.figures ?? [];
  const studies = [...new Set(figures.map((figure) => figure.study))];
  for (const study of studies) {
    const own = figures.filter((figure) => figure.study === study);
    const gallery = h("div", { class: "gallery" });
    for (const figure of own)
      gallery.append(
        h(
          "figure",
          { class: "paper", "data-figure": figure.name },
          picture(figure),
          h(
            "figcaption",
            {},
            h("bdi", {}, figure.name),
            figure.csv !== "" && h("button", { class: "link", click: () => save(figure) }, "its table as CSV"),
          ),
        ),
      );
    element.append(h("h3", {}, `${study}, ${own.length} figures`), gallery);
  }
}

export const studyFiguresView: View = {
  id: "figures",
  title: "Figures",
  fits: (context) => (context.part.figures ?? []).length > 0,
  render: renderFigures,
};
