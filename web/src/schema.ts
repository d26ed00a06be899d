// SPDX-License-Identifier: Apache-2.0
// What the program puts into the page: the documents that --json writes (docs/profile-format.md, docs/cli/), and what
// else is known of them. Numbers are in base units: seconds, bytes, FLOP. Everything optional may be absent.

import type {
  ComparisonDocument,
  ExplanationDocument,
  ListDocument,
  MachineChoiceDocument,
  MachineDiffDocument,
  MachineDocument,
  ReproductionDocument,
  StudyFigure,
} from "./schema_documents";
import type { ParallelDocument, ParallelScaling } from "./schema_parallel";
import type { SweepAnswers, SweepDocument } from "./schema_sweep";
import type { TracedProcess } from "./schema_trace";

export * from "./schema_documents";
export * from "./schema_parallel";
export * from "./schema_sweep";
export * from "./schema_trace";

export interface Report {
  schema_version: number;
  kind: "report";
  title: string;
  is_title_given?: boolean; // by a person; else the page says what it is of
  strata_version: string;
  parts: Part[];
}

export interface Part {
  name: string;
  document: Document;
  notes: string[];
  roofline?: RooflineDocument;
  timeline?: Timeline;
  memory?: Memory;
  model?: ModelDocument;
  explanation?: ExplanationDocument;
  answers?: SweepAnswers; // of a sweep, to what was asked
  figures?: StudyFigure[];
}

export type Document =
  | ProfileDocument
  | RooflineDocument
  | ModelDocument
  | ConvDocument
  | SweepDocument
  | ComparisonDocument
  | ExplanationDocument
  | MachineDocument
  | MachineDiffDocument
  | ReproductionDocument
  | ParallelDocument
  | ParallelScaling
  | MachineChoiceDocument
  | ListDocument;

export interface Provenance {
  strata_version?: string;
  command?: string;
}

export interface Warning {
  code?: string;
  message?: string;
}

export interface ModelHead {
  name?: string;
  title?: string;
  batch?: number | null;
  dtype?: string;
  setup?: string; // how it is trained, where the data type does not say it all
  mode?: string;
}

/// A prediction or a measurement: rows of layers and passes.
export interface ProfileDocument {
  kind?: string;
  evidence: "predicted" | "measured";
  model?: ModelHead;
  machine?: MachineHead;
  totals?: Record<string, number | boolean | string | null>;
  idle?: IdleShare[]; // of a recorded step: when no kernel ran, most first
  expected?: ExpectedTime | null; // the times of totals and rows are limits then
  bounds?: Bounds | null;
  no_bounds_reason?: string | null;
  reuse?: ScopeReuse[];
  stalls?: Stall[];
  alternatives?: Alternative[];
  warnings?: Warning[];
  layers: ProfileRow[];
  kernels?: KernelSpan[]; // of one measured iteration, where they were traced
  counters?: { source: string; columns: CounterHead[] }; // what a device counted; values are in the rows
  counted_kernels?: CountedKernel[];
  processes?: TracedProcess[]; // of a recording
  provenance?: Provenance;
}

export interface IdleShare {
  cause: string; // host, launch, sync, …
  time_s: number;
}

/// What an iteration is expected to take in a framework, nine of ten inside the interval.
export interface ExpectedTime {
  framework: string;
  time_s: number;
  interval_s: [number, number];
  samples_per_s: number;
  busy_s: number;
  host_s: number;
  arithmetic_s: number;
  lost_to: { to: string; time_s: number }[];
  calibration: string;
  calibrated_on: string;
  evidence?: { text: string; runs: number };
  host?: { calibration: string; title: string; slower: number }; // that dispatches
  memory_bytes: number;
  fits: boolean | null;
  largest_batch?: number | null;
  memory_changes?: { change: string; memory_bytes: number; fits: boolean }[];
}

export interface CounterHead {
  key: string;
  unit: string;
  about: string;
}

/// A kernel inside a row that was counted on its own.
export interface CountedKernel {
  name: string;
  layer: string;
  pass: string;
  counters: Record<string, number | null>;
}

export interface KernelSpan {
  name: string;
  layer: string;
  pass: string;
  begin_s: number;
  time_s: number;
  blocks?: number; // as it was launched, where that was recorded; what follows, too
  threads_per_block?: number;
  registers_per_thread?: number;
  shared_bytes_per_block?: number;
  possible_occupancy?: number;
  limited_by?: string;
}

export interface MachineHead {
  name?: string;
  title?: string;
  kind?: string; // gpu, cpu
  capacity_bytes?: number;
  bandwidth_bytes_per_s?: number;
  dense_flop_per_s?: number;
  memory_bytes?: number | null;
}

export interface Bounds {
  traffic_physical_bytes: number;
  traffic_model_bytes: number;
  time_s: number;
  time_from: string;
}

export interface ScopeReuse {
  scope: string;
  offered_bytes: number;
  captured_bytes: number;
  capacity_50_bytes: number;
  capacity_90_bytes: number;
  capacity_100_bytes: number;
}

export interface Stall {
  value: string;
  kind: string;
  wait_s: number;
  steps: number;
}

export interface Alternative {
  change: string;
  time_ratio: number | null;
  samples_per_s_ratio: number | null;
}

export interface ProfileRow {
  layer: string;
  pass: string;
  op?: string;
  block?: string;
  class?: string;
  cause?: string | null;
  [key: string]: unknown;
}

export interface RooflineDocument {
  kind: "roofline";
  machine: { name: string; title: string };
  roof: string;
  peaks: { name: string; flop_per_s: number }[];
  memory: { name: string; bytes_per_s: number }[];
  launch_latency_s: number | null;
  by: string;
  is_trajectory: boolean;
  notes: string[];
  profiles: RooflineSeries[];
  provenance?: Provenance;
}

export interface RooflineSeries {
  label: string;
  network: string;
  dtype: string;
  evidence: string;
  total: RooflineRow;
  rows: RooflineRow[];
}

export interface RooflineRow {
  name: string;
  flop: number;
  bytes: number;
  launches: number | null;
  time_s: number | null;
  flop_per_byte: number | null;
  peak_flop_per_s: number;
  balance_flop_per_byte: number;
  memory_level: string;
  complexity_bound: string;
  bound: string | null;
  roof_time_s?: number; // older documents do not say it
  overhead_s: number;
  compute_time_s: number | null;
  bandwidth_time_s: number | null;
  flop_per_s: number | null;
  attainable_flop_per_s: number;
  distance_from_roof: number | null;
  counted_flop?: number | null; // what the device counted is judged, where it did; flop and bytes are the definition's
  counted_bytes?: number | null;
  is_counted_flop_upper_bound?: boolean;
  definition_flop_per_byte?: number | null;
  algorithm?: string | null; // what the counted arithmetic says of it
}

/// Of a predicted iteration: what happens when. Names are numbers of `names`.
export interface Timeline {
  end_s: number;
  is_aggregated: boolean;
  slices: number;
  names: string[];
  compute: Track & { layer: number[]; pass: number[] };
  stalls: ValueTrack;
  in: ValueTrack;
  out: ValueTrack;
  on_chip: { at_s: number[]; bytes: number[] };
}

export interface Track {
  start_s: number[];
  end_s: number[];
  busy_s: number[];
  bytes: number[];
  count: number[];
}

export type ValueTrack = Track & { value: number[]; layer: number[] };

/// Of a predicted iteration: what lives in the memory outside the chip.
export interface Memory {
  end_s: number;
  at_s: number[];
  groups: { name: string; bytes: number[] }[];
  peak: {
    step: string;
    at_s: number;
    bytes: number;
    values: number;
    largest: { value: string; group: string; bytes: number; from: string; to: string }[];
  } | null;
}

export interface ModelDocument {
  kind: "model";
  model: ModelHead;
  totals: Record<string, number>;
  warnings?: Warning[];
  layers: ModelLayer[];
  provenance?: Provenance;
}

export interface ModelLayer {
  name: string;
  op: string;
  block: string;
  inputs: string[];
  output_shape: number[];
  dtype: string;
  [key: string]: unknown;
}

export interface ConvDocument {
  kind: "convolutions";
  device: string;
  dtype: string;
  passes: string[];
  strategies: { name: string; is_vendor: boolean }[];
  series: ConvSeries[];
  cells: ConvCell[];
  advice: ConvAdvice[];
  warnings?: Warning[]; // older documents have none
  provenance?: Provenance;
}

export interface ConvSeries {
  name: string;
  is_sweep: boolean;
  points: { label: string; at?: number; shape: Record<string, unknown>; refusal?: string }[];
}

export interface ConvCell {
  shape: Record<string, unknown>;
  pass: string;
  strategy: string;
  status: string;
  reason?: string;
  scratch_bytes: number;
  peak_bytes: number;
  time_s?: number;
  spread?: number; // half the width of the middle four fifths of the samples, over the time
  others_share?: number;
  flop_per_s?: number;
  direct_flop_per_s?: number;
  roles?: { role: string; time_s: number; share?: number }[];
}

export interface ConvAdvice {
  series: string;
  pass: string;
  scratch_budget_bytes?: number;
  recommendation: string;
  fastest?: { label: string; is_clear?: boolean }[];
}

export function isProfile(document: Document): document is ProfileDocument {
  return "layers" in document && document.kind !== "model";
}

export function isMachine(document: Document): document is MachineDocument {
  return "strata_machine" in document;
}
