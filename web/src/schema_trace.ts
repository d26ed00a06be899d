// SPDX-License-Identifier: Apache-2.0
// What `strata trace --json` and `strata capture --json` write of each process (docs/cli/trace.md).
import type { ExplainedFinding } from "./schema_documents";

export interface CallTimes {
  calls: number;
  time_s: number;
  mean_s: number;
  min_s: number;
  max_s: number;
}

export interface TracedProcess {
  file: string;
  source_format: string;
  pid: number;
  rank: number | null;
  host: string;
  command: string;
  ending: string;
  span_s: number;
  launches: number;
  kernel_time_s: number;
  lost_records: number;
  steps: { count: number; how: string; min_s: number; median_s: number; max_s: number };
  devices: TracedDevice[];
  kernels: TracedKernel[];
  classes: (CallTimes & { class: string; algorithm: string })[];
  ranges: (CallTimes & { layer: string; pass: string; class: string })[];
  calls: (CallTimes & { name: string; kind: string })[];
  copies: TracedCopies[];
  memory: TracedMemory[];
  network: TracedNetwork | null;
  findings: ExplainedFinding[];
  notes: string[];
  /// Counters that nvprof added up over the launches of a kernel.
  metrics?: {
    kernel: string;
    metric: string;
    unit: string;
    launches: number;
    mean: number;
    min: number;
    max: number;
  }[];
}

export interface TracedDevice {
  device: number | null;
  name: string;
  kernels: number;
  span_s: number;
  kernel_busy_s: number;
  concurrent_s: number;
  most_at_once: number;
  copy_busy_s: number;
  copy_exposed_s: number;
  collective_busy_s: number;
  collective_exposed_s: number;
  gaps: number;
  longest_gap_s: number;
  idle_s: Record<string, number>; // by cause
}

export interface TracedKernel extends CallTimes {
  name: string;
  class: string;
  algorithm: string;
  pass: string;
  grid: [number, number, number];
  block: [number, number, number];
  registers: number | null;
  static_shared_bytes: number | null;
  dynamic_shared_bytes: number | null;
  occupancy: number | null;
  occupancy_limit: string;
}

export interface TracedCopies extends CallTimes {
  kind: string;
  source: string;
  destination: string;
  bytes: number;
  bytes_per_s: number;
  link_bytes_per_s: number | null;
  under_kernels_s: number;
  small_calls: number;
}

export interface TracedMemory {
  device: number | null;
  is_framework: boolean;
  peak_bytes: number;
  allocations: number;
  frees: number;
  allocated_bytes: number;
}

export interface TracedNetwork {
  title: string;
  kernels: number;
  kernels_matched: number;
  time_s: number;
  time_matched_s: number;
  layers: number;
  layers_without_kernel: string[];
  unmatched: { layer: string; pass: string; kernels: number; time_s: number }[];
}
