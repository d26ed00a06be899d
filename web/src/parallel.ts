// SPDX-License-Identifier: Apache-2.0
// Training on many devices: what the documents say, and the colours of the parts of its time, the same in every view.
import { color } from "./palette";
import type { Document, ParallelChoice, ParallelDocument, ParallelHead, ParallelResult, RankTime, RankTimeline } from "./schema";
import type { Lane, Scene } from "./slices";
import { format, labelOf, whole } from "./units";

export function isParallel(document: Document): document is ParallelDocument {
  return document.kind === "parallel_prediction" || document.kind === "parallel_choice";
}

export function choiceOf(document: Document): ParallelChoice | null {
  return document.kind === "parallel_choice" ? (document as ParallelChoice) : null;
}

/// The strategy in full; nothing where none fits, or where a file of a stranger does not hold it.
export function resultOf(document: Document): (ParallelHead & ParallelResult) | null {
  if (!isParallel(document)) return null;
  const { expected, stages, strategy, time, memory } = document;
  const isWhole = Array.isArray(expected?.interval_s) && strategy && time && memory && Array.isArray(stages);
  return isWhole && stages.every((stage) => stage?.memory && stage.time) ? (document as ParallelHead & ParallelResult) : null;
}

export interface TimePart {
  key: string;
  name: string;
  time_s: number;
}

/// What the time goes to, in the order of the document.
export function partsOf(result: ParallelResult, time: RankTime = result.time): TimePart[] {
  return Object.entries(time).map(([key, time_s]) => ({ key, name: result.time_names?.[key] ?? labelOf(key), time_s }));
}

const known = new Map([
  ["compute", 5],
  ["forward", 5],
  ["backward", 3],
  ["weight gradients", 11],
  ["recomputation", 1],
  ["update", 7],
  ["tensor parallel collectives", 2],
  ["context parallel exchanges", 10],
  ["all-to-all of experts", 14],
  ["gradients", 0],
  ["gathering weights", 4],
  ["sending", 13],
  ["host", 12],
]);
const free = [8, 9, 15, 6];
const given = new Map<string, number>();

/// A CSS variable. Bubbles are empty; what no list knows gets what is free.
export function partVariable(name: string): string {
  if (name === "bubble") return "--bubble";
  let index = known.get(name) ?? given.get(name);
  if (index === undefined) given.set(name, (index = free[given.size % free.length] as number));
  return `--c${index}`;
}

export function partColor(name: string): string {
  return partVariable(name) === "--bubble" ? "var(--bubble)" : color(Number(partVariable(name).slice(3)));
}

/// "64 NVIDIA H100 SXM5 80 GB (8 x 8)".
export function clusterTitle({ cluster }: ParallelHead): string {
  const { devices = 0, machine_title = "devices", nodes = 0, devices_per_node = 0 } = cluster;
  return `${whole(devices)} ${machine_title}${devices > 1 ? ` (${nodes} x ${devices_per_node})` : ""}`;
}

/// How it is trained: "bf16 autocast, optimizer adam", and the framework where it is not the usual one of GPUs.
export function setupOf({ precision, dtype, optimizer, framework }: Partial<Record<"precision" | "dtype" | "optimizer" | "framework", unknown>>): string[] {
  return [precision ?? dtype, typeof optimizer === "string" && optimizer !== "" ? `optimizer ${optimizer}` : "", framework === "pytorch-eager" ? "" : framework].filter(
    (each): each is string => typeof each === "string" && each !== "",
  );
}

/// "Llama 3 70B, batch 64, seq 4096, bf16, optimizer adam on 64 …, dp=8,tp=8, expected".
export function parallelTitle(document: ParallelDocument): string {
  const dims = Object.entries(document.dims).map(([name, value]) => `${name} ${value}`);
  const head = [document.title || document.network, ...dims, ...setupOf(document)].join(", ");
  const result = resultOf(document);
  const choice = choiceOf(document);
  const best = choice ? (result ? `the fastest of ${whole(choice.strategies.length)} strategies` : "no strategy fits") : "";
  return [`${head} on ${clusterTitle(document)}`, result?.strategy.text ?? "", best, result ? "expected" : ""]
    .filter((each) => each !== "")
    .join(", ");
}

const kernels = new Set(["forward", "backward", "weight gradients", "compute", "recomputation", "update"]);

function laneOf(timeline: RankTimeline, at: number, isOnlyStage: boolean): Lane {
  const lane = timeline.lanes[at] as RankTimeline["lanes"][number];
  const length = lane.start_s.length;
  const key = (i: number) => timeline.keys[lane.key[i] ?? -1] ?? "";
  const title = lane.stream === "beside" ? "network" : isOnlyStage ? "each rank" : `stage ${lane.stage}`;
  return {
    title,
    kind: "parts",
    start: lane.start_s,
    end: lane.end_s,
    busy: lane.busy_s ?? lane.end_s.map((end, i) => end - (lane.start_s[i] ?? 0)),
    bytes: new Float64Array(length),
    count: lane.count ?? new Float64Array(length).fill(1),
    layer: () => "",
    pass: () => "",
    what: (i) => timeline.names[lane.name[i] ?? -1] ?? "",
    key,
    isWait: (i) => lane.stream === "rank" && !kernels.has(key(i)),
  };
}

/// The parts that lanes show, once each.
export function partsOfLanes(lanes: Lane[]): Set<string> {
  const parts = new Set<string>();
  for (const lane of lanes) for (let i = 0; lane.key && i < lane.start.length; i++) parts.add(lane.key(i));
  return parts;
}

/// Of each stage what its kernels do and wait for, and the communication beside them.
export function sceneOfRanks(result: ParallelHead & ParallelResult): Scene | null {
  const { timeline } = result;
  const lanes = timeline?.lanes ?? [];
  if (!timeline || lanes.length === 0 || !lanes.every((lane) => lane.start_s && lane.end_s && lane.key && lane.name)) return null;
  const isOnly = result.stages.length === 1;
  const notes = [
    "ranks of a stage do the same, so that one of them is drawn: what its kernels do and wait for, and on the network what goes on beside them",
    isOnly ? "" : "grey is the bubble; what a stage does of one micro-batch, collectives and waits for the host too, is drawn in one piece each",
    timeline.is_aggregated ? `${whole(timeline.events)} events, neighbours taken together: how much of a span each takes is true, not their order in it` : "",
    timeline.stages_left_out > 0 ? `${whole(timeline.stages_left_out)} stages between these are not drawn` : "",
  ];
  return {
    title: `expected, ${format(timeline.end_s, "s")}, as simulated`,
    end: timeline.end_s,
    lanes: lanes.map((_, at) => laneOf(timeline, at, isOnly)),
    onChip: null,
    note: notes.filter((each) => each !== "").join("; "),
  };
}
