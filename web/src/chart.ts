// SPDX-License-Identifier: Apache-2.0
// The frame of an SVG chart: axes with ticks in units that people read, a title, the area for the marks.
import { scaleLinear, scaleLog, type ScaleContinuousNumeric } from "d3-scale";
import { h, s } from "./dom";
import { formatTick, type Unit } from "./units";
import "./parts.css";

export type Scale = ScaleContinuousNumeric;

export interface Axis {
  label: string;
  unit: Unit;
  domain: [number, number];
  isLog?: boolean;
  isExact?: boolean; // ends where the data end, not at a tick
  isWhole?: boolean; // numbers between the whole ones mean nothing
  at?: number[]; // where ticks stand, where there is room for all
}

export interface Frame {
  figure: HTMLElement;
  svg: SVGSVGElement;
  area: SVGGElement; // clipped
  over: SVGGElement; // not clipped
  x: Scale;
  y: Scale;
  width: number;
  height: number;
}

export const margin = { top: 10, right: 14, bottom: 44, left: 98 };
let clips = 0;

export function scaleOf(axis: Axis, range: [number, number]): Scale {
  const [least, most] = axis.domain;
  if (axis.isLog) {
    const low = least > 0 ? least : 1e-12;
    return scaleLog([low, Math.max(most, low * 10)], range);
  }
  const scale = scaleLinear([least, most > least ? most : least + 1], range);
  return axis.isExact || axis.unit === "capacity" ? scale : scale.nice();
}

/// Capacities are read in powers of two, so their ticks are there, too.
function ticksOf(scale: Scale, axis: Axis, room: number, spacing: number): number[] {
  const ticks = roundTicks(scale, axis, room, spacing);
  if (axis.at && axis.at.length > 0 && haveRoom(axis.at, scale, spacing)) return axis.at;
  return axis.isWhole ? ticks.filter(Number.isInteger) : ticks;
}

function haveRoom(ticks: number[], scale: Scale, spacing: number): boolean {
  const places = ticks.map((tick) => scale(tick)).sort((a, b) => a - b);
  return places.every((place, i) => i === 0 || place - (places[i - 1] ?? 0) > 0.6 * spacing);
}

function roundTicks(scale: Scale, axis: Axis, room: number, spacing: number): number[] {
  const most = Math.max(2, Math.floor(room / spacing));
  if (!axis.isLog) {
    if (axis.unit !== "capacity") return scale.ticks(most);
    const [from, to] = scale.domain() as [number, number];
    const step = 2 ** Math.ceil(Math.log2(Math.max(1, (to - from) / most)));
    const ticks: number[] = [];
    for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) ticks.push(tick);
    return ticks;
  }
  const [from, to] = scale.domain() as [number, number];
  const base = axis.unit === "capacity" ? 2 : 10;
  const power = (value: number) => Math.log(value) / Math.log(base);
  const [first, last] = [Math.ceil(power(from) - 1e-9), Math.floor(power(to) + 1e-9)];
  let step = Math.max(1, Math.ceil((last - first + 1) / most));
  if (base === 2 && step > 3) step = step > 5 ? 10 * Math.ceil(step / 10) : 5; // 1 KiB, 32 KiB, 1 MiB
  const ticks: number[] = [];
  for (let at = Math.ceil(first / step) * step; at <= last; at += step) ticks.push(base ** at);
  if (base === 10 && ticks.length < most / 2.5) {
    const between = ticks.flatMap((tick) => [2 * tick, 5 * tick]);
    return [
      ...new Set([...between, ...ticks, (2 * (ticks[0] ?? 1)) / 10, (5 * (ticks[0] ?? 1)) / 10]),
    ].filter((tick) => tick >= from && tick <= to);
  }
  return ticks;
}

function tickText(value: number, axis: Axis): string {
  return formatTick(value, axis.unit);
}

export function frame(title: string, size: { width: number; height: number }, x: Axis, y: Axis): Frame {
  const width = Math.max(80, size.width - margin.left - margin.right);
  const height = Math.max(60, size.height - margin.top - margin.bottom);
  const xScale = scaleOf(x, [0, width]);
  const yScale = scaleOf(y, [height, 0]);
  const clip = `clip${clips++}`;
  const grid = s("g", { class: "grid", "aria-hidden": "true" });
  let free = -Infinity; // from where on there is room for the next name
  for (const tick of ticksOf(xScale, x, width, x.isLog ? 60 : 80).sort((a, b) => a - b)) {
    const at = xScale(tick);
    grid.append(s("line", { x1: at, x2: at, y1: 0, y2: height }));
    const half = 3.2 * tickText(tick, x).length;
    // The last one would be cut at the edge.
    const isLast = at > width - 34;
    const place = isLast ? { x: Math.min(at + 16, width + margin.right), anchor: "end" } : { x: at, anchor: "middle" };
    if ((isLast ? place.x - 2 * half : at - half) < free) continue;
    free = at + half + 6;
    grid.append(s("text", { x: place.x, y: height + 16, "text-anchor": place.anchor }, tickText(tick, x)));
  }
  for (const tick of ticksOf(yScale, y, height, 42)) {
    const at = yScale(tick);
    grid.append(s("line", { x1: 0, x2: width, y1: at, y2: at }));
    grid.append(s("text", { x: -7, y: at + 4, "text-anchor": "end" }, tickText(tick, y)));
  }
  grid.append(s("text", { class: "axis", x: width / 2, y: height + 36, "text-anchor": "middle" }, x.label));
  grid.append(
    s(
      "text",
      {
        class: "axis",
        transform: `translate(${14 - margin.left},${height / 2}) rotate(-90)`,
        "text-anchor": "middle",
      },
      y.label,
    ),
  );
  const area = s("g", { "clip-path": `url(#${clip})` });
  const over = s("g", {});
  const svg = s(
    "svg",
    {
      viewBox: `0 0 ${size.width} ${size.height}`,
      width: size.width,
      height: size.height,
      role: "img",
      "aria-label": title,
    },
    s("clipPath", { id: clip }, s("rect", { x: -5, y: -5, width: width + 10, height: height + 10 })),
    s("g", { transform: `translate(${margin.left},${margin.top})` }, grid, area, over),
  );
  const figure = h("figure", { class: "chart" }, h("figcaption", {}, title), svg);
  return { figure, svg, area, over, x: xScale, y: yScale, width, height };
}

/// Least and most of what a logarithmic axis can show, a little apart from the edges.
export function logDomain(values: Iterable<number>): [number, number] {
  let least = Infinity;
  let most = 0;
  for (const value of values) {
    if (!(value > 0) || !Number.isFinite(value)) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const room = Math.max(1.6, (most / least) ** 0.06);
  return most > 0 ? [least / room, most * room] : [1, 10];
}

export function linearDomain(values: Iterable<number>, fromZero = true): [number, number] {
  let least = fromZero ? 0 : Infinity;
  let most = fromZero ? 0 : -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return least <= most ? [least, most] : [0, 1];
}

/// A line through points, as SVG writes it.
export function pathOf(points: (readonly [number, number])[]): string {
  return points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${x.toFixed(1)},${y.toFixed(1)}`).join("");
}

/// Names and their colours, below a chart. Long lists stay short.
export function legend(
  entries: { name: string; color: string; isOpen?: boolean; dash?: string | undefined }[],
  most = 16,
): HTMLElement {
  const list = h("ul", { class: "legend" });
  for (const entry of entries.slice(0, most)) {
    const swatch = entry.dash
      ? s(
          "svg",
          { class: "line-swatch", width: 22, height: 10, "aria-hidden": "true" },
          s("line", { x1: 0, x2: 22, y1: 5, y2: 5, class: "line", stroke: entry.color, "stroke-dasharray": entry.dash }),
        )
      : h("span", { class: entry.isOpen ? "swatch open" : "swatch" });
    swatch.style.setProperty("--swatch", entry.color);
    list.append(h("li", {}, swatch, h("bdi", {}, entry.name)));
  }
  if (entries.length > most) list.append(h("li", {}, `and ${entries.length - most} more`));
  return list;
}

/// What the shades of a map mean: the scale with the numbers at its ends and in the middle.
export function scaleBar(shade: (share: number) => string, name: (share: number) => string, room: number): SVGSVGElement {
  const [width, steps] = [Math.max(80, Math.min(256, room - 120)), 32];
  const svg = s("svg", { class: "scale", width: width + 120, height: 30, role: "img", "aria-label": `dark: ${name(0)}, light: ${name(1)}` });
  for (let i = 0; i < steps; i++)
    svg.append(
      s("rect", { x: 60 + (i * width) / steps, y: 0, width: width / steps, height: 11, fill: shade(i / (steps - 1)), "shape-rendering": "crispEdges" }),
    );
  for (const share of [0, 0.5, 1])
    svg.append(s("text", { x: 60 + share * width, y: 25, "text-anchor": "middle" }, name(share)));
  return svg;
}
