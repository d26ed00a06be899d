// SPDX-License-Identifier: Apache-2.0
// The rows of two results beside each other, and what the second reached.
import type { GroupKey, Row } from "./rows";
import { digits, format } from "./units";

export type By = "row" | "layer" | "op" | "block" | "pass";

/// Which number of a row is compared.
export type TimeKey = "time_s" | "expected_s";

export interface Work {
  time: number; // seconds
  flop: number;
  bytes: number;
}

export interface Pair {
  name: string;
  layer: string;
  pass: string;
  op: string;
  block: string;
  first: number | null; // seconds; null: not there
  second: number | null;
  works: { first: Work; second: Work };
}

/// One result may have its backward pass in two parts where the other has it in one: the coarser names win.
function passNames(first: Row[], second: Row[]): (pass: string) => string {
  const split = (rows: Row[]) =>
    rows.some((row) => row.pass === "backward_input" || row.pass === "backward_weight");
  if (split(first) && split(second)) return (pass) => pass;
  return (pass) => (pass === "backward_input" || pass === "backward_weight" ? "backward" : pass);
}

/// Sums of gradients stand by themselves where both results tell them apart.
function sumsApart(first: Row[], second: Row[]): boolean {
  const has = (rows: Row[]) => rows.some((row) => row.op === "gradient_sum");
  return has(first) && has(second);
}

/// Of the larger side: a difference below it is what rounding of sums leaves.
const rounding = 1e-9;

export function difference({ first, second }: Pair): number {
  const [a, b] = [first ?? 0, second ?? 0];
  return Math.abs(b - a) < rounding * Math.max(Math.abs(a), Math.abs(b)) ? 0 : b - a;
}

export function ratio(pair: Pair): number | null {
  return pair.first && pair.second !== null ? pair.second / pair.first : null;
}

function newPair(name: string, row: Row | null, pass: string, by: By): Pair {
  const nothing = () => ({ time: 0, flop: 0, bytes: 0 });
  return {
    name,
    layer: row && (by === "row" || by === "layer") ? row.layer : "",
    pass,
    op: row?.op ?? "",
    block: row?.block ?? "",
    first: null,
    second: null,
    works: { first: nothing(), second: nothing() },
  };
}

export function pairsOf(first: Row[], second: Row[], by: By, time: TimeKey = "time_s"): Pair[] {
  const passOf = passNames(first, second);
  const isApart = sumsApart(first, second);
  const pairs = new Map<string, Pair>();
  const add = (row: Row, side: "first" | "second") => {
    const pass = passOf(row.pass) + (isApart && row.op === "gradient_sum" && by === "row" ? " sum" : "");
    const key = by === "row" ? `${row.layer} ${pass}` : by === "pass" ? pass : row[by as GroupKey];
    let pair = pairs.get(key);
    if (!pair) pairs.set(key, (pair = newPair(by === "row" ? row.layer : key, row, by === "row" ? pass : "", by)));
    const seconds = row.numbers[time] ?? row.numbers.time_s ?? 0;
    pair[side] = (pair[side] ?? 0) + seconds;
    const work = pair.works[side];
    work.time += seconds;
    work.flop += row.numbers.flop ?? 0;
    work.bytes += row.numbers.traffic_bytes ?? 0;
  };
  for (const row of first) add(row, "first");
  for (const row of second) add(row, "second");
  return [...pairs.values()].sort((a, b) => Math.abs(difference(b)) - Math.abs(difference(a)));
}

/// A part of the iteration that is of no layer; less than 0 is time in which rows ran at once.
export function restPair(name: string, first: number, second: number): Pair {
  const pair = newPair(name, null, "", "op");
  pair.first = first !== 0 ? first : null;
  pair.second = second !== 0 ? second : null;
  return pair;
}

/// What the second one reached, and whether it counts other work than the first. The bytes of a predicted row move while
/// other rows run: over the row's own time they are no rate.
export function reached({ works: { first, second } }: Pair, isMeasured: boolean): string {
  if (second.time <= 0) return "";
  const said: string[] = [];
  if (second.flop > 0) said.push(format(second.flop / second.time, "flop/s"));
  if (second.bytes > 0 && isMeasured) said.push(format(second.bytes / second.time, "bytes/s"));
  const differ = (a: number, b: number) => a > 0 && b > 0 && Math.abs(b / a - 1) > 0.05;
  if (differ(first.flop, second.flop)) said.push(`${digits(second.flop / first.flop)} times the FLOP`);
  if (differ(first.bytes, second.bytes)) said.push(`${digits(second.bytes / first.bytes)} times the bytes`);
  return said.join(", ");
}
