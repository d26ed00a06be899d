// SPDX-License-Identifier: Apache-2.0
// The answer first, of documents that are no profiles.
import { cardList, type Card } from "./cards";
import { h } from "./dom";
import type {
  ComparedLabel,
  ComparedSide,
  ComparisonDocument,
  MachineDiffDocument,
  MachineDocument,
  ReproductionDocument,
} from "./schema";
import { format, percent, whole, type Unit } from "./units";

function sideOf(label: ComparedLabel): string {
  const what = [label.title || label.network, label.dtype, label.machine_title || label.machine];
  return `${label.file} (${label.times ?? label.evidence}: ${what.filter((each) => each !== "").join(", ")})`;
}

export function renderComparison(document: ComparisonDocument, element: HTMLElement): void {
  const { a, b, totals } = document;
  const ratio = totals.ratio === null ? "" : `, ${format(totals.ratio, "ratio")} as long`;
  element.append(
    h(
      "p",
      { class: "lead" },
      h("bdi", {}, `${sideOf(b)} takes ${format(totals.b.time_s, "s")} where ${sideOf(a)} takes ${format(totals.a.time_s, "s")}${ratio}.`),
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
    h("p", { class: "lead" }, h("bdi", {}, `${document.title} (${document.name}), ${document.kind}: ${from}.`)),
  );
}

export function renderMachineDiff(document: MachineDiffDocument, element: HTMLElement): void {
  const both = document.numbers.filter((each) => each.ratio !== null);
  const equal = both.filter((each) => each.ratio === 1).length;
  element.append(
    h(
      "p",
      { class: "lead" },
      h(
        "bdi",
        {},
        `${document.second} beside ${document.first}: ${whole(both.length)} numbers in both, ${whole(equal)} of them equal; a ratio is ${document.second} over ${document.first}.`,
      ),
    ),
  );
}

export function renderReproduction(document: ReproductionDocument, element: HTMLElement): void {
  const sum = (key: "held" | "printed") => document.studies.reduce((all, study) => all + (study[key] ?? 0), 0);
  element.append(
    h(
      "p",
      { class: "lead" },
      `${whole(sum("held"))} of ${whole(sum("printed"))} published findings hold in ${document.studies.length === 1 ? "this study" : `${document.studies.length} studies`}. Everything is computed by Strata from its own predictions and from results that it measured; the published number stands beside each.`,
    ),
    cardList(
      document.studies.map((study) => ({
        label: study.name,
        value: study.reason ? "–" : `${study.held} of ${study.printed} hold`,
        detail: study.reason ?? study.title ?? "",
      })),
    ),
  );
}
