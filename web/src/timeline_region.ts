// SPDX-License-Identifier: Apache-2.0
// What happens in a part of a timeline: how long each lane is busy in it, by type, and what moves.
import { type Window } from "./coverage";
import { h } from "./dom";
import { firstEndingAfter, type Lane, type Scene } from "./slices";
import { keysOf } from "./timeline_draw";
import { format, percent } from "./units";

export interface LaneSum {
  lane: Lane;
  busy: number;
  bytes: number;
  byKey: [string, number][]; // most first
}

/// A slice that is cut by an edge counts by the part of it that is inside.
export function sumsOf(lane: Lane, { from, to }: Window, typeOf: Map<string, string>): LaneSum {
  const keyOf = keysOf(lane, typeOf);
  const byKey = new Map<string, number>();
  let [busy, bytes] = [0, 0];
  for (let i = firstEndingAfter(lane, from); i < lane.start.length && (lane.start[i] ?? 0) < to; i++) {
    const [start, end] = [lane.start[i] ?? 0, lane.end[i] ?? 0];
    if (end <= start) continue;
    const part = (Math.min(end, to) - Math.max(start, from)) / (end - start);
    const time = part * (lane.busy[i] ?? 0);
    if (!lane.isWait?.(i)) busy += time;
    bytes += part * (lane.bytes[i] ?? 0);
    byKey.set(keyOf(i), (byKey.get(keyOf(i)) ?? 0) + time);
  }
  return { lane, busy, bytes, byKey: [...byKey].sort((a, b) => b[1] - a[1]) };
}

const mostTypes = 6;

export function regionTable(scene: Scene, region: Window, typeOf: Map<string, string>): HTMLElement {
  const length = region.to - region.from;
  const row = ({ lane, busy, bytes, byKey }: LaneSum) => {
    const types = lane.kind === "rows" || lane.kind === "parts" ? byKey.filter(([key]) => key !== "") : [];
    const rest = types.slice(mostTypes).reduce((sum, [, time]) => sum + time, 0);
    const listed = types.slice(0, mostTypes).map(([key, time]) => h("span", {}, h("bdi", {}, key), ` ${format(time, "s")}`));
    if (rest > 0) listed.push(h("span", {}, `other ${format(rest, "s")}`));
    return h(
      "tr",
      {},
      h("td", {}, lane.title),
      h("td", { class: "n" }, format(busy, "s")),
      h("td", { class: "n" }, percent(busy / length)),
      h("td", { class: "n" }, bytes > 0 ? format(bytes, "bytes") : ""),
      h("td", { class: "types" }, ...listed),
    );
  };
  const lanes = scene.lanes.filter((lane) => lane.kind !== "phases");
  return h(
    "table",
    { class: "small region" },
    h("caption", {}, `${format(length, "s")} from ${format(region.from, "s")} to ${format(region.to, "s")}`),
    h(
      "thead",
      {},
      h("tr", {}, ...["lane", "busy", "share", "bytes", "by type"].map((each, i) => h("th", { class: i > 0 && i < 4 ? "n" : undefined }, each))),
    ),
    h("tbody", {}, ...lanes.map((lane) => row(sumsOf(lane, region, typeOf)))),
  );
}
