// SPDX-License-Identifier: Apache-2.0
// What lies on the rows of a timeline, from a predicted iteration or from the rows of a profile one after the other.
import type { RowSet } from "./rows";
import type { KernelSpan, Timeline, Track, ValueTrack } from "./schema";
import { format } from "./units";

export interface Lane {
  title: string;
  start: ArrayLike<number>;
  end: ArrayLike<number>;
  busy: ArrayLike<number>;
  bytes: ArrayLike<number>;
  count: ArrayLike<number>;
  layer(at: number): string;
  pass(at: number): string;
  what(at: number): string;
}

export interface Scene {
  end: number;
  lanes: Lane[];
  onChip: { at: number[]; bytes: number[] } | null;
  note: string;
}

function lane(
  title: string,
  track: Track,
  names: { layer(at: number): string; pass(at: number): string; what(at: number): string },
): Lane {
  return {
    title,
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
  const values = (title: string, track: ValueTrack) =>
    lane(title, track, {
      layer: (at) => text(track.layer[at]),
      pass: () => "",
      what: (at) => text(track.value[at]),
    });
  const { compute } = timeline;
  const steps = lane("compute", compute, {
    layer: (at) => text(compute.layer[at]),
    pass: (at) => text(compute.pass[at]),
    what: (at) => `${text(compute.layer[at])} ${text(compute.pass[at])}`,
  });
  return {
    end: timeline.end_s,
    lanes: [steps, values("waits", timeline.stalls), values("in", timeline.in), values("out", timeline.out)],
    onChip: { at: timeline.on_chip.at_s, bytes: timeline.on_chip.bytes },
    note: timeline.is_aggregated
      ? `${timeline.slices.toLocaleString("en-US")} steps and transfers, neighbours taken together`
      : "",
  };
}

/// A profile says how long each row took, not when: end to end is the order in which they first ran.
export function sceneOfRows(rows: RowSet): Scene {
  const start: number[] = [];
  const end: number[] = [];
  const busy: number[] = [];
  const waitStart: number[] = [];
  const waitEnd: number[] = [];
  const waitRow: number[] = [];
  let at = 0;
  for (const row of rows.rows) {
    const time = row.numbers.time_s ?? 0;
    const stall = Math.min(time, row.numbers.stall_time_s ?? 0);
    start.push(at + stall);
    end.push(at + time);
    busy.push(time - stall);
    if (stall > 0) {
      waitStart.push(at);
      waitEnd.push(at + stall);
      waitRow.push(row.index);
    }
    at += time;
  }
  const none = (count: number, value: number) => new Array<number>(count).fill(value);
  const row = (index: number | undefined) => rows.rows[index ?? -1];
  const lanes: Lane[] = [
    {
      title: "rows",
      start,
      end,
      busy,
      bytes: none(start.length, 0),
      count: none(start.length, 1),
      layer: (i) => row(i)?.layer ?? "",
      pass: (i) => row(i)?.pass ?? "",
      what: (i) => `${row(i)?.layer ?? ""} ${row(i)?.pass ?? ""}`,
    },
  ];
  if (waitStart.length > 0)
    lanes.push({
      title: "waits",
      start: waitStart,
      end: waitEnd,
      busy: waitStart.map((from, i) => (waitEnd[i] ?? 0) - from),
      bytes: none(waitStart.length, 0),
      count: none(waitStart.length, 1),
      layer: (i) => row(waitRow[i])?.layer ?? "",
      pass: (i) => row(waitRow[i])?.pass ?? "",
      what: (i) => row(waitRow[i])?.cause || "memory",
    });
  return {
    end: at,
    lanes,
    onChip: null,
    note: "rows end to end, in the order in which they first ran: this result does not say when",
  };
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

interface Span {
  start: number;
  end: number;
  what: string;
  layer: string;
  pass: string;
}

function laneOfSpans(title: string, spans: Span[]): Lane {
  return {
    title,
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

const mostStreams = 4;

/// Of a measured iteration whose kernels were traced: when each ran, those at the same time below each other, and the
/// gaps in which none did.
export function sceneOfKernels(kernels: KernelSpan[]): Scene {
  const sorted = [...kernels].sort((a, b) => a.begin_s - b.begin_s);
  const first = sorted[0]?.begin_s ?? 0;
  const streams: Span[][] = [];
  const gaps: Span[] = [];
  let end = 0;
  let last = "";
  for (const { name, layer, pass, begin_s, time_s } of sorted) {
    const span = { start: begin_s - first, end: begin_s - first + time_s, what: name, layer, pass };
    let stream = streams.find((each) => (each.at(-1)?.end ?? 0) <= span.start);
    if (!stream && streams.length < mostStreams) streams.push((stream = []));
    stream?.push(span);
    if (span.start > end && last !== "")
      gaps.push({ start: end, end: span.start, what: `after ${last}`, layer, pass: "" });
    if (span.end > end) [end, last] = [span.end, name];
  }
  const title = (at: number) => (at === 0 ? "kernels" : `kernels ${at + 1}`);
  const lanes = streams.map((spans, at) => laneOfSpans(title(at), spans));
  const idle = gaps.reduce((sum, gap) => sum + gap.end - gap.start, 0);
  return {
    end,
    lanes: gaps.length > 0 ? [...lanes, laneOfSpans("gaps", gaps)] : lanes,
    onChip: null,
    note: `${kernels.length.toLocaleString("en-US")} kernels of one iteration, as the device recorded them; in the gaps, ${format(idle, "s")} together, none ran`,
  };
}
