// SPDX-License-Identifier: Apache-2.0
// An iteration over time, on a canvas: whatever is narrower than a pixel is drawn as one, so that zooming stays smooth.
import { scaleLinear } from "d3-scale";
import { h } from "./dom";
import { cssValue } from "./palette";
import { isProfile } from "./schema";
import {
  firstEndingAfter,
  sceneOfKernels,
  sceneOfRows,
  sceneOfTimeline,
  type Lane,
  type Scene,
} from "./slices";
import { hideTip, showTip } from "./tooltip";
import { digits, format } from "./units";
import type { Context, View } from "./view";

const left = 74;
const right = 12;
const laneHeight = 34;
const chipHeight = 84;
const axisHeight = 26;

class TimelineCanvas {
  private readonly canvas = h("canvas", {
    tabindex: 0,
    role: "img",
    "aria-label": "Timeline; plus and minus zoom, arrows move",
  });
  private readonly height: number;
  private from: number;
  private to: number;
  private isAsked = false;
  private isDragged = false;

  constructor(
    private readonly context: Context,
    private readonly scene: Scene,
    private readonly typeOf: Map<string, string>,
    private readonly width: number,
    element: HTMLElement,
  ) {
    this.height = scene.lanes.length * laneHeight + (scene.onChip ? chipHeight : 0) + axisHeight;
    const [from, to] = context.state.get("span").split("-").map(Number);
    const isSpan = from !== undefined && to !== undefined && from >= 0 && to > from && to <= 1;
    this.from = isSpan ? from * scene.end : 0;
    this.to = isSpan ? to * scene.end : scene.end;
    const button = (label: string, title: string, act: () => void) =>
      h("button", { title, "aria-label": title, click: act }, label);
    element.append(
      h(
        "div",
        { class: "controls" },
        button("+", "zoom in", () => this.scaleBy(2)),
        button("−", "zoom out", () => this.scaleBy(0.5)),
        button("all", "show everything", () => this.show(0, scene.end)),
        h("span", { class: "dim" }, "turn the wheel with Ctrl to zoom, drag to move"),
      ),
      this.canvas,
    );
    if (scene.note !== "") element.append(h("p", { class: "dim" }, scene.note));
    this.listen();
    this.draw();
  }

  private listen(): void {
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => {
      hideTip();
      this.context.links.point(null);
    });
    this.canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return; // the page scrolls
        event.preventDefault();
        this.scaleBy(2 ** (-event.deltaY / 500), this.from + this.timeOf(event.offsetX - left));
      },
      { passive: false },
    );
    this.drag();
    this.canvas.addEventListener("click", (event) => {
      if (this.isDragged) return;
      const found = this.at(event);
      if (found) this.context.links.toggle(found.lane.layer(found.index));
    });
    this.canvas.addEventListener("keydown", (event) => {
      const step = (this.to - this.from) / 8;
      if (event.key === "+" || event.key === "=") this.scaleBy(2);
      else if (event.key === "-") this.scaleBy(0.5);
      else if (event.key === "ArrowRight") this.show(this.from + step, this.to + step);
      else if (event.key === "ArrowLeft") this.show(this.from - step, this.to - step);
      else if (event.key === "Escape") this.show(0, this.scene.end);
      else return;
      event.preventDefault();
    });
    this.context.links.on(() => this.ask());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.ask(), {
      signal: this.context.ended,
    });
  }

  /// Moves what is shown with the pointer while its button is down. The click that ends a move chooses nothing.
  private drag(): void {
    let last: number | null = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      last = event.clientX;
      this.isDragged = false;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (last === null || (!this.isDragged && Math.abs(event.clientX - last) < 3)) return;
      this.isDragged = true;
      const by = this.timeOf(last - event.clientX);
      last = event.clientX;
      this.show(this.from + by, this.to + by);
    });
    for (const ending of ["pointerup", "pointercancel"] as const)
      this.canvas.addEventListener(ending, () => (last = null));
  }

  /// The time that so many pixels show.
  private timeOf(pixels: number): number {
    return (pixels * (this.to - this.from)) / (this.width - left - right);
  }

  /// Shows a shorter or longer span, in which a moment keeps its place.
  private scaleBy(factor: number, moment = (this.from + this.to) / 2): void {
    this.show(moment - (moment - this.from) / factor, moment + (this.to - moment) / factor);
  }

  /// Shows this span, or the nearest of its length that lies inside the iteration.
  private show(from: number, to: number): void {
    const { end } = this.scene;
    const length = Math.min(end, Math.max(to - from, end / 1e5));
    this.from = Math.min(Math.max(0, from), end - length);
    this.to = this.from + length;
    const isAll = length >= end;
    this.context.state.set(
      "span",
      isAll ? "" : `${(this.from / end).toFixed(5)}-${(this.to / end).toFixed(5)}`,
    );
    this.ask();
  }

  private ask(): void {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => {
      this.isAsked = false;
      this.draw();
    });
  }

  private at(event: MouseEvent): { lane: Lane; index: number } | null {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const lane = this.scene.lanes[Math.floor(y / laneHeight)];
    if (!lane || x < left) return null;
    const perPixel = (this.to - this.from) / (this.width - left - right);
    const time = this.from + (x - left) * perPixel;
    const index = firstEndingAfter(lane, time - perPixel);
    return index < lane.start.length && (lane.start[index] ?? Infinity) <= time + perPixel
      ? { lane, index }
      : null;
  }

  private point(event: PointerEvent): void {
    const found = this.at(event);
    if (!found) {
      hideTip();
      this.context.links.point(null);
      return;
    }
    const { lane, index } = found;
    const layer = lane.layer(index);
    const bytes = lane.bytes[index] ?? 0;
    const count = lane.count[index] ?? 1;
    showTip(event, lane.what(index), [
      ["", lane.title],
      ["layer", layer === lane.what(index) ? "" : layer],
      ["from", format(lane.start[index], "s")],
      ["time", format(lane.busy[index], "s")],
      ["bytes", bytes > 0 ? format(bytes, "bytes") : ""],
      ["", count > 1 ? `longest of ${count} taken together` : ""],
    ]);
    this.context.links.point(layer === "" ? null : { layer, pass: lane.pass(index) || undefined });
  }

  private colorOf(lane: Lane, index: number): string {
    if (lane.title === "waits" || lane.title === "gaps") return cssValue("--c1");
    if (lane.title === "in") return cssValue("--c5");
    if (lane.title === "out") return cssValue("--c4");
    return this.context.types.valueOf(this.typeOf.get(lane.layer(index)) ?? "");
  }

  private draw(): void {
    const ratio = devicePixelRatio || 1;
    this.canvas.width = this.width * ratio;
    this.canvas.height = this.height * ratio;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    const pen = this.canvas.getContext("2d");
    if (!pen) return;
    pen.scale(ratio, ratio);
    pen.font = "12px system-ui, sans-serif";
    const colors = new Map<string, string>();
    this.scene.lanes.forEach((lane, number) => this.drawLane(pen, lane, number * laneHeight, colors));
    const below = this.scene.lanes.length * laneHeight;
    if (this.scene.onChip) this.drawOnChip(pen, this.scene.onChip, below);
    this.drawAxis(pen, below + (this.scene.onChip ? chipHeight : 0));
  }

  private drawLane(
    pen: CanvasRenderingContext2D,
    lane: Lane,
    top: number,
    colors: Map<string, string>,
  ): void {
    const ink = cssValue("--ink");
    pen.fillStyle = ink;
    pen.textAlign = "right";
    pen.fillText(lane.title, left - 8, top + laneHeight / 2 + 4);
    pen.textAlign = "left";
    const scale = (this.width - left - right) / (this.to - this.from);
    const { hovered, chosen } = this.context.links;
    let painted = -1; // up to this pixel: narrower slices behind it are not drawn one by one
    for (
      let i = firstEndingAfter(lane, this.from);
      i < lane.start.length && (lane.start[i] ?? 0) < this.to;
      i++
    ) {
      const x0 = Math.max(left, left + ((lane.start[i] ?? 0) - this.from) * scale);
      const x1 = Math.min(this.width - right, left + ((lane.end[i] ?? 0) - this.from) * scale);
      const layer = lane.layer(i);
      const isMarked = layer !== "" && (layer === chosen || layer === hovered?.layer);
      if (x1 - x0 < 0.6 && x1 <= painted && !isMarked) continue;
      const width = Math.max(0.7, x1 - x0 - (x1 - x0 > 4 ? 0.6 : 0));
      const key = ["waits", "gaps", "in", "out"].includes(lane.title) ? "" : layer;
      let fill = colors.get(lane.title + key);
      if (fill === undefined) colors.set(lane.title + key, (fill = this.colorOf(lane, i)));
      pen.globalAlpha = (chosen !== "" || hovered) && !isMarked ? 0.35 : 1;
      pen.fillStyle = fill;
      pen.fillRect(x0, top + 5, width, laneHeight - 10);
      painted = Math.max(painted, x0 + 0.6);
      if (isMarked) {
        pen.strokeStyle = ink;
        pen.strokeRect(x0 - 0.5, top + 3.5, Math.max(1.5, width + 1), laneHeight - 7);
      }
      if (width > 60) {
        pen.fillStyle = cssValue("--on-color");
        const text = lane.what(i);
        const most = Math.floor((width - 8) / 6.5);
        pen.fillText(
          text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text,
          x0 + 4,
          top + laneHeight / 2 + 4,
          width - 6,
        );
      }
    }
    pen.globalAlpha = 1;
  }

  private drawOnChip(
    pen: CanvasRenderingContext2D,
    onChip: { at: number[]; bytes: number[] },
    top: number,
  ): void {
    const most = Math.max(1, ...capacityAnd(onChip.bytes, capacityOf(this.context)));
    const scale = (this.width - left - right) / (this.to - this.from);
    const y = (bytes: number) => top + chipHeight - 6 - (bytes / most) * (chipHeight - 20);
    pen.fillStyle = cssValue("--ink");
    pen.textAlign = "right";
    pen.fillText("on chip", left - 8, top + chipHeight / 2);
    pen.fillStyle = cssValue("--dim");
    pen.fillText(format(most, "capacity"), left - 8, y(most) + 8);
    pen.textAlign = "left";
    pen.save();
    pen.beginPath();
    pen.rect(left, top, this.width - left - right, chipHeight);
    pen.clip();
    pen.beginPath();
    pen.moveTo(left, y(0));
    for (let i = 0; i < onChip.at.length; i++) {
      const next = onChip.at[i + 1] ?? this.scene.end;
      if (next < this.from || (onChip.at[i] ?? 0) > this.to) continue;
      const x0 = left + ((onChip.at[i] ?? 0) - this.from) * scale;
      pen.lineTo(x0, y(onChip.bytes[i] ?? 0));
      pen.lineTo(left + (next - this.from) * scale, y(onChip.bytes[i] ?? 0));
    }
    pen.lineTo(this.width - right, y(0));
    pen.fillStyle = cssValue("--c2");
    pen.globalAlpha = 0.45;
    pen.fill();
    pen.restore();
    const capacity = capacityOf(this.context);
    if (capacity > 0) {
      pen.strokeStyle = cssValue("--dim");
      pen.setLineDash([4, 3]);
      pen.beginPath();
      pen.moveTo(left, y(capacity));
      pen.lineTo(this.width - right, y(capacity));
      pen.stroke();
      pen.setLineDash([]);
    }
  }

  private drawAxis(pen: CanvasRenderingContext2D, top: number): void {
    const scale = scaleLinear([this.from, this.to], [left, this.width - right]);
    pen.strokeStyle = cssValue("--line");
    pen.fillStyle = cssValue("--dim");
    pen.textAlign = "center";
    const ticks = scale.ticks(Math.max(2, Math.floor((this.width - left) / 110)));
    // One unit for all ticks, with the digits that tell neighbours apart.
    const step = (ticks[1] ?? this.to) - (ticks[0] ?? 0) || this.to;
    const [unit, factor] = this.to >= 1 ? ["s", 1] : this.to >= 1e-3 ? ["ms", 1e3] : ["µs", 1e6];
    const decimals = Math.max(0, Math.ceil(-Math.log10(step * factor) - 1e-9));
    for (const tick of ticks) {
      pen.beginPath();
      pen.moveTo(scale(tick), 0);
      pen.lineTo(scale(tick), top + 4);
      pen.globalAlpha = 0.5;
      pen.stroke();
      pen.globalAlpha = 1;
      const text = decimals > 6 ? digits(tick * factor, 6) : (tick * factor).toFixed(decimals);
      const isLast = scale(tick) > this.width - right - 24; // half of it would be cut
      pen.textAlign = isLast ? "right" : "center";
      pen.fillText(`${text} ${unit}`, isLast ? this.width - 1 : scale(tick), top + 18);
    }
  }
}

function capacityOf(context: Context): number {
  const { document } = context.part;
  return "machine" in document && document.machine && "capacity_bytes" in document.machine
    ? (document.machine.capacity_bytes ?? 0)
    : 0;
}

function capacityAnd(bytes: number[], capacity: number): number[] {
  return [bytes.reduce((most, each) => Math.max(most, each), 0), capacity];
}

export const timelineView: View = {
  id: "timeline",
  title: "Timeline",
  fits: (context) =>
    context.part.timeline !== undefined ||
    (context.rows?.rows.some((row) => (row.numbers.time_s ?? 0) > 0) ?? false),
  render: (context, element, width) => {
    const { rows } = context;
    const { timeline, document } = context.part;
    const kernels = isProfile(document) ? (document.kernels ?? []) : [];
    const scene = timeline
      ? sceneOfTimeline(timeline)
      : kernels.length > 0
        ? sceneOfKernels(kernels)
        : rows
          ? sceneOfRows(rows)
          : null;
    if (!scene || scene.end <= 0) return;
    const typeOf = new Map<string, string>();
    for (const row of rows?.rows ?? []) if (!typeOf.has(row.layer)) typeOf.set(row.layer, row.op);
    new TimelineCanvas(context, scene, typeOf, width, element);
  },
};
