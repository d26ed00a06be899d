// SPDX-License-Identifier: Apache-2.0
// How much of each pixel column of a timeline is busy. Slices may be far narrower than a pixel: what is painted has the
// area of what is there, at every zoom.
import { firstEndingAfter, type Lane } from "./slices";

export interface Window {
  from: number;
  to: number;
}

export interface Coverage {
  keys: string[]; // what is told apart: types of layers
  shares: Float32Array[]; // by key and column, from 0 to 1
}

/// Neighbours that were taken together are busy for a part of their span: that part is spread over it.
export function coverageOf(
  lane: Lane,
  { from, to }: Window,
  columns: number,
  keyOf: (at: number) => string,
): Coverage {
  const numbers = new Map<string, number>();
  const shares: Float32Array[] = [];
  const scale = columns / (to - from);
  for (let i = firstEndingAfter(lane, from); i < lane.start.length; i++) {
    const [start, end] = [lane.start[i] ?? 0, lane.end[i] ?? 0];
    if (start >= to) break;
    if (end <= start) continue;
    const key = keyOf(i);
    let number = numbers.get(key);
    if (number === undefined) {
      numbers.set(key, (number = shares.length));
      shares.push(new Float32Array(columns));
    }
    const density = Math.min(1, (lane.busy[i] ?? 0) / (end - start));
    const c0 = Math.max(0, (start - from) * scale);
    const c1 = Math.min(columns, (end - from) * scale);
    add(shares[number] as Float32Array, c0, c1, density);
  }
  return { keys: [...numbers.keys()], shares };
}

function add(share: Float32Array, c0: number, c1: number, density: number): void {
  for (let column = Math.floor(c0); column < c1; column++) {
    const part = Math.min(c1, column + 1) - Math.max(c0, column);
    share[column] = Math.min(1, (share[column] as number) + part * density);
  }
}

export interface Box {
  left: number; // all in device pixels
  top: number;
  width: number;
  height: number;
}

/// A column for each pixel, as high as it is busy, its keys on top of each other. Between two keys of a column the edge
/// is a whole pixel, as two halves of a pixel would not be a whole one.
export function drawCoverage(
  pen: CanvasRenderingContext2D,
  { keys, shares }: Coverage,
  box: Box,
  colorOf: (key: string) => string,
): void {
  const base = new Float32Array(box.width); // pixels that are painted already
  const sum = new Float32Array(box.width);
  keys.forEach((key, number) => {
    const share = shares[number] as Float32Array;
    pen.fillStyle = colorOf(key);
    let run = -1; // where equal columns began
    let [low, high] = [0, 0];
    const close = (end: number) => {
      if (run >= 0 && high > low) pen.fillRect(box.left + run, box.top + box.height - high, end - run, high - low);
      run = -1;
    };
    for (let column = 0; column < box.width; column++) {
      const own = share[column] as number;
      const isLast = !shares.slice(number + 1).some((other) => (other[column] as number) > 0);
      const total = Math.min(1, (sum[column] as number) + own);
      const from = base[column] as number;
      const to = isLast ? total * box.height : Math.round(total * box.height);
      sum[column] = total;
      base[column] = Math.max(from, own > 0 ? to : from);
      if (run >= 0 && from === low && Math.abs(to - high) < 1e-3 && own > 0) continue;
      close(column);
      if (own > 0) [run, low, high] = [column, from, to];
    }
    close(box.width);
  });
}
