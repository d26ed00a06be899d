// SPDX-License-Identifier: Apache-2.0
// What lies on the rows of a timeline, from a predicted iteration or from the rows of a profile one after the other.
import { resultOf, sceneOfRanks } from "./parallel";
import type { Row, RowSet } from "./rows";
import { isProfile, type KernelSpan, type Part, type Timeline, type Track, type ValueTrack } from "./schema";
import { format, whole } from "./units";

export interface Lane {
  title: string;
  kind: "rows" | "waits" | "in" | "out" | "phases" | "parts"; // what its colours mean
  start: ArrayLike<number>;
  end: ArrayLike<number>;
  busy: ArrayLike<number>;
  bytes: ArrayLike<number>;
  count: ArrayLike<number>;
  layer(at: number): string;
  pass(at: number): string;
  what(at: number): string;
  key?(at: number): string; // of kind "parts": the part of the time that it is
  isWait?(at: number): boolean; // nothing works then
}

export interface Scene {
  title: string; // whose time it is
  end: number;
  lanes: Lane[];
  onChip: { at: number[]; bytes: number[] } | null;
  note: string;
}

function lane(
  title: string,
  kind: Lane["kind"],
  track: Track,
  names: { layer(at: number): string; pass(at: number): string; what(at: number): string },
): Lane {
  return {
    title,
    kind,
    start: track.start_s,
    end: track.end_s,
    busy: track.busy_s,
    bytes: track.bytes,
    count: track.count,
    ...names,
  };
}

export function sceneOfTimeline(timeline: Timeline): Scene {
  const text = (number: number | undefined) =>
    number === undefined || number < 0 ? "" : (timeline.names[number] ?? "");
  const values = (title: string, kind: Lane["kind"], track: ValueTrack) =>
    lane(title, kind, track, {
      layer: (at) => text(track.layer[at]),
      pass: () => "",
      what: (at) => text(track.value[at]),
    });
  const { compute } = timeline;
  const steps = lane("compute", "rows", compute, {
    layer: (at) => text(compute.layer[at]),
    pass: (at) => text(compute.pass[at]),
    what: (at) => `${text(compute.layer[at])} ${text(compute.pass[at])}`,
  });
  return {
    title: `the limit, ${format(timeline.end_s, "s")}, as simulated`,
    end: timeline.end_s,
    lanes: withPhases([
      steps,
      values("waits", "waits", timeline.stalls),
      values("in", "in", timeline.in),
      values("out", "out", timeline.out),
    ]),
    onChip: { at: timeline.on_chip.at_s, bytes: timeline.on_chip.bytes },
    note: timeline.is_aggregated
      ? `${whole(timeline.slices)} steps and transfers, neighbours taken together`
      : "",
  };
}

interface Span {
  start: number;
  end: number;
  what: string;
  layer: string;
  pass: string;
}

function laneOfSpans(title: string, kind: Lane["kind"], spans: Span[]): Lane {
  return {
    title,
    kind,
    start: spans.map((span) => span.start),
    end: spans.map((span) => span.end),
    busy: spans.map((span) => span.end - span.start),
    bytes: new Array<number>(spans.length).fill(0),
    count: new Array<number>(spans.length).fill(1),
    layer: (at) => spans[at]?.layer ?? "",
    pass: (at) => spans[at]?.pass ?? "",
    what: (at) => spans[at]?.what ?? "",
  };
}

/// "backward_input" is a part of "backward".
function phaseOf(pass: string): string {
  return pass.startsWith("backward") ? "backward" : pass;
}

/// A lane above the others that says what is forward, backward and update, where the passes are told apart.
function withPhases(lanes: Lane[]): Lane[] {
  const [first] = lanes;
  if (!first) return lanes;
  const spans: Span[] = [];
  for (let i = 0; i < first.start.length; i++) {
    const phase = phaseOf(first.pass(i));
    const [start, end] = [first.start[i] ?? 0, first.end[i] ?? 0];
    if (phase === "") continue;
    const last = spans.at(-1);
    if (last?.what === phase) last.end = end;
    else spans.push({ start: last ? Math.max(last.end, start) : start, end, what: phase, layer: "", pass: phase });
  }
  return new Set(spans.map((span) => span.what)).size > 1 ? [laneOfSpans("pass", "phases", spans), ...lanes] : lanes;
}

/// The time of each row by which rows are laid end to end, and what of it is waited for.
interface RowTimes {
  title: string;
  note: string;
  time: (row: Row) => number;
  stall: (row: Row) => number;
  end?: number; // of the whole iteration, where rows do not fill it
  rest?: string; // what the rest is
}

function sceneOfRowTimes(rows: RowSet, times: RowTimes): Scene {
  const spans: Span[] = [];
  const waits: Span[] = [];
  let at = 0;
  for (const row of rows.rows) {
    const time = times.time(row);
    const stall = Math.min(time, times.stall(row));
    const { layer, pass } = row;
    if (stall > 0) waits.push({ start: at, end: at + stall, what: row.cause || "memory", layer, pass });
    spans.push({ start: at + stall, end: at + time, what: `${layer} ${pass}`, layer, pass });
    at += time;
  }
  const end = Math.max(at, times.end ?? at);
  const lanes = [laneOfSpans("rows", "rows", spans)];
  if (times.rest && end - at > 1e-3 * end) waits.push({ start: at, end, what: times.rest, layer: "", pass: "" });
  if (waits.length > 0) lanes.push(laneOfSpans(times.rest ? "idle" : "waits", "waits", waits));
  return { title: times.title, end, lanes: withPhases(lanes), onChip: null, note: times.note };
}

/// A profile says how long each row took, not when: end to end is the order in which they first ran.
export function sceneOfRows(rows: RowSet): Scene {
  return sceneOfRowTimes(rows, {
    title: "rows end to end",
    note: "rows end to end, in the order in which they first ran: this result does not say when",
    time: (row) => row.numbers.time_s ?? 0,
    stall: (row) => row.numbers.stall_time_s ?? 0,
  });
}

/// What a framework is expected to run, one kernel after the other.
export function sceneOfExpected(rows: RowSet, time_s: number): Scene {
  return sceneOfRowTimes(rows, {
    title: `expected, ${format(time_s, "s")}, rows end to end`,
    note: "rows end to end, in the order in which they first ran; where the device is idle between them is not known, so that all of it stands last",
    time: (row) => row.numbers.expected_s ?? 0,
    stall: () => 0,
    end: time_s,
    rest: "idle: waits for the host",
  });
}

/// The first slice that ends after a time: slices of a lane are in order and do not overlap.
export function firstEndingAfter(lane: Lane, time: number): number {
  let low = 0;
  let high = lane.end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lane.end[middle] ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

const mostStreams = 16;

/// Of a measured iteration whose kernels were traced: when each ran, those at the same time below each other, and the
/// gaps in which none did.
export function sceneOfKernels(kernels: KernelSpan[]): Scene {
  const sorted = [...kernels].sort((a, b) => a.begin_s - b.begin_s);
  const first = sorted[0]?.begin_s ?? 0;
  const streams: Span[][] = [];
  const gaps: Span[] = [];
  let end = 0;
  let last = "";
  let left = 0;
  for (const { name, layer, pass, begin_s, time_s } of sorted) {
    const span = { start: begin_s - first, end: begin_s - first + time_s, what: name, layer, pass };
    let stream = streams.find((each) => (each.at(-1)?.end ?? 0) <= span.start);
    if (!stream && streams.length < mostStreams) streams.push((stream = []));
    if (stream) stream.push(span);
    else left++;
    if (span.start > end && last !== "")
      gaps.push({ start: end, end: span.start, what: `after ${last}`, layer, pass: "" });
    if (span.end > end) [end, last] = [span.end, name];
  }
  const title = (at: number) => (at === 0 ? "kernels" : `kernels ${at + 1}`);
  const lanes = streams.map((spans, at) => laneOfSpans(title(at), "rows", spans));
  const idle = gaps.reduce((sum, gap) => sum + gap.end - gap.start, 0);
  const many = left > 0 ? `; ${whole(left)} more, at the same time as ${mostStreams} others, are not drawn` : "";
  return {
    title: `one recorded iteration, ${format(end, "s")}`,
    end,
    lanes: withPhases(gaps.length > 0 ? [...lanes, laneOfSpans("gaps", "waits", gaps)] : lanes),
    onChip: null,
    note: `${whole(kernels.length)} kernels of one iteration, as the device recorded them; in the gaps, ${format(idle, "s")} together, none ran${many}`,
  };
}

/// What there is to show of a part; the first is shown unless another is chosen.
export function scenesOf({ part, rows }: { part: Part; rows: RowSet | null }): Scene[] {
  const { timeline, document } = part;
  const ranks = resultOf(document);
  const ranked = ranks ? sceneOfRanks(ranks) : null;
  if (ranked) return [ranked];
  if (!isProfile(document)) return [];
  const kernels = document.kernels ?? [];
  const scenes: Scene[] = [];
  if (timeline) scenes.push(sceneOfTimeline(timeline));
  else if (kernels.length > 0) scenes.push(sceneOfKernels(kernels));
  if (rows && document.expected) scenes.push(sceneOfExpected(rows, document.expected.time_s));
  if (rows && scenes.length === 0) scenes.push(sceneOfRows(rows));
  return scenes.filter((scene) => scene.end > 0);
}
