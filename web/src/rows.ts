// SPDX-License-Identifier: Apache-2.0
// Rows of layers with numbers, wherever they come from: a profile has one per layer and pass, a network one per layer.
// Every number of a row is a metric; some follow from others.
import {
  isProfile,
  type ModelDocument,
  type Part,
  type ProfileDocument,
  type ProfileRow,
  type RooflineDocument,
  type RooflineRow,
} from "./schema";
import { labelOf, unitOf, type Unit } from "./units";

export interface Row {
  index: number;
  layer: string;
  pass: string;
  op: string;
  block: string;
  class: string;
  bound: string;
  cause: string;
  numbers: Record<string, number>;
}

export interface Metric {
  key: string;
  label: string;
  unit: Unit;
  /// Sums mean something: seconds and bytes do, a rate is made of the sums of two others.
  over?: [string, string];
}

export type GroupKey = "layer" | "pass" | "op" | "block" | "class" | "bound";
export const groupLabels: Record<GroupKey, string> = {
  layer: "layer",
  pass: "pass",
  op: "type",
  block: "block",
  class: "class",
  bound: "bound",
};

export interface RowSet {
  rows: Row[];
  metrics: Metric[];
  main: Metric; // what the rows are compared by: time, or FLOP where there is none
  groups: GroupKey[]; // by which rows can be taken together
  hasPasses: boolean;
}

export interface Group {
  name: string;
  rows: Row[];
  numbers: Record<string, number>;
  kind?: string; // by which it is coloured, where that is not its name
}

function numbersIn(row: Record<string, unknown>): Record<string, number> {
  const numbers: Record<string, number> = {};
  for (const [key, value] of Object.entries(row)) if (typeof value === "number") numbers[key] = value;
  return numbers;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Older documents name the classes as the thesis does. */
const olderClassNames: Record<string, string> = { "type I": "dense", "type II": "pointwise" };

function className(name: string): string {
  return olderClassNames[name] ?? name;
}

const ratios: Metric[] = [
  { key: "flop_per_byte", label: "FLOP per byte", unit: "flop/byte", over: ["flop", "traffic_bytes"] },
  { key: "flop_per_s", label: "FLOP/s", unit: "flop/s", over: ["flop", "time_s"] },
  { key: "bytes_per_s", label: "bytes/s", unit: "bytes/s", over: ["traffic_bytes", "time_s"] },
];

/// A ratio where both parts are there; else the sum that the key names.
export function valueOf(numbers: Record<string, number>, metric: Metric): number | null {
  if (!metric.over) return numbers[metric.key] ?? null;
  const above = numbers[metric.over[0]];
  const below = numbers[metric.over[1]];
  return above === undefined || below === undefined || below === 0 ? null : above / below;
}

function rowSet(rows: Row[], isPredicted = false): RowSet {
  const keys = new Set<string>();
  for (const { numbers } of rows) for (const key in numbers) keys.add(key);
  const metrics: Metric[] = [...keys].map((key) => ({ key, label: labelOf(key), unit: unitOf(key) }));
  for (const ratio of ratios) {
    // The bytes of a predicted row move while other rows run: over its own time they are no rate.
    if (isPredicted && ratio.key === "bytes_per_s") continue;
    if (ratio.over?.every((key) => keys.has(key)) && !keys.has(ratio.key)) metrics.push(ratio);
  }
  const named = (key: string) => metrics.find((metric) => metric.key === key);
  const main = named("expected_s") ??
    named("time_s") ??
    named("flop") ??
    metrics[0] ?? { key: "rows", label: "rows", unit: "count" };
  const varies = (key: GroupKey) => rows.some((row) => row[key] !== "" && row[key] !== rows[0]?.[key]);
  const groups = (["op", "block", "pass", "class", "bound", "layer"] as GroupKey[]).filter(varies);
  return { rows, metrics, main, groups, hasPasses: rows.some((row) => row.pass !== "") };
}

/// Of a recording: a step on the device, as `strata trace` says it, of the process whose rows the document has. Kernels
/// that run at once add up to more, gaps between them to less.
function deviceStepOf(document: ProfileDocument): number | null {
  const processes = document.kind === "trace" ? (document.processes ?? []) : [];
  const [longest] = [...processes].sort((a, b) => b.kernel_time_s - a.kernel_time_s);
  if (!longest) return null;
  if (longest.steps.count > 0) return longest.steps.median_s;
  const span = longest.devices.reduce((most, device) => Math.max(most, device.span_s), 0);
  return span > 0 ? span : null;
}

/// The time of one iteration, of which every share is taken: what the document says, else its rows added up.
export function iterationOf(document: ProfileDocument): number {
  const said = document.totals?.time_s;
  if (typeof said === "number") return said;
  const step = deviceStepOf(document);
  if (step !== null) return step;
  const wall = (row: ProfileRow) => Math.max(Number(row.time_s ?? 0), Number(row.wall_time_s ?? 0));
  return document.layers.reduce((sum, row) => sum + wall(row), 0);
}

/// The time of one iteration as somebody waits for it: expected where the document says it.
export function waitOf(document: ProfileDocument): number {
  return document.expected?.time_s ?? iterationOf(document);
}

/// As the program names the rows of a roofline.
function roofName(row: ProfileRow): string {
  return `${row.layer} ${row.pass}${row.op === "gradient_sum" ? " sum" : ""}`;
}

/// The time at its roof that the row itself says; under the roofs of another machine, of documents that do not say it,
/// and by what a device counted, which older documents do not regard, what the roofline says of it.
function roofTime(row: ProfileRow, roof: RooflineRow | undefined, isOwnMachine: boolean): number | undefined {
  const isCounted = typeof roof?.counted_bytes === "number";
  if (!isCounted && isOwnMachine && typeof row.roof_time_s === "number") return row.roof_time_s;
  return roof?.roof_time_s;
}

function profileRows(document: ProfileDocument, roofline: RooflineDocument | undefined): RowSet {
  const total = iterationOf(document);
  const roofs = new Map((roofline?.profiles[0]?.rows ?? []).map((roof) => [roof.name, roof]));
  const isOwnMachine = !roofline || !document.machine?.name || document.machine.name === roofline.machine.name;
  const rows = document.layers.map((row, index): Row => {
    const numbers = numbersIn(row);
    if (numbers.traffic_in_bytes !== undefined && numbers.traffic_out_bytes !== undefined)
      numbers.traffic_bytes = numbers.traffic_in_bytes + numbers.traffic_out_bytes;
    if (numbers.time_s !== undefined && total > 0) numbers.time_share = numbers.time_s / total;
    const busy = (row.expected as { busy_s?: number } | undefined)?.busy_s;
    if (document.expected && busy !== undefined) {
      numbers.expected_s = busy;
      numbers.expected_share = busy / document.expected.time_s;
    }
    const roof = roofs.get(roofName(row));
    const roofSeconds = roofTime(row, roof, isOwnMachine);
    delete numbers.roof_time_s;
    if (roofSeconds !== undefined && roofSeconds > 0) numbers.roof_time_s = roofSeconds;
    return {
      index,
      layer: row.layer,
      pass: text(row.pass),
      op: text(row.op),
      block: text(row.block),
      class: className(text(row.class)),
      bound: roof?.bound ?? "",
      cause: text(row.cause),
      numbers,
    };
  });
  const set = rowSet(rows, document.evidence === "predicted");
  if (document.expected) {
    const labels: Record<string, string> = { time_s: "limit", time_share: "share of the limit" };
    for (const metric of set.metrics) metric.label = labels[metric.key] ?? metric.label;
  }
  // A predicted row takes the time of its arithmetic or of the bytes that move meanwhile: how far it is from that is no
  // property of a kernel.
  if (document.evidence !== "predicted" && rows.some((row) => row.numbers.roof_time_s !== undefined))
    set.metrics.push({
      key: "distance",
      label: "× from the roof",
      unit: "ratio",
      over: ["time_s", "roof_time_s"],
    });
  return set;
}

function modelRows(document: ModelDocument): RowSet {
  const rows = document.layers.map((layer, index): Row => {
    const numbers = numbersIn(layer);
    const flop = (numbers.forward_flop ?? 0) + (numbers.backward_flop ?? 0);
    return {
      index,
      layer: layer.name,
      pass: "",
      op: layer.op,
      block: layer.block || layer.name,
      class: "",
      bound: "",
      cause: "",
      numbers: { flop, ...numbers },
    };
  });
  return rowSet(rows);
}

/// The rows of a part; nothing when it has none (a sweep, convolutions, a roofline alone).
export function rowsOf(part: Part): RowSet | null {
  const { document } = part;
  if (isProfile(document)) return profileRows(document, part.roofline);
  return document.kind === "model" ? modelRows(document) : null;
}

export function total(rows: Row[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const { numbers } of rows)
    for (const key in numbers) sum[key] = (sum[key] ?? 0) + (numbers[key] as number);
  return sum;
}

/// In the order in which they first appear.
export function grouped(rows: Row[], key: GroupKey): Group[] {
  const groups = new Map<string, Group>();
  for (const row of rows) {
    let group = groups.get(row[key]);
    if (!group) groups.set(row[key], (group = { name: row[key], rows: [], numbers: {} }));
    group.rows.push(row);
  }
  for (const group of groups.values()) group.numbers = total(group.rows);
  return [...groups.values()];
}
