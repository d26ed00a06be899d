// SPDX-License-Identifier: Apache-2.0
// The first screen of a profile: one bar of one total, the same total by type, what to change, and the iteration over time.
import { changesOf } from "./changes";
import { h, name, words } from "./dom";
import { Colors } from "./palette";
import { waitOf, type RowSet } from "./rows";
import type { ProfileDocument } from "./schema";
import { scenesOf, type Scene } from "./slices";
import { typesOfLayers } from "./timeline";
import { axisHeight, drawAxis, drawLane, laneHeight, penOf } from "./timeline_draw";
import { noticeable, partKey, restsOf, type TimePart } from "./totals";
import { timesByType } from "./types_of_kernels";
import { format, percent, type Unit } from "./units";
import type { Context } from "./view";

function measuredParts(document: ProfileDocument, rows: RowSet): TimePart[] {
  let [roof, below, unknown] = [0, 0, 0];
  const key = partKey(document);
  for (const { numbers } of rows.rows) {
    const time = numbers.time_s ?? 0;
    const share = time > 0 ? (numbers[key] ?? time) / time : 0; // of it, where kernels ran at the same time
    if (numbers.roof_time_s === undefined) unknown += share * time;
    else roof += share * Math.min(time, numbers.roof_time_s);
    if (numbers.roof_time_s !== undefined) below += share * Math.max(0, time - numbers.roof_time_s);
  }
  return [
    { to: "work at the roof", time_s: roof },
    { to: "kernels below their roof", time_s: below },
    { to: roof > 0 ? "kernels without a roof" : "kernels", time_s: unknown },
    ...restsOf(document, rows, key),
  ];
}

/// What the time of an iteration is lost to. The parts add up to it.
export function lostParts(document: ProfileDocument, rows: RowSet): TimePart[] {
  const { expected, totals } = document;
  const all = expected
    ? [{ to: "arithmetic at the peak", time_s: expected.arithmetic_s }, ...expected.lost_to]
    : document.evidence === "predicted" && typeof totals?.stall_time_s === "number"
      ? [
          { to: "arithmetic", time_s: Number(totals.compute_time_s ?? waitOf(document) - totals.stall_time_s) },
          { to: "waiting for memory", time_s: totals.stall_time_s - Number(totals.drain_time_s ?? 0) },
          { to: "last write-backs", time_s: Number(totals.drain_time_s ?? 0) },
        ]
      : measuredParts(document, rows);
  return all.filter((part) => part.time_s > noticeable * waitOf(document));
}

export interface BarPart {
  name: string;
  value: number;
  color: string;
}

/// One bar of one total, with its parts below it; the bar has room for `room`, where that is more.
export function bar(title: string, parts: BarPart[], total: number, unit: Unit, room = total): HTMLElement {
  const described = parts.map((part) => `${part.name} ${percent(part.value / total)}`).join(", ");
  const pieces = h("div", { class: "lost-bar", role: "img", "aria-label": described });
  const list = h("ul", { class: "lost-parts" });
  for (const { name: what, value, color } of parts) {
    const piece = h("span", { title: `${what}: ${format(value, unit)}` });
    piece.style.width = `${(100 * value) / room}%`;
    piece.style.setProperty("--swatch", color);
    pieces.append(piece);
    const item = h(
      "li",
      {},
      h("i", { "aria-hidden": "true" }),
      ...words(what),
      " ",
      h("span", { class: "number" }, format(value, unit)),
      " ",
      h("span", { class: "number dim" }, percent(value / total)),
    );
    item.style.setProperty("--swatch", color);
    list.append(item);
  }
  return h("div", { class: "lost" }, h("h3", {}, title), pieces, list);
}

/// One bar for the whole iteration.
export function lostBar(document: ProfileDocument, rows: RowSet): HTMLElement {
  const total = waitOf(document);
  const parts = lostParts(document, rows);
  const colors = new Colors(parts.map((part) => part.to));
  return bar(
    `What the ${format(total, "s")} are lost to`,
    parts.map(({ to, time_s }) => ({ name: to, value: time_s, color: colors.of(to) })),
    total,
    "s",
  );
}

const mostTypes = 8;

interface TypeTime {
  name: string;
  kind?: string; // by which it is coloured
  time_s: number;
  isType: boolean;
}

/// Types, most first, the smallest taken together, and what is left: together the iteration.
export function typeTimes(document: ProfileDocument, rows: RowSet): TypeTime[] {
  const types = timesByType(document, rows)
    .map((each): TypeTime => ({ ...each, isType: true }))
    .filter((each) => each.time_s > 0)
    .sort((a, b) => b.time_s - a.time_s);
  const shown = types.slice(0, types.length > mostTypes + 1 ? mostTypes : types.length);
  const others = types.slice(shown.length);
  if (others.length > 0)
    shown.push({
      name: `${others.length} other types`,
      time_s: others.reduce((sum, each) => sum + each.time_s, 0),
      isType: false,
    });
  for (const rest of restsOf(document, rows)) shown.push({ name: rest.to, time_s: rest.time_s, isType: false });
  return shown;
}

function typeBars(context: Context, document: ProfileDocument, rows: RowSet): HTMLElement {
  const total = waitOf(document);
  const times = typeTimes(document, rows);
  const most = times.reduce((all, each) => Math.max(all, each.time_s), 0);
  const row = (each: TypeTime) => {
    const bar = h("span", { class: "bar" });
    bar.style.width = `${most > 0 ? (100 * Math.max(0, each.time_s)) / most : 0}%`;
    bar.style.setProperty("--swatch", each.isType ? context.types.of(each.kind ?? each.name) : "var(--dim)");
    return h(
      "div",
      { class: "bar-row", "data-type": each.isType ? each.name : undefined },
      h("span", { class: "bar-name" }, each.isType ? name(each.name || "(none)", 32) : each.name),
      h("span", { class: "bar-track" }, bar),
      h("span", { class: "bar-value" }, format(each.time_s, "s")),
      h("span", { class: "bar-share" }, percent(each.time_s / total)),
    );
  };
  return h(
    "div",
    { class: "types" },
    h("h3", {}, "Time by type"),
    h("div", { class: "bars" }, ...times.map(row)),
    h(
      "p",
      { class: "dim more" },
      `together ${format(total, "s")}; `,
      h("a", { class: "to-view", href: "#layers" }, "by layer"),
      ", ",
      h("a", { class: "to-view", href: "#time" }, "as a map"),
    ),
  );
}

/// Of the scenes, the one whose total the page speaks of.
function stripScene(context: Context, document: ProfileDocument): Scene | undefined {
  const scenes = scenesOf(context);
  return document.expected ? scenes.at(-1) : scenes[0];
}

function strip(context: Context, document: ProfileDocument, width: number): HTMLElement | null {
  const scene = stripScene(context, document);
  if (!scene) return null;
  const lanes = scene.lanes.filter((lane) => lane.kind === "phases" || lane.kind === "rows" || lane.kind === "waits");
  const shown = lanes.filter((lane, at) => lane.kind !== "rows" || lanes.findIndex((each) => each.kind === "rows") === at);
  const canvas = h("canvas", { role: "img", "aria-label": `${scene.title}, over time` });
  const draw = () => {
    const heights = shown.map((lane) => (lane.kind === "phases" ? 28 : laneHeight));
    const height = heights.reduce((sum, each) => sum + each, axisHeight);
    const pen = penOf(canvas, width, height);
    if (!pen) return;
    const window = { from: 0, to: scene.end };
    const drawing = { context, scene, typeOf: typesOfLayers(context), width, window };
    let top = 0;
    shown.forEach((lane, at) => {
      drawLane(pen, drawing, lane, top, heights[at]);
      top += heights[at] ?? 0;
    });
    drawAxis(pen, drawing, top);
  };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw, { signal: context.ended });
  return h(
    "div",
    { class: "strip no-saves" }, // a link to the timeline, which can be saved there
    h("h3", {}, "Over time: ", h("span", { class: "dim" }, scene.title)),
    h("a", { class: "to-view", href: "#timeline", "aria-label": "Open the timeline" }, canvas),
  );
}

/// Everything below the headline of a profile with times.
export function answer(context: Context, document: ProfileDocument, rows: RowSet, width: number): HTMLElement[] {
  const changes = changesOf(context);
  const over = strip(context, document, width);
  return [
    lostBar(document, rows),
    h("div", { class: "beside" }, typeBars(context, document, rows), ...(changes ? [changes] : [])),
    ...(over ? [over] : []),
  ];
}
