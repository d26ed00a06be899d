// SPDX-License-Identifier: Apache-2.0
// What a page is of, for its head and for the browser's tab: model, batch, data type, machine, predicted or measured.
import { machineChoiceOf, machineChoiceTitle } from "./machine_choice";
import { isParallel, parallelTitle } from "./parallel";
import { scalingOf, scalingTitle } from "./scaling";
import {
  isProfile,
  type ComparedLabel,
  type ComparisonDocument,
  type Part,
  type ProfileDocument,
  type Report,
  type RooflineDocument,
  type SweepDocument,
} from "./schema";
import { labelOf } from "./units";

function listed(parts: string[]): string {
  const texts = parts.filter((part) => part !== "");
  return texts.length < 2 ? (texts[0] ?? "") : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`;
}

function joined(parts: (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== "").join(", ");
}

/// Of an expected time, where it is not the usual one of such a machine.
function frameworkOf({ machine, expected }: ProfileDocument): string {
  const usual = machine?.kind === "cpu" ? "strata" : "pytorch-eager";
  return expected && expected.framework !== usual ? expected.framework : "";
}

/// "ResNet-50, batch 32, fp32 on NVIDIA H100 SXM5 80 GB, predicted".
export function profileTitle(document: ProfileDocument): string {
  const { model, machine, evidence, kind } = document;
  const head = joined([
    model?.title || model?.name || "a program",
    model?.batch ? `batch ${model.batch}` : "",
    model?.setup ?? model?.dtype,
    model?.mode === "inference" ? "inference" : "",
    frameworkOf(document),
  ]);
  const on = machine?.title || machine?.name;
  const how = kind === "trace" ? "recorded" : evidence;
  return joined([on ? `${head} on ${on}` : head, how]);
}

/// A comparison does not hold the batch; the profile of that name beside it does.
function batchOf(parts: Part[], label: ComparedLabel): string {
  const own = parts.find((part) => part.name === label.file && isProfile(part.document));
  const batch = own && isProfile(own.document) && own.document.model?.batch;
  return batch ? `batch ${batch}` : "";
}

function sideTitle(parts: Part[], label: ComparedLabel): string {
  const on = label.machine_title || label.machine;
  const head = joined([label.title || label.network || label.file, batchOf(parts, label), label.setup ?? label.dtype]);
  return `${on ? `${head} on ${on}` : head} (${joined([label.times ?? label.evidence, label.file])})`;
}

/// Every side once: the first stands in each comparison.
function comparisonTitle(parts: Part[]): string {
  const documents = parts.flatMap(({ document }) =>
    document.kind === "comparison" ? [document as ComparisonDocument] : [],
  );
  const sides = documents.flatMap((document, at) => (at === 0 ? [document.a, document.b] : [document.b]));
  return `${listed(sides.map((side) => sideTitle(parts, side)))}, compared`;
}

function sweepTitle(document: SweepDocument): string {
  const axes = document.columns.filter((column) => column.is_axis);
  const valuesOf = (name: string) => [
    ...new Set(document.columns.find((column) => column.name === name)?.cells.map(String) ?? []),
  ];
  const few = (values: string[]) => (values.length > 4 ? `${values.length} of them` : listed(values));
  const models = valuesOf("model").concat(valuesOf("network"));
  const machines = valuesOf("machine");
  const swept = axes
    .filter((axis) => !["model", "network", "machine"].includes(axis.name) && new Set(axis.cells).size > 1)
    .map((axis) => labelOf(axis.name));
  return [
    "Sweep",
    models.length > 0 ? `of ${models.length > 4 ? `${models.length} networks` : few(models)}` : "",
    machines.length > 0 ? `on ${machines.length > 4 ? `${machines.length} machines` : few(machines)}` : "",
    swept.length > 0 ? `over ${listed(swept)}` : "",
  ]
    .filter((each) => each !== "")
    .join(" ");
}

function rooflineTitle(document: RooflineDocument): string {
  const of = document.profiles.map(({ label, network, dtype, evidence }) => {
    const name = network === "" || label.includes(network) ? label : `${network} ${label}`;
    return `${name || "a program"} (${joined([dtype, evidence])})`;
  });
  const shown = of.length > 4 ? `${of.length} profiles` : listed(of);
  return `Rooflines of ${shown} on ${document.machine.title || document.machine.name}`;
}

function partTitle(part: Part): string {
  const { document } = part;
  const scaling = scalingOf(document);
  if (scaling) return scalingTitle(scaling);
  if (isParallel(document)) return parallelTitle(document);
  const choice = machineChoiceOf(document);
  if (choice) return machineChoiceTitle(choice);
  if (isProfile(document)) return profileTitle(document);
  if (document.kind === "sweep") return sweepTitle(document as SweepDocument);
  if (document.kind === "roofline") return rooflineTitle(document as RooflineDocument);
  if (document.kind === "model") {
    const { model } = document as { model: ProfileDocument["model"] };
    return joined([model?.title || model?.name || part.name, model?.batch ? `batch ${model.batch}` : "", model?.dtype]);
  }
  if (document.kind === "explanation") {
    const { model, machine, evidence } = document as unknown as ProfileDocument;
    return profileTitle({ model, machine, evidence } as ProfileDocument);
  }
  return "";
}

const mostNamed = 4;

/// A title that somebody gave stands as it is.
export function titleOf(report: Report): string {
  if (report.is_title_given) return report.title;
  const { parts } = report;
  if (parts.some(({ document }) => document.kind === "comparison")) return comparisonTitle(parts);
  const titles = [...new Set(parts.map(partTitle))];
  if (titles.some((title) => title === "") || titles.length === 0) return report.title;
  const more = titles.length > mostNamed ? ` and ${titles.length - mostNamed} more` : "";
  return titles.slice(0, mostNamed).join("; ") + more;
}
