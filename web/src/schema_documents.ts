// SPDX-License-Identifier: Apache-2.0
// Documents that are no profiles: what --json of explain, compare, machine, reproduce, list and doctor writes.
import type { MachineHead, ModelHead, Provenance, ScopeReuse } from "./schema";

export interface ExplanationDocument {
  kind: "explanation";
  evidence: string;
  model: ModelHead;
  machine: MachineHead;
  strategy?: string; // of many devices
  time_s: number; // expected where it is known
  time_from?: string; // step, recording, …
  expected?: { framework: string; interval_s: [number, number]; samples_per_s: number } | null;
  limit_time_s?: number | null;
  memory?: { changes: { change: string; memory_bytes: number; fits: boolean }[] } | null; // of predictions
  findings: ExplainedFinding[];
  what_ifs: WhatIf[];
  reuse: (ScopeReuse & { text: string })[];
  notes: string[];
  provenance?: Provenance;
}

export interface ExplainedFinding {
  code: string;
  is_expected?: boolean; // else of the limit, or measured
  title: string;
  page: string;
  subject: string;
  what: string;
  evidence: { what: string; value: number; measure: string }[];
  cost_s: number;
  cost_share: number;
  is_of_recording?: boolean; // cost and share are of all of it, not of a step
  is_cost_on_top: boolean;
  gain_s: number;
  advice: string;
  what_ifs: WhatIf[];
}

export interface WhatIf {
  change: string;
  by?: "user" | "machine" | "chip" | "supposed"; // who can make it; older documents do not say
  is_expected?: boolean;
  basis: string;
  base_time_s: number;
  time_s: number | null;
  gain_s: number | null;
  gain_share: number | null;
  no_time_reason: string | null;
  memory_bytes?: number; // of the fullest of many devices
}

export interface ComparisonDocument {
  kind: "comparison";
  a: ComparedLabel;
  b: ComparedLabel;
  totals: { a: ComparedTotal; b: ComparedTotal; ratio: number | null; difference_s: number };
  idle?: { cause: string; a_s: number; b_s: number }[]; // of two recordings
  threshold: number | null;
  beyond_threshold: boolean | null;
  rows: {
    layer: string;
    pass: string;
    op: string;
    block: string;
    a: ComparedSide | null;
    b: ComparedSide | null;
  }[];
  provenance?: Provenance;
}

export interface ComparedLabel {
  file: string;
  evidence: string;
  times?: string; // measured, expected, limit; older documents do not say it
  limit_time_s?: number | null;
  network: string;
  title: string;
  dtype: string;
  setup?: string;
  machine: string;
  machine_title: string;
}

export interface ComparedSide {
  time_s: number;
  flop: number;
  traffic_bytes: number;
  launches: number;
}

export interface ComparedTotal extends ComparedSide {
  time_from?: string;
  overlap_time_s?: number; // kernels that ran at the same time
  gap_time_s?: number; // between kernels
}

/// A number of a machine file, with where it comes from.
export interface Sourced {
  value: number;
  source?: string;
}

export interface MachineDocument {
  strata_machine: number;
  kind: "gpu" | "cpu" | "accelerator";
  name: string;
  title: string;
  peaks: { dtype: string; unit: string; flop_per_s: number; source?: string }[];
  memory: MachineLevel[];
  curves?: { mix: string; points: [number, number][] }[]; // bytes, bytes per second
  measured?: { host?: string; date?: string };
  provenance?: Provenance;
}

export interface MachineLevel {
  name: string;
  on_chip?: boolean;
  capacity_bytes?: number | Sourced;
  bandwidth_bytes_per_s?: number | Sourced;
}

export interface MachineDiffDocument {
  kind: "machine_diff";
  first: string;
  second: string;
  numbers: { path: string; first: number | null; second: number | null; ratio: number | null }[];
  provenance?: Provenance;
}

export interface ReproductionDocument {
  kind: "reproduction";
  studies: ReproducedStudy[];
  findings: StudyFinding[];
  provenance?: Provenance;
}

/// Of rows of a study; claims are their different sentences.
export interface ClaimCounts {
  claims?: number;
  statements?: number;
  held?: number;
  not_held?: number;
  not_judged?: number;
}

export interface ReproducedStudy extends ClaimCounts {
  name: string;
  title?: string;
  published?: string; // when, and about what
  basis?: string; // what stands beside it: predicted for, measured on
  place?: string;
  rule?: string;
  measured_on?: string;
  measured_held?: number;
  measured_not_held?: number;
  measured_not_judged?: number;
  by_neither?: number; // statements that neither side can judge
  apart?: (ClaimCounts & { why: string })[]; // rows in no count above, by why they stand apart
  reason?: string; // why there is no result
}

export type Verdict = "holds" | "does_not_hold" | "not_judged" | "not_printed";

export interface StudyFinding {
  study: string;
  observation: string;
  network: string;
  sentence?: string; // what the study says, in other words, and where; empty: nothing
  apart?: string; // why the row is in no count of the study; empty: it is counted
  what: string;
  printed: string;
  found: string;
  is_printed: boolean;
  holds: boolean;
  rule?: string; // of this row; else the study's
  reason?: string;
  note: string; // both
  /// On a device of today, where it was measured, too; null: nothing is claimed of it.
  measured?: { found: string; holds: boolean | null };
}

export interface StudyFigure {
  study: string;
  name: string;
  title: string;
  csv: string;
  svg: string;
}

/// One network on several machines, the fastest first.
export interface MachineChoiceDocument {
  kind: "machine_choice";
  model?: ModelHead; // older documents do not say it, nor what is fastest
  framework?: string | null; // null: limits only
  samples?: number; // of an iteration
  fastest?: string | null;
  cheapest?: string | null;
  machines: ChosenMachine[];
  provenance?: Provenance;
}

export interface ChosenMachine {
  machine: string;
  refusal?: string; // why it has no answer; then nothing follows
  title?: string;
  limit_s?: number;
  expected?: { time_s: number; interval_s: [number, number]; calibration: string };
  samples_per_s?: number;
  memory_bytes?: number;
  fits?: boolean;
  price_per_hour?: number | null;
  currency?: string | null;
  cost_per_million_samples?: number | null;
  power_w?: number | null;
  kwh_per_million_samples?: number | null;
}

/// Lists that need no view of their own: what ships, what the computer can do.
export interface ListDocument {
  kind: "catalogue" | "machines" | "readiness" | "trained_networks";
  provenance?: Provenance;
}
