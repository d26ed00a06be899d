// SPDX-License-Identifier: Apache-2.0
// Where it goes: bars by type, block, pass or layer, and a map in which each layer has its share of the area.
import { hierarchy, treemap, treemapSquarify, type HierarchyRectangularNode } from "d3-hierarchy";
import { legend } from "./chart";
import { h, menu, s, short } from "./dom";
import { Marks } from "./links";
import { Colors } from "./palette";
import { roving, withTipAnyhow } from "./roving";
import {
  grouped,
  groupLabels,
  iterationOf,
  valueOf,
  waitOf,
  type Group,
  type GroupKey,
  type Metric,
  type Row,
  type RowSet,
} from "./rows";
import { isProfile, type Document } from "./schema";
import { withTip, type Lines } from "./tooltip";
import { restsOf, type TimePart } from "./totals";
import { timesByType } from "./types_of_kernels";
import { format, percent } from "./units";
import { remade, type Context, type View } from "./view";

const mostBars = 24;
const mostTiles = 1500;

function summable(rows: RowSet): Metric[] {
  return rows.metrics.filter((metric) => !metric.over && metric.unit !== "share" && metric.unit !== "ratio");
}

function chosenMetric(context: Context, rows: RowSet): Metric {
  return summable(rows).find((metric) => metric.key === context.state.get("metric")) ?? rows.main;
}

function tipOf(numbers: Record<string, number>, rows: RowSet): Lines {
  const keys = [
    "expected_s",
    "step_time_s",
    "time_s",
    "compute_time_s",
    "stall_time_s",
    "flop",
    "traffic_bytes",
    "parameters",
    "activation_bytes",
  ];
  return rows.metrics
    .filter((metric) => keys.includes(metric.key))
    .map((metric): [string, string] => [metric.label, format(valueOf(numbers, metric), metric.unit)]);
}

function barRow(
  context: Context,
  rows: RowSet,
  marks: Marks,
  group: Group,
  key: GroupKey,
  metric: Metric,
  most: number,
  all: number,
): HTMLElement {
  const value = valueOf(group.numbers, metric) ?? 0;
  const bar = h("span", { class: "bar" });
  bar.style.width = `${most > 0 ? (100 * value) / most : 0}%`;
  bar.style.setProperty(
    "--swatch",
    key === "op" ? context.types.of(group.kind ?? group.name) : new Colors().of(group.name),
  );
  // Of time, the part that waits is hatched.
  const stall = metric.key === "time_s" ? (group.numbers.stall_time_s ?? 0) : 0;
  if (stall > 0 && value > 0) {
    const waiting = h("span", { class: "waiting" });
    waiting.style.width = `${Math.min(100, (100 * stall) / value)}%`;
    bar.append(waiting);
  }
  const row = h(
    "button",
    { class: "bar-row", "data-group": group.name },
    h("bdi", { class: "bar-name" }, short(group.name || "(none)", 32)),
    h("span", { class: "bar-track" }, bar),
    h("span", { class: "bar-value" }, format(value, metric.unit)),
    h("span", { class: "bar-share" }, all > 0 ? percent(value / all) : ""),
  );
  withTip(row, group.name, () => [...tipOf(group.numbers, rows), ["rows", group.rows.length > 0 ? String(group.rows.length) : ""]]);
  if (key === "layer") marks.add(row, { layer: group.name });
  else
    row.addEventListener("click", () =>
      context.state.set("find", group.name === "" ? "" : `${groupLabels[key]}:${(group.kind ?? group.name).split(" ")[0]}`),
    );
  return row;
}

/// What is in no row, so that the bars add up to the iteration.
function restRow({ to, time_s }: TimePart, metric: Metric, most: number, all: number): HTMLElement {
  const bar = h("span", { class: "bar" });
  bar.style.width = `${most > 0 ? (100 * Math.max(0, time_s)) / most : 0}%`;
  bar.style.setProperty("--swatch", "var(--dim)");
  return h(
    "div",
    { class: "bar-row rest" },
    h("span", { class: "bar-name" }, to),
    h("span", { class: "bar-track" }, bar),
    h("span", { class: "bar-value" }, format(time_s, metric.unit)),
    h("span", { class: "bar-share" }, all > 0 ? percent(time_s / all) : ""),
  );
}

/// Time by type is that of the first screen, whatever the rows are called by.
function groupsOf(document: Document, rows: RowSet, key: GroupKey, metric: Metric): Group[] {
  if (key !== "op" || metric.key !== "time_s" || !isProfile(document) || document.kind !== "trace") return grouped(rows.rows, key);
  return timesByType(document, rows).map(({ name, kind, time_s }) => ({ name, kind, rows: [], numbers: { time_s } }));
}

function bars(context: Context, rows: RowSet, marks: Marks, element: HTMLElement): void {
  const metric = chosenMetric(context, rows);
  const key = (rows.groups.find((each) => each === context.state.get("by")) ??
    rows.groups[0] ??
    "layer") as GroupKey;
  const { document } = context.part;
  const groups = groupsOf(document, rows, key, metric);
  const value = (group: Group) => valueOf(group.numbers, metric) ?? 0;
  groups.sort((a, b) => value(b) - value(a));
  const all =
    (metric.key === "time_s" || metric.key === "step_time_s") && isProfile(document)
      ? iterationOf(document)
      : metric.key === "expected_s" && isProfile(document)
        ? waitOf(document)
        : groups.reduce((sum, group) => sum + value(group), 0);
  const list = h("div", { class: "bars" });
  const rests = isProfile(document) ? restsOf(document, rows, metric.key) : [];
  // The longest bar fills its track, whatever it is of.
  const most = Math.max(value(groups[0] as Group), ...rests.map((rest) => rest.time_s));
  for (const group of groups.slice(0, mostBars)) list.append(barRow(context, rows, marks, group, key, metric, most, all));
  for (const rest of rests) list.append(restRow(rest, metric, most, all));
  if (groups.length > mostBars) {
    const rest = groups.slice(mostBars).reduce((sum, group) => sum + value(group), 0);
    list.append(
      h(
        "p",
        { class: "dim" },
        `and ${groups.length - mostBars} more: ${format(rest, metric.unit)}, ${percent(rest / (all || 1))}`,
      ),
    );
  }
  element.replaceChildren(
    h(
      "div",
      { class: "controls" },
      menu(
        "of",
        summable(rows).map((each) => ({ value: each.key, label: each.label })),
        metric.key,
        (chosen) => context.state.set("metric", chosen),
      ),
      menu(
        "by",
        rows.groups.map((each) => ({ value: each, label: groupLabels[each] })),
        key,
        (chosen) => context.state.set("by", chosen),
      ),
    ),
    list,
    metric.key === "time_s" && rows.rows.some((row) => (row.numbers.stall_time_s ?? 0) > 0)
      ? h("p", { class: "dim" }, "hatched: waiting for memory")
      : "",
  );
}

interface Tile {
  name: string;
  row?: Row;
  layer?: string;
  count?: number;
  value?: number;
  children?: Tile[];
}

/// Blocks, and in them layers with all their passes; the smallest are taken together where they are too many.
function tilesOf(rows: RowSet, metric: Metric): Tile {
  const layers = grouped(rows.rows, "layer")
    .map((group) => ({ group, value: valueOf(group.numbers, metric) ?? 0 }))
    .filter((each) => each.value > 0)
    .sort((a, b) => b.value - a.value);
  const blocks = new Map<string, Tile[]>();
  const rest = { value: 0, count: 0 };
  layers.forEach(({ group, value }, at) => {
    const row = group.rows[0];
    if (!row) return;
    if (at >= mostTiles) {
      rest.value += value;
      rest.count++;
      return;
    }
    const block = row.block || row.layer;
    const tiles = blocks.get(block) ?? [];
    tiles.push({ name: group.name, layer: group.name, row, value });
    blocks.set(block, tiles);
  });
  const children: Tile[] = [...blocks].map(([name, tiles]) => ({ name, children: tiles }));
  if (rest.count > 0)
    children.push({ name: `${rest.count} smaller layers`, value: rest.value, count: rest.count });
  return { name: "", children };
}

/// In its block, a layer needs not repeat the block's name.
function ownName(data: Tile): string {
  const prefix = `${data.row?.block ?? ""}.`;
  return prefix.length > 1 && data.name.startsWith(prefix) ? data.name.slice(prefix.length) : data.name;
}

function tile(
  context: Context,
  marks: Marks,
  metric: Metric,
  node: HierarchyRectangularNode<Tile>,
): SVGGElement {
  const { data } = node;
  const [width, height] = [node.x1 - node.x0, node.y1 - node.y0];
  const fill = data.row ? context.types.of(data.row.op) : "var(--dim)";
  const rect = s("rect", {
    width: Math.max(0, width - 1),
    height: Math.max(0, height - 1),
    fill,
    class: "tile",
  });
  const group = s("g", { transform: `translate(${node.x0},${node.y0})` }, rect);
  if (width > 34 && height > 15)
    group.append(
      s(
        "text",
        { x: 4, y: 12, class: "tile-name", style: `fill:${data.row ? context.types.inkOf(data.row.op) : "var(--paper)"}`, direction: "ltr" },
        short(ownName(data), Math.max(3, Math.floor((width - 6) / 7))),
      ),
    );
  rect.setAttribute("data-name", `${data.name}: ${format(data.value ?? 0, metric.unit)}`);
  withTipAnyhow(rect, data.name, () => [
    [metric.label, format(data.value ?? 0, metric.unit)],
    ["type", data.row?.op ?? ""],
    ["block", data.row?.block ?? ""],
  ]);
  if (data.layer !== undefined) marks.add(rect, { layer: data.layer });
  return group;
}

/// A block of several layers has its name above them, where it is large enough.
function hasTitle(node: HierarchyRectangularNode<Tile>): boolean {
  return (
    node.depth === 1 && (node.children?.length ?? 0) > 1 && node.x1 - node.x0 > 44 && node.y1 - node.y0 > 44
  );
}

function map(context: Context, rows: RowSet, marks: Marks, element: HTMLElement, width: number): void {
  const metric = chosenMetric(context, rows);
  const size: [number, number] = [width, 380];
  const root = hierarchy(tilesOf(rows, metric)).sum((each) => each.value ?? 0);
  root.sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  const treemapped = treemap<Tile>()
    .size(size)
    .paddingInner(0)
    .paddingOuter(1)
    .paddingTop((node) => (hasTitle(node) ? 15 : 1))
    .tile(treemapSquarify.ratio(1.4))(root);
  const svg = s("svg", {
    viewBox: `0 0 ${size[0]} ${size[1]}`,
    width: size[0],
    height: size[1],
    role: "img",
    "aria-label": `${metric.label} by block and layer`,
  });
  for (const block of treemapped.children ?? []) {
    if (hasTitle(block))
      svg.append(
        s(
          "text",
          { x: block.x0 + 3, y: block.y0 + 12, direction: "ltr" },
          short(block.data.name, Math.max(3, Math.floor((block.x1 - block.x0 - 6) / 6.6))),
        ),
      );
    svg.append(
      s("rect", {
        x: block.x0,
        y: block.y0,
        width: Math.max(0, block.x1 - block.x0),
        height: Math.max(0, block.y1 - block.y0),
        class: "block",
      }),
    );
  }
  for (const leaf of treemapped.leaves()) if ((leaf.value ?? 0) > 0) svg.append(tile(context, marks, metric, leaf));
  roving(svg, ".tile", (mark) => mark.getAttribute("data-name") ?? "");
  const types = grouped(rows.rows, "op").sort(
    (a, b) => (valueOf(b.numbers, metric) ?? 0) - (valueOf(a.numbers, metric) ?? 0),
  );
  element.replaceChildren(
    h("figure", { class: "chart" }, h("figcaption", {}, `${metric.label} of each layer, in its block`), svg),
    legend(types.slice(0, 16).map((group) => ({ name: group.name, color: context.types.of(group.name) }))),
  );
}

export const timeView: View = {
  id: "time",
  title: "Where it goes",
  fits: (context) => context.rows !== null && context.rows.rows.length > 0,
  render: (context, element, width) => {
    const { rows } = context;
    if (!rows) return;
    const left = h("div", {});
    const right = h("div", {});
    const isWide = width > 900;
    element.append(h("div", { class: isWide ? "two" : "" }, left, right));
    const barMarks = new Marks(context.links);
    const mapMarks = new Marks(context.links);
    remade(context, ["metric", "by"], () => {
      barMarks.clear();
      bars(context, rows, barMarks, left);
    });
    remade(context, ["metric"], () => {
      mapMarks.clear();
      map(context, rows, mapMarks, right, isWide ? (width - 24) / 2 : width);
    });
  },
};
