// SPDX-License-Identifier: Apache-2.0
// An iteration over time, on a canvas. What the mouse points at is drawn on a second one above it, so that pointing costs
// nothing of the first.
import { legend } from "./chart";
import { type Window } from "./coverage";
import { h, menu } from "./dom";
import { memoryChart } from "./memory";
import { color, cssValue } from "./palette";
import { partColor, partsOfLanes } from "./parallel";
import { isProfile } from "./schema";
import { firstEndingAfter, scenesOf, type Lane, type Scene } from "./slices";
import { axisHeight, chipHeight, drawAxis, drawLane, drawOnChip, laneHeight, left, penOf, right } from "./timeline_draw";
import { regionTable } from "./timeline_region";
import { hideTip, showTip } from "./tooltip";
import { format } from "./units";
import { remade, type Context, type View } from "./view";

function windowIn(text: string, end: number): Window | null {
  const [from, to] = text.split("-").map(Number);
  const isSpan = from !== undefined && to !== undefined && from >= 0 && to > from && to <= 1;
  return isSpan ? { from: from * end, to: to * end } : null;
}

function spanText({ from, to }: Window, end: number): string {
  return `${(from / end).toFixed(5)}-${(to / end).toFixed(5)}`;
}

class TimelineCanvas {
  private readonly canvas = h("canvas", {
    tabindex: 0,
    role: "img",
    "aria-label": "Timeline; plus and minus zoom, arrows move, S sums up what is shown, Escape shows everything",
  });
  private readonly marks = h("canvas", { class: "marks", "aria-hidden": "true" });
  private readonly sums = h("div", { class: "wide", role: "status" });
  private readonly height: number;
  private window: Window;
  private region: Window | null;
  private isAsked = { all: false, marks: false };
  private isDragged = false;
  private isSelecting = false; // without Shift, too
  private pointer: PointerEvent | null = null;
  private places = new Map<Lane, Map<string, number[]>>(); // slices by layer

  constructor(
    private readonly context: Context,
    private readonly scene: Scene,
    private readonly typeOf: Map<string, string>,
    private readonly width: number,
    element: HTMLElement,
  ) {
    this.height = scene.lanes.length * laneHeight + (scene.onChip ? chipHeight : 0) + axisHeight;
    const { state } = context;
    this.window = windowIn(state.get("span"), scene.end) ?? { from: 0, to: scene.end };
    this.region = windowIn(state.get("region"), scene.end);
    element.append(this.controls(), h("div", { class: "timeline" }, this.canvas, this.marks), this.legend(), this.sums);
    if (scene.note !== "") element.append(h("p", { class: "dim" }, scene.note));
    this.listen();
    this.draw();
    this.showSums();
  }

  private controls(): HTMLElement {
    const button = (label: string, title: string, act: () => void) =>
      h("button", { title, "aria-label": title, click: act }, label);
    const select = h(
      "button",
      {
        "aria-pressed": "false",
        click: () => {
          this.isSelecting = !this.isSelecting;
          select.setAttribute("aria-pressed", String(this.isSelecting));
        },
      },
      "select",
    );
    return h(
      "div",
      { class: "controls" },
      button("+", "zoom in", () => this.scaleBy(2)),
      button("−", "zoom out", () => this.scaleBy(0.5)),
      button("all", "show everything", () => this.show(0, this.scene.end)),
      select,
      h("span", { class: "dim" }, "Ctrl and wheel zoom, drag moves, Shift and drag sums up a part"),
    );
  }

  private legend(): HTMLElement {
    const used = new Set([...this.typeOf.values()]);
    const types = [...used].map((name) => ({ name, color: this.context.types.of(name), at: this.context.types.index(name) }));
    const entries = types.sort((a, b) => a.at - b.at).map(({ name, color: value }) => ({ name: name || "(none)", color: value }));
    for (const part of partsOfLanes(this.scene.lanes)) entries.push({ name: part, color: partColor(part) });
    const titles: Partial<Record<Lane["kind"], [string, number]>> = {
      waits: ["waits", 1],
      in: ["bytes in", 5],
      out: ["bytes out", 4],
    };
    for (const lane of this.scene.lanes) {
      const own = titles[lane.kind];
      if (own) entries.push({ name: lane.kind === "waits" ? lane.title : own[0], color: color(own[1]) });
    }
    return legend(entries, 24);
  }

  private listen(): void {
    const { canvas, context } = this;
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => {
      this.pointer = null;
      hideTip();
      context.links.point(null);
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return; // the page scrolls
        event.preventDefault(); // also where nothing changes: the browser would zoom the page
        this.scaleBy(2 ** (-event.deltaY / 500), this.window.from + this.timeOf(event.offsetX - left));
      },
      { passive: false },
    );
    this.drag();
    canvas.addEventListener("click", (event) => {
      if (this.isDragged) return;
      const found = this.at(event);
      const layer = found?.lane.layer(found.index) ?? "";
      if (layer !== "") context.links.toggle(layer);
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
    context.links.on(() => this.ask("marks"));
    context.state.on(["span"], () => this.move());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.ask("all"), {
      signal: context.ended,
    });
  }

  private key(event: KeyboardEvent): void {
    const { from, to } = this.window;
    const step = (to - from) / 8;
    if (event.key === "+" || event.key === "=") this.scaleBy(2);
    else if (event.key === "-") this.scaleBy(0.5);
    else if (event.key === "ArrowRight") this.show(from + step, to + step);
    else if (event.key === "ArrowLeft") this.show(from - step, to - step);
    else if (event.key === "s" || event.key === "S") this.select({ from, to });
    else if (event.key === "Escape" && this.region) this.select(null);
    else if (event.key === "Escape") this.show(0, this.scene.end);
    else return;
    event.preventDefault();
  }

  /// Moves what is shown with the pointer while its button is down, or selects with Shift held. The click that ends it
  /// chooses nothing.
  private drag(): void {
    let last: number | null = null;
    let anchor: number | null = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      last = event.clientX;
      anchor = event.shiftKey || this.isSelecting ? this.momentAt(event) : null;
      this.isDragged = false;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (last === null || (!this.isDragged && Math.abs(event.clientX - last) < 3)) return;
      this.isDragged = true;
      const by = this.timeOf(last - event.clientX);
      last = event.clientX;
      if (anchor === null) return this.show(this.window.from + by, this.window.to + by);
      const now = this.momentAt(event);
      this.select({ from: Math.min(anchor, now), to: Math.max(anchor, now) });
    });
    for (const ending of ["pointerup", "pointercancel"] as const)
      this.canvas.addEventListener(ending, () => (last = null));
  }

  private select(region: Window | null): void {
    this.region = region && region.to > region.from ? region : null;
    this.context.state.set("region", this.region ? spanText(this.region, this.scene.end) : "");
    this.showSums();
    this.ask("marks");
  }

  private showSums(): void {
    const { region } = this;
    if (!region) return this.sums.replaceChildren();
    this.sums.replaceChildren(
      regionTable(this.scene, region, this.typeOf),
      h(
        "p",
        { class: "controls" },
        h("button", { click: () => this.show(region.from, region.to) }, "zoom to it"),
        h("button", { click: () => this.select(null) }, "clear"),
      ),
    );
  }

  private momentAt(event: MouseEvent): number {
    const x = event.clientX - this.canvas.getBoundingClientRect().left - left;
    return Math.min(this.scene.end, Math.max(0, this.window.from + this.timeOf(x)));
  }

  /// The time that so many pixels show.
  private timeOf(pixels: number): number {
    return (pixels * (this.window.to - this.window.from)) / (this.width - left - right);
  }

  /// Shows a shorter or longer span, in which a moment keeps its place.
  private scaleBy(factor: number, moment = (this.window.from + this.window.to) / 2): void {
    const { from, to } = this.window;
    this.show(moment - (moment - from) / factor, moment + (to - moment) / factor);
  }

  /// Shows this span, or the nearest of its length that lies inside the iteration.
  private show(from: number, to: number): void {
    const { end } = this.scene;
    const length = Math.min(end, Math.max(to - from, end / 1e5));
    const first = Math.min(Math.max(0, from), end - length);
    this.window = { from: first, to: first + length };
    this.context.state.set("span", length >= end ? "" : spanText(this.window, end));
    this.ask("all");
  }

  /// The span was changed elsewhere: in the memory chart, or by the address.
  private move(): void {
    const { end } = this.scene;
    const window = windowIn(this.context.state.get("span"), end) ?? { from: 0, to: end };
    if (spanText(window, end) === spanText(this.window, end)) return;
    this.window = window;
    this.ask("all");
  }

  private ask(what: "all" | "marks"): void {
    const isIdle = !this.isAsked.all && !this.isAsked.marks;
    this.isAsked[what] = true;
    if (!isIdle) return;
    requestAnimationFrame(() => {
      const isAll = this.isAsked.all;
      this.isAsked = { all: false, marks: false };
      if (isAll) this.draw();
      else this.drawMarks();
    });
  }

  /// Of slices below a pixel the one that takes most of it.
  private at(event: MouseEvent): { lane: Lane; index: number } | null {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const lane = this.scene.lanes[Math.floor(y / laneHeight)];
    if (!lane || x < left) return null;
    const perPixel = this.timeOf(1);
    const time = this.window.from + (x - left) * perPixel;
    let [best, most] = [-1, 0];
    for (let i = firstEndingAfter(lane, time - perPixel); i < lane.start.length; i++) {
      const start = lane.start[i] ?? Infinity;
      if (start > time + perPixel) break;
      const inside = Math.min(lane.end[i] ?? 0, time + perPixel) - Math.max(start, time - perPixel);
      if (inside > most || best < 0) [best, most] = [i, inside];
    }
    return best < 0 ? null : { lane, index: best };
  }

  private point(event: PointerEvent): void {
    this.pointer = event;
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
      ["type", lane.kind === "rows" ? (this.typeOf.get(layer) ?? "") : (lane.key?.(index) ?? "")],
      ["from", format(lane.start[index], "s")],
      ["time", format(lane.busy[index], "s")],
      ["bytes", bytes > 0 ? format(bytes, "bytes") : ""],
      ["", count > 1 ? `longest of ${count} taken together` : ""],
    ]);
    this.context.links.point(layer === "" ? null : { layer, pass: lane.pass(index) || undefined });
  }

  private draw(): void {
    const pen = penOf(this.canvas, this.width, this.height);
    if (!pen) return;
    const { context, scene, typeOf, width, window } = this;
    const drawing = { context, scene, typeOf, width, window };
    scene.lanes.forEach((lane, number) => drawLane(pen, drawing, lane, number * laneHeight));
    const below = scene.lanes.length * laneHeight;
    if (scene.onChip) drawOnChip(pen, drawing, below);
    drawAxis(pen, drawing, below + (scene.onChip ? chipHeight : 0));
    this.drawMarks();
    if (this.pointer) this.point(this.pointer); // what is below it has changed
  }

  private slicesOf(lane: Lane, layer: string): number[] {
    let known = this.places.get(lane);
    if (!known) {
      known = new Map();
      for (let i = 0; i < lane.start.length; i++) {
        const list = known.get(lane.layer(i));
        if (list) list.push(i);
        else known.set(lane.layer(i), [i]);
      }
      this.places.set(lane, known);
    }
    return known.get(layer) ?? [];
  }

  /// The layer that is pointed at or chosen, and the part that is summed up.
  private drawMarks(): void {
    const pen = penOf(this.marks, this.width, this.height);
    if (!pen) return;
    const { hovered, chosen } = this.context.links;
    const layers = new Set([chosen, hovered?.layer ?? ""].filter((each) => each !== ""));
    pen.fillStyle = cssValue("--ink");
    for (const layer of layers)
      this.scene.lanes.forEach((lane, number) => this.drawMark(pen, lane, number * laneHeight, layer));
    if (!this.region) return;
    const scale = (this.width - left - right) / (this.window.to - this.window.from);
    const x0 = Math.max(left, left + (this.region.from - this.window.from) * scale);
    const x1 = Math.min(this.width - right, left + (this.region.to - this.window.from) * scale);
    if (x1 <= x0) return;
    pen.fillStyle = cssValue("--accent");
    pen.globalAlpha = 0.16;
    pen.fillRect(x0, 0, x1 - x0, this.height - axisHeight);
    pen.globalAlpha = 1;
    for (const x of [x0, x1 - 1]) pen.fillRect(x, 0, 1, this.height - axisHeight);
  }

  private drawMark(pen: CanvasRenderingContext2D, lane: Lane, top: number, layer: string): void {
    const scale = (this.width - left - right) / (this.window.to - this.window.from);
    let painted = left;
    for (const i of this.slicesOf(lane, layer)) {
      const [start, end] = [lane.start[i] ?? 0, lane.end[i] ?? 0];
      if (end < this.window.from || start > this.window.to) continue;
      const x0 = Math.max(painted, left + (start - this.window.from) * scale);
      const x1 = Math.min(this.width - right, Math.max(x0 + 1.5, left + (end - this.window.from) * scale));
      if (x1 <= x0) continue;
      pen.fillRect(x0, top + 1, x1 - x0, 3); // above and below, so that its colour stays
      pen.fillRect(x0, top + laneHeight - 4, x1 - x0, 3);
      painted = x1;
    }
  }
}

/// The types of rows, by layer.
export function typesOfLayers({ rows }: Context): Map<string, string> {
  const typeOf = new Map<string, string>();
  for (const row of rows?.rows ?? []) if (!typeOf.has(row.layer)) typeOf.set(row.layer, row.op);
  return typeOf;
}

function render(context: Context, element: HTMLElement, width: number): void {
  const scenes = scenesOf(context);
  const inner = h("div", {});
  const typeOf = typesOfLayers(context);
  const { memory, document } = context.part;
  const expected = isProfile(document) ? document.expected : undefined;
  remade(context, ["times"], () => {
    const chosen = scenes[Number(context.state.get("times")) || 0] ?? scenes[0];
    inner.replaceChildren();
    if (!chosen) return;
    if (scenes.length > 1)
      inner.append(
        h(
          "div",
          { class: "controls" },
          menu(
            "times",
            scenes.map((scene, at) => ({ value: at === 0 ? "" : String(at), label: scene.title })),
            context.state.get("times"),
            (value) => context.state.set("times", value),
          ),
        ),
      );
    new TimelineCanvas(context, chosen, typeOf, width, inner);
    if (memory && chosen === scenes[0]) inner.append(memoryChart(context, memory, width, 200));
    if (expected && chosen === scenes[0] && context.part.timeline)
      inner.append(
        h(
          "p",
          { class: "dim" },
          `The simulation is of the limit, ${format(chosen.end, "s")} of the ${format(expected.time_s, "s")} that are expected: perfect kernels, and transfers that overlap with them.`,
        ),
      );
  });
  element.append(inner);
}

export const timelineView: View = {
  id: "timeline",
  title: "Timeline",
  fits: (context) => scenesOf(context).length > 0,
  render,
};
