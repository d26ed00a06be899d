// SPDX-License-Identifier: Apache-2.0
// What a timeline looks like: lanes with columns as high as they are busy, names where they fit, the chip, the axis.
import { scaleLinear } from "d3-scale";
import { margin } from "./chart";
import { coverageOf, drawCoverage, type Window } from "./coverage";
import { cssValue } from "./palette";
import { partVariable } from "./parallel";
import { firstEndingAfter, type Lane, type Scene } from "./slices";
import { digits, format } from "./units";
import type { Context } from "./view";

export const left = margin.left; // as the charts below it, so that a moment stands above itself
export const right = margin.right;
export const laneHeight = 34;
export const chipHeight = 84;
export const axisHeight = 26;
const inset = 5; // between lanes
const phaseColors = new Map([
  ["forward", "--c5"],
  ["backward", "--c3"],
  ["update", "--c7"],
]);
const laneColors = { rows: "--c0", waits: "--c1", in: "--c5", out: "--c4", phases: "--dim", parts: "--dim" } as const;

/// Of a lane, what it is coloured by: types of layers, phases, or one colour for all.
export function keysOf(lane: Lane, typeOf: Map<string, string>): (at: number) => string {
  if (lane.kind === "phases") return (at) => lane.what(at);
  if (lane.kind === "parts") return (at) => lane.key?.(at) ?? "";
  if (lane.kind === "rows") return (at) => typeOf.get(lane.layer(at)) ?? "";
  return () => "";
}

export function colorsOf(lane: Lane, context: Context): (key: string) => string {
  const known = new Map<string, string>();
  const found = (key: string) => {
    if (lane.kind === "phases") return cssValue(phaseColors.get(key) ?? "--dim");
    if (lane.kind === "parts") return cssValue(partVariable(key));
    return lane.kind === "rows" ? context.types.valueOf(key) : cssValue(laneColors[lane.kind]);
  };
  return (key) => {
    let color = known.get(key);
    if (color === undefined) known.set(key, (color = found(key)));
    return color;
  };
}

export interface Drawing {
  context: Context;
  scene: Scene;
  typeOf: Map<string, string>;
  width: number;
  window: Window;
}

/// In a pen that is scaled to the pixels of the page.
export function drawLane(
  pen: CanvasRenderingContext2D,
  drawing: Drawing,
  lane: Lane,
  top: number,
  height = laneHeight,
): void {
  const { width, window, typeOf, context } = drawing;
  const ratio = devicePixelRatio || 1;
  const columns = Math.max(1, Math.round((width - left - right) * ratio));
  const gap = Math.min(inset, height / 5);
  pen.fillStyle = cssValue("--ink");
  pen.textAlign = "right";
  pen.fillText(lane.title, left - 8, top + height / 2 + 4);
  pen.textAlign = "left";
  pen.save();
  pen.setTransform(1, 0, 0, 1, 0, 0);
  const box = {
    left: Math.round(left * ratio),
    top: Math.round((top + gap) * ratio),
    width: columns,
    height: Math.round((height - 2 * gap) * ratio),
  };
  drawCoverage(pen, coverageOf(lane, window, columns, keysOf(lane, typeOf)), box, colorsOf(lane, context));
  pen.restore();
  drawNames(pen, drawing, lane, top, height);
}

/// Black or white, whichever can be read on a colour "#rrggbb".
function textOn(color: string): string {
  const part = (at: number) => (parseInt(color.slice(at, at + 2), 16) / 255) ** 2.2;
  const light = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
  return light > 0.18 ? "#000000" : "#ffffff";
}

/// Names of slices that are wide enough, and edges between them, which take nothing of what is painted.
function drawNames(
  pen: CanvasRenderingContext2D,
  { width, window: { from, to }, typeOf, context }: Drawing,
  lane: Lane,
  top: number,
  height: number,
): void {
  const [keyOf, colorOf] = [keysOf(lane, typeOf), colorsOf(lane, context)];
  const scale = (width - left - right) / (to - from);
  const edge = cssValue("--ink");
  for (let i = firstEndingAfter(lane, from); i < lane.start.length && (lane.start[i] ?? 0) < to; i++) {
    const x0 = Math.max(left, left + ((lane.start[i] ?? 0) - from) * scale);
    const x1 = Math.min(width - right, left + ((lane.end[i] ?? 0) - from) * scale);
    const isShare = (lane.busy[i] ?? 0) < 0.99 * ((lane.end[i] ?? 0) - (lane.start[i] ?? 0)); // of a span
    if (x1 - x0 < 4 || (lane.count[i] ?? 1) > 1 || isShare) continue;
    pen.fillStyle = edge;
    pen.globalAlpha = 0.35;
    pen.fillRect(x1 - 0.6, top + inset, 0.6, height - 2 * inset);
    pen.globalAlpha = 1;
    if (x1 - x0 < 60 || height < 18) continue;
    const most = Math.floor((x1 - x0 - 8) / 6.5);
    const name = lane.what(i);
    pen.fillStyle = textOn(colorOf(keyOf(i)));
    pen.fillText(
      name.length > most ? `${name.slice(0, Math.max(1, most - 1))}…` : name,
      x0 + 4,
      top + height / 2 + 4,
      x1 - x0 - 6,
    );
  }
}

export function capacityOf({ part: { document } }: Context): number {
  return "machine" in document && document.machine && "capacity_bytes" in document.machine
    ? (document.machine.capacity_bytes ?? 0)
    : 0;
}

export function drawOnChip(pen: CanvasRenderingContext2D, drawing: Drawing, top: number): void {
  const { scene, window, width, context } = drawing;
  const { onChip } = scene;
  if (!onChip) return;
  const capacity = capacityOf(context);
  const most = onChip.bytes.reduce((all, each) => Math.max(all, each), Math.max(1, capacity));
  const scale = (width - left - right) / (window.to - window.from);
  const y = (bytes: number) => top + chipHeight - 6 - (bytes / most) * (chipHeight - 20);
  pen.fillStyle = cssValue("--ink");
  pen.textAlign = "right";
  pen.fillText("on chip", left - 8, top + chipHeight / 2);
  pen.fillStyle = cssValue("--dim");
  pen.fillText(format(most, "capacity"), left - 8, y(most) + 8);
  pen.textAlign = "left";
  pen.save();
  pen.beginPath();
  pen.rect(left, top, width - left - right, chipHeight);
  pen.clip();
  pen.beginPath();
  pen.moveTo(left, y(0));
  for (let i = 0; i < onChip.at.length; i++) {
    const next = onChip.at[i + 1] ?? scene.end;
    if (next < window.from || (onChip.at[i] ?? 0) > window.to) continue;
    const x0 = left + ((onChip.at[i] ?? 0) - window.from) * scale;
    pen.lineTo(x0, y(onChip.bytes[i] ?? 0));
    pen.lineTo(left + (next - window.from) * scale, y(onChip.bytes[i] ?? 0));
  }
  pen.lineTo(width - right, y(0));
  pen.fillStyle = cssValue("--c2");
  pen.globalAlpha = 0.45;
  pen.fill();
  pen.restore();
  if (capacity <= 0) return;
  pen.strokeStyle = cssValue("--dim");
  pen.setLineDash([4, 3]);
  pen.beginPath();
  pen.moveTo(left, y(capacity));
  pen.lineTo(width - right, y(capacity));
  pen.stroke();
  pen.setLineDash([]);
}

export function drawAxis(pen: CanvasRenderingContext2D, { window: { from, to }, width }: Drawing, top: number): void {
  const scale = scaleLinear([from, to], [left, width - right]);
  pen.strokeStyle = cssValue("--line");
  pen.fillStyle = cssValue("--dim");
  const ticks = scale.ticks(Math.max(2, Math.floor((width - left) / 110)));
  // One unit for all ticks, with the digits that tell neighbours apart.
  const step = (ticks[1] ?? to) - (ticks[0] ?? 0) || to;
  const [unit, factor] = to >= 1 ? ["s", 1] : to >= 1e-3 ? ["ms", 1e3] : ["µs", 1e6];
  const decimals = Math.max(0, Math.ceil(-Math.log10(step * factor) - 1e-9));
  for (const tick of ticks) {
    pen.beginPath();
    pen.moveTo(scale(tick), top);
    pen.lineTo(scale(tick), top + 5);
    pen.stroke();
    const text = decimals > 6 ? digits(tick * factor, 6) : (tick * factor).toFixed(decimals);
    const isLast = scale(tick) > width - right - 24; // half of it would be cut
    pen.textAlign = isLast ? "right" : "center";
    pen.fillText(`${text} ${unit}`, isLast ? width - 1 : scale(tick), top + 18);
  }
}

/// A canvas of a size in pixels of the page, with a pen that draws in them.
export function penOf(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen?.scale(ratio, ratio);
  if (pen) pen.font = "12px system-ui, sans-serif";
  return pen;
}
