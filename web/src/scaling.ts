// SPDX-License-Identifier: Apache-2.0
// How far training scales: what the document says of each number of devices. It may be a file of a stranger: what is not
// as it should be is a row without an answer.
import { kernelsFrom } from "./expected";
import { setupOf } from "./parallel";
import type { Document, ParallelScaling } from "./schema";
import { whole } from "./units";

export interface Answer {
  time_s: number;
  low_s: number; // nine of ten iterations lie between
  high_s: number;
  samples_per_s: number;
  tokens_per_s: number | null;
  samples: number | null;
  efficiency: number | null;
  mfu: number | null;
  memory_bytes: number | null;
  strategy: string;
  parts: { name: string; time_s: number }[];
  run: { time_s: number; cost: number | null; energy_kwh: number | null } | null;
  currency: string;
  cost_per_million: number | null;
}

/// A number of devices, with the best strategy or with the reason why there is none.
export interface Devices {
  devices: number;
  answer: Answer | null;
  reason: string;
}

export interface Answered extends Devices {
  answer: Answer;
}

export function scalingOf(document: Document): ParallelScaling | null {
  return document.kind === "parallel_scaling" ? (document as ParallelScaling) : null;
}

type Fields = Record<string, unknown>;

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function number(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function positive(value: unknown): number | null {
  const found = number(value);
  return found !== null && found > 0 ? found : null;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function runOf(value: unknown): Answer["run"] {
  const run = fields(value);
  const time_s = positive(run.time_s);
  return time_s === null ? null : { time_s, cost: number(run.cost), energy_kwh: number(run.energy_kwh) };
}

function answerOf(row: Fields): Answer | null {
  const expected = fields(row.expected);
  const interval = Array.isArray(expected.interval_s) ? (expected.interval_s as unknown[]) : [];
  const [time_s, low_s, high_s] = [expected.time_s, interval[0], interval[1]].map(positive);
  const samples_per_s = positive(row.samples_per_s);
  if (!time_s || !low_s || !high_s || !samples_per_s) return null;
  const training = fields(row.training);
  return {
    time_s,
    low_s,
    high_s,
    samples_per_s,
    tokens_per_s: positive(row.tokens_per_s),
    samples: positive(row.samples),
    efficiency: number(row.scaling_efficiency),
    mfu: number(row.mfu),
    memory_bytes: positive(row.memory_bytes),
    strategy: text(row.strategy),
    parts: Object.entries(fields(row.time)).flatMap(([name, value]) => {
      const part_s = positive(value);
      return part_s === null ? [] : [{ name, time_s: part_s }];
    }),
    run: runOf(training.run),
    currency: text(training.currency),
    cost_per_million: number(training.cost_per_million),
  };
}

/// From few devices to many.
export function devicesOf(scaling: ParallelScaling): Devices[] {
  return (scaling.rows as unknown[])
    .map(fields)
    .flatMap((row): Devices[] => {
      const devices = positive(row.devices);
      return devices === null ? [] : [{ devices, answer: answerOf(row), reason: text(row.reason) }];
    })
    .sort((a, b) => a.devices - b.devices);
}

export function answered(all: Devices[]): Answered[] {
  return all.filter((each): each is Answered => each.answer !== null);
}

/// Tokens where the network has sequences.
export function itemsOf(all: Answered[]): "tokens" | "samples" {
  return all.length > 0 && all.every(({ answer }) => answer.tokens_per_s !== null) ? "tokens" : "samples";
}

/// "8 to 64".
export function rangeOf(all: Devices[]): string {
  const [first, last] = [all[0]?.devices ?? 0, all.at(-1)?.devices ?? 0];
  return first === last ? whole(first) : `${whole(first)} to ${whole(last)}`;
}

export function networkOf({ title, network }: ParallelScaling): string {
  return text(title) || text(network) || "the network";
}

/// "NVIDIA H100 SXM5 80 GB".
export function machineOf({ machine_title }: ParallelScaling): string {
  return text(machine_title) || "devices";
}

/// "batch 64 in all", or "batch 4 on each device" where it grows with them.
function batchOf({ batch_per_device }: ParallelScaling, batch: number, all: Devices[]): string {
  const one = answered(all)[0];
  if (batch_per_device !== true) return `batch ${batch} in all`;
  return one?.answer.samples ? `batch ${one.answer.samples / one.devices} on each device` : "";
}

/// "pytorch-eager, kernels measured on h200".
export function calibrationOf({ framework, calibration, calibrated_on }: ParallelScaling): string {
  const from = text(calibrated_on) === "" ? "" : `kernels ${kernelsFrom(calibration)} ${text(calibrated_on)}`;
  return [text(framework), from].filter((each) => each !== "").join(", ");
}

/// "GPT-2 XL, batch 64 in all, seq 1024, bf16, optimizer adam on 8 to 64 NVIDIA H100 …, expected".
export function scalingTitle(scaling: ParallelScaling): string {
  const all = devicesOf(scaling);
  const dims = Object.entries(scaling.dims).map(([name, value]) => (name === "batch" ? batchOf(scaling, value, all) : `${name} ${value}`));
  const head = [networkOf(scaling), ...dims, ...setupOf(scaling)].filter((each) => each !== "").join(", ");
  return `${head} on ${rangeOf(all)} ${machineOf(scaling)}, expected`;
}
