// SPDX-License-Identifier: Apache-2.0
// Training on many devices: what --json of predict --parallel and of predict --devices writes.
import type { Provenance } from "./schema";

/// What any strategy of a network on a cluster has in common.
export interface ParallelHead {
  network: string;
  title: string;
  cluster: {
    name: string;
    devices: number;
    devices_per_node: number;
    nodes: number;
    machine_title: string;
    assumptions: string[];
  };
  dims: Record<string, number>;
  dtype: string;
  precision?: string; // "bf16 autocast"
  optimizer: string;
  master_weights: boolean;
  framework: string;
  calibration: string;
  calibrated_on: string;
  samples: number;
  tokens: number | null;
  device_memory_bytes: number | null;
  provenance?: Provenance;
}

/// By part of the time: "compute_s", "bubble_s", …; the parts add up to the iteration.
export type RankTime = Record<string, number>;

export interface RankMemory {
  parameters_bytes: number;
  gradients_bytes: number;
  states_bytes: number;
  activations_bytes: number;
  buffers_bytes: number;
  total_bytes: number;
}

export interface Stage {
  stage: number;
  layers: string;
  time: RankTime;
  memory: RankMemory;
  sent: Record<string, number>;
}

export interface RankLane {
  stage: number;
  stream: "rank" | "beside"; // what kernels do and wait for, without a hole; communication beside them
  start_s: number[];
  end_s: number[];
  name: number[]; // of names
  key: number[]; // of keys
  busy_s?: number[]; // where neighbours are taken together; else all of the span
  count?: number[];
}

export interface RankTimeline {
  end_s: number;
  events: number;
  slices: number;
  is_aggregated: boolean;
  stages_left_out: number;
  names: string[];
  keys: string[];
  lanes: RankLane[];
}

/// One strategy in full.
export interface ParallelResult {
  strategy: { text: string; data: number; tensor: number; pipeline: number; micro_batches: number };
  micro_batch: number;
  expected: { time_s: number; interval_s: [number, number] };
  limit_s: number;
  samples_per_s: number;
  tokens_per_s: number | null;
  mfu: number | null;
  fits: boolean;
  training?: TrainingCost; // older documents do not say it
  memory: RankMemory;
  time: RankTime; // the mean over stages
  time_names?: Record<string, string>; // older documents do not say it
  stages: Stage[];
  timeline?: RankTimeline | null;
}

export interface TriedStrategy {
  strategy: string;
  fits: boolean;
  memory_bytes: number;
  why_it_loses?: string;
  time_s?: number; // of those that fit
  time?: RankTime;
}

export type ParallelPrediction = ParallelHead & ParallelResult & { kind: "parallel_prediction" };
/// Without a result where nothing fits.
export type ParallelChoice = ParallelHead &
  Partial<ParallelResult> & {
    kind: "parallel_choice";
    strategies: TriedStrategy[];
    pareto: number[];
    refused: string[];
  };
export type ParallelDocument = ParallelPrediction | ParallelChoice;

/// What the device hours of an iteration cost, and a whole run where its length was said.
export interface TrainingCost {
  price_per_device_hour: number | null;
  currency: string | null;
  cost_per_million: number | null;
  per_million: "tokens" | "samples";
  run: (TrainingRun & { tokens: number | null; samples: number | null }) | null;
}

/// A whole training run, from the pace of one iteration.
export interface TrainingRun {
  iterations: number;
  time_s: number;
  interval_s: [number, number];
  device_hours: number;
  cost: number | null;
  energy_kwh: number | null; // at the boards' power limit, of the devices alone
}

/// The best strategy for a number of devices; the reason says why there is none.
export interface ScalingRow {
  devices: number;
  strategies: number; // that were tried
  strategies_that_fit: number;
  reason: string | null;
  nodes?: number;
  samples?: number;
  strategy?: string;
  expected?: { time_s: number; interval_s: [number, number] };
  samples_per_s?: number;
  tokens_per_s?: number | null;
  scaling_efficiency?: number | null; // samples per second and device, of those of the first row with an answer
  mfu?: number | null;
  memory_bytes?: number; // of the fullest rank
  time?: RankTime; // the mean over stages, by names for people
  training?: { currency: string | null; cost_per_million: number | null; per_million: "tokens" | "samples"; run: TrainingRun | null };
}

export interface ParallelScaling {
  kind: "parallel_scaling";
  network: string;
  title: string;
  machine_title: string;
  devices_per_node: number;
  batch_per_device: boolean; // the batch grows with the devices; else it stays
  dims: Record<string, number>;
  dtype: string;
  precision?: string; // "bf16 autocast"
  optimizer?: string; // older documents do not say it
  framework: string;
  calibration: string;
  calibrated_on: string;
  assumptions: string[];
  rows: ScalingRow[];
  provenance?: Provenance;
}
