// SPDX-License-Identifier: Apache-2.0
// Training on many devices: what --json of predict --parallel writes.
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
