// SPDX-License-Identifier: Apache-2.0
// What stands out in a result, computed from its numbers, with what each would be worth. Largest first.
import { grouped, total, type Row, type RowSet } from "./rows";
import { isProfile, type Part, type ProfileDocument } from "./schema";
import { format, percent } from "./units";

export interface Finding {
  what: string;
  evidence: string;
  worth_s: number; // of the time, at most so much could go
  worth: string;
  layer?: string; // where to look
}

function sum(rows: Row[], key: string): number {
  return rows.reduce((all, row) => all + (row.numbers[key] ?? 0), 0);
}

function faster(ratio: number): string {
  return ratio < 2 ? `${percent(ratio - 1)} faster` : `${format(ratio, "ratio")} as fast`;
}

function ofAlternatives(document: ProfileDocument, time: number): Finding[] {
  const better = (document.alternatives ?? []).filter((each) => each.samples_per_s_ratio > 1.0005);
  return better.map((each) => {
    const worth_s = time * (1 - 1 / each.samples_per_s_ratio);
    return {
      what: `With ${each.change} it would be ${faster(each.samples_per_s_ratio)}`,
      evidence: "the same iteration, predicted again with that one change",
      worth_s,
      worth: `${format(worth_s, "s")} per ${format(time, "s")} of work`,
    };
  });
}

function ofWaiting(rows: RowSet, time: number): Finding[] {
  const waiting = sum(rows.rows, "stall_time_s");
  if (waiting < 0.005 * time) return [];
  const types = grouped(rows.rows, "op").sort(
    (a, b) => (b.numbers.stall_time_s ?? 0) - (a.numbers.stall_time_s ?? 0),
  );
  const worst = types[0];
  if (!worst) return [];
  const stall = worst.numbers.stall_time_s ?? 0;
  const layer = [...worst.rows].sort(
    (a, b) => (b.numbers.stall_time_s ?? 0) - (a.numbers.stall_time_s ?? 0),
  )[0];
  const cause = layer?.cause ? `, for ${layer.cause}` : "";
  return [
    {
      what: `${worst.name} waits ${format(stall, "s")} for memory, ${percent(stall / waiting)} of all waiting`,
      evidence: layer
        ? `longest: ${layer.layer} ${layer.pass}, ${format(layer.numbers.stall_time_s, "s")} of ${format(layer.numbers.time_s, "s")}${cause}`
        : "",
      worth_s: stall,
      worth: `${format(stall, "s")}, if its data were there`,
      ...(layer ? { layer: layer.layer } : {}),
    },
  ];
}

function ofBound(document: ProfileDocument, time: number): Finding[] {
  const bound = document.bounds;
  if (!bound || bound.time_s <= 0 || bound.time_s >= time) return [];
  return [
    {
      what: `No schedule of these steps is faster than ${format(bound.time_s, "s")}; this one is ${percent(time / bound.time_s - 1)} above`,
      evidence: `by the bound “${bound.time_from}”; moved are ${format(trafficOf(document), "bytes")}, at least ${format(bound.traffic_model_bytes, "bytes")} with whole tensors`,
      worth_s: time - bound.time_s,
      worth: `at most ${format(time - bound.time_s, "s")} by a better schedule`,
    },
  ];
}

export function trafficOf(document: ProfileDocument): number {
  const totals = document.totals ?? {};
  return Number(totals.traffic_in_bytes ?? 0) + Number(totals.traffic_out_bytes ?? 0);
}

function ofTensor(document: ProfileDocument): Finding[] {
  const stall = document.stalls?.[0];
  if (!stall || stall.wait_s <= 0) return [];
  return [
    {
      what: `The value waited for longest is ${stall.value} (${stall.kind.replaceAll("_", " ")})`,
      evidence: `${stall.steps} ${stall.steps === 1 ? "step" : "steps"} waited ${format(stall.wait_s, "s")} for it`,
      worth_s: stall.wait_s,
      worth: `${format(stall.wait_s, "s")}, if it stayed on chip`,
    },
  ];
}

/// Rows that took longer than the roof allows: what their implementation leaves lying.
function ofRoof(rows: RowSet): Finding[] {
  const far = rows.rows.filter((row) => (row.numbers.roof_time_s ?? 0) > 0 && (row.numbers.time_s ?? 0) > 0);
  let worst: Row | undefined;
  let worth_s = 0;
  for (const row of far) {
    const lost = (row.numbers.time_s ?? 0) - (row.numbers.roof_time_s ?? 0);
    if (lost > worth_s) [worst, worth_s] = [row, lost];
  }
  if (!worst || worth_s < 0.001 * sum(rows.rows, "time_s")) return [];
  return [
    {
      what: `${worst.layer} ${worst.pass} is farthest from its roof`,
      evidence: `${format(worst.numbers.time_s, "s")} where ${worst.bound || "the machine"} alone would take ${format(worst.numbers.roof_time_s, "s")}`,
      worth_s,
      worth: `${format(worth_s, "s")} at the roof`,
      layer: worst.layer,
    },
  ];
}

export function findingsOf(part: Part, rows: RowSet): Finding[] {
  const { document } = part;
  if (!isProfile(document)) return [];
  const time = Number(document.totals?.time_s ?? total(rows.rows).time_s ?? 0);
  if (!(time > 0)) return [];
  const all = [
    ...ofAlternatives(document, time),
    ...ofWaiting(rows, time),
    ...ofBound(document, time),
    ...ofTensor(document),
    ...ofRoof(rows),
  ];
  return all.sort((a, b) => b.worth_s - a.worth_s);
}
