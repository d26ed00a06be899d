// SPDX-License-Identifier: Apache-2.0
// The points of a sweep, and the answers to what was asked of them (--pareto, --knee, --best-under, --sensitivity).
import type { Provenance } from "./schema";

export interface SweepDocument {
  kind: "sweep";
  identity: string;
  points: number;
  columns: SweepColumn[];
  provenance?: Provenance;
}

export interface SweepColumn {
  name: string;
  is_number: boolean;
  is_axis: boolean;
  label?: string; // how the page calls it, where that is not what the name says
  cells: (number | string | null)[]; // unpacked when first asked for, where the sweep is long
  values?: (number | string | null)[]; // each once
  index?: string; // base64 of two bytes for each point: its place in values; without it all points have the first
  numbers?: string; // base64 of eight bytes for each point
}

export type SweepPoint = Record<string, number | string | null>;

export interface SweepAnswers {
  kind: "sweep_answers";
  pareto: {
    goals: { column: string; better: "more" | "less"; per_sample: boolean }[];
    fronts: { model: string | null; considered: number; out_of_memory: number; points: SweepPoint[] }[];
  } | null;
  knees: {
    column: string;
    least_gain: number;
    knees: { at: SweepPoint; value: number | null; gain_of_doubling: number | null; largest_judged: number | null }[];
  }[];
  best_under: {
    constraint: string;
    networks: { model: string | null; points: number; satisfying: number; best: SweepPoint | null; nearest: SweepPoint | null }[];
  } | null;
  networks: {
    model: string;
    sensitivity: {
      of: string;
      time_s: number;
      resources: { resource: string; from: number; to: number; time_s: number | null; gained: number | null; error: string | null }[];
    } | null;
  }[];
}
