// SPDX-License-Identifier: Apache-2.0
// The network as a graph from top to bottom, its layers coloured by time, bound or type, with the shapes that go along
// its edges. It can be searched and zoomed.
import { legend, scaleBar } from "./chart";
import { h, menu, s } from "./dom";
import { placed, type GraphNode } from "./layout";
import { Marks } from "./links";
import { box, edgePath, sheetOf, type Sheet } from "./network_layout";
import { Colors, inkOn, shade } from "./palette";
import { shortPath } from "./path_names";
import { roving, withTipAnyhow } from "./roving";
import { grouped, valueOf, type Group } from "./rows";
import type { ModelDocument, ModelLayer } from "./schema";
import { format } from "./units";
import { remade, type Context, type View } from "./view";

const mostNodes = 1500;
const zooms = { least: 0.2, most: 2.5, step: 1.25 };

interface Shown extends GraphNode {
  layers: ModelLayer[];
  op: string;
}

function modelOf(context: Context): ModelDocument | null {
  if (context.part.model) return context.part.model;
  const { document } = context.part;
  if (document.kind === "model") return document as ModelDocument;
  // A network that was given beside a profile.
  for (const part of context.report.parts) {
    const other = part.document;
    if (
      other.kind === "model" &&
      (other as ModelDocument).layers.some((layer) => context.rows?.rows[0]?.layer === layer.name)
    )
      return other as ModelDocument;
  }
  return null;
}

/// A node per layer, or per block where there are too many to see.
function nodesOf(model: ModelDocument): { nodes: Shown[]; isByBlock: boolean } {
  const isByBlock = model.layers.length > mostNodes;
  const nodes: Shown[] = [];
  const numbers = new Map<string, number>(); // of the node that a layer is in
  const blocks = new Map<string, number>();
  for (const layer of model.layers) {
    const name = isByBlock && layer.block !== "" ? layer.block : layer.name;
    let at = isByBlock ? blocks.get(name) : undefined;
    if (at === undefined) {
      at = nodes.length;
      nodes.push({ name, inputs: [], layers: [], op: layer.op });
      blocks.set(name, at);
    }
    const node = nodes[at] as Shown;
    node.layers.push(layer);
    for (const input of layer.inputs) {
      const from = numbers.get(input);
      if (from !== undefined && from < at && !node.inputs.includes(from)) node.inputs.push(from);
    }
    numbers.set(layer.name, at);
  }
  return { nodes: nodes.slice(0, mostNodes), isByBlock };
}

function shapeOf(node: Shown): string {
  return node.layers.at(-1)?.output_shape.join("×") ?? "";
}

class Graph {
  readonly svg: SVGSVGElement;
  readonly groups: SVGGElement[] = [];
  readonly most: number;
  private readonly places;
  private readonly sheet: Sheet;
  private readonly bounds = new Colors(["compute", "memory", "launch"]);

  constructor(
    private readonly context: Context,
    private readonly nodes: Shown[],
    private readonly sums: Map<string, Group>,
    private readonly marks: Marks,
    private readonly colorBy: string,
    room: number,
  ) {
    this.places = placed(nodes);
    this.sheet = sheetOf(nodes, this.places, room);
    const { width, height } = this.sheet;
    this.svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": "The network" });
    this.most = nodes.reduce((largest, node) => Math.max(largest, this.sumOf(node)), 0);
    nodes.forEach((node, at) => this.drawEdges(node, at));
    nodes.forEach((node, at) => this.drawNode(node, at));
    const names = new Map(this.groups.map((group, at) => [group as Element, nodes[at] as Shown]));
    roving(this.svg, ".node-group", (mark) => {
      const node = names.get(mark);
      return node ? `${mark.textContent ?? ""}, ${node.name}, ${node.op}, output ${shapeOf(node)}` : "";
    });
  }

  zoom(scale: number): void {
    this.svg.setAttribute("width", String(this.sheet.width * scale));
    this.svg.setAttribute("height", String(this.sheet.height * scale));
  }

  get width(): number {
    return this.sheet.width;
  }

  private sumOf(node: Shown): number {
    const { rows } = this.context;
    if (!rows) return 0;
    return node.layers.reduce(
      (sum, layer) => sum + (valueOf(this.sums.get(layer.name)?.numbers ?? {}, rows.main) ?? 0),
      0,
    );
  }

  private boundOf(node: Shown): string {
    const times = new Map<string, number>();
    for (const layer of node.layers)
      for (const row of this.sums.get(layer.name)?.rows ?? [])
        times.set(row.bound, (times.get(row.bound) ?? 0) + (row.numbers.time_s ?? 0));
    return [...times].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "";
  }

  /// The colour of a node and of what is written on it.
  private paint(node: Shown): [string, string] {
    const plain: [string, string] = ["var(--raised)", "var(--ink)"];
    if (this.colorBy === "type") return [this.context.types.of(node.op), this.context.types.inkOf(node.op)];
    if (this.colorBy === "bound") {
      const bound = this.boundOf(node);
      return bound === "" ? plain : [this.bounds.of(bound), this.bounds.inkOf(bound)];
    }
    const sum = this.sumOf(node);
    if (sum <= 0 || this.most <= 0) return plain;
    const fill = shade(Math.sqrt(sum / this.most));
    return [fill, inkOn(fill)];
  }

  private drawEdges(node: Shown, at: number): void {
    const to = this.sheet.spots[at];
    if (!to) return;
    const drawn = new Set<number>();
    for (const input of node.inputs) {
      const from = this.sheet.spots[input];
      if (!from || drawn.has(input)) continue;
      drawn.add(input);
      const rows = (this.places[at]?.row ?? 0) - (this.places[input]?.row ?? 0);
      this.svg.append(s("path", { d: edgePath(from, to, rows, this.sheet), class: "edge" }));
    }
  }

  private drawNode(node: Shown, at: number): void {
    const { x, y } = this.sheet.spots[at] ?? { x: 0, y: 0 };
    const { rows, links } = this.context;
    const sum = this.sumOf(node);
    const [fill, ink] = this.paint(node);
    const amount = rows && sum > 0 ? format(sum, rows.main.unit) : "";
    const room = Math.floor((box.width - 20 - 6.6 * amount.length) / 6.8);
    const rect = s("rect", { width: box.width, height: box.height, rx: 4, fill, class: "node" });
    const group = s(
      "g",
      { transform: `translate(${x},${y})`, class: "node-group" },
      rect,
      s("text", { x: 7, y: 15, class: "node-name", style: `fill:${ink}`, direction: "ltr" }, shortPath(node.name, room)),
      s("text", { x: box.width - 7, y: 15, "text-anchor": "end", class: "node-name", style: `fill:${ink}` }, amount),
    );
    withTipAnyhow(group, node.name, () => [
      ["type", node.layers.length > 1 ? `${node.layers.length} layers` : node.op],
      ["output", shapeOf(node)],
      [rows?.main.label ?? "", rows ? format(sum, rows.main.unit) : ""],
      ["bound", this.boundOf(node)],
    ]);
    const layer = node.layers.length === 1 ? node.layers[0]?.name : undefined;
    if (layer !== undefined) {
      this.marks.add(rect, { layer }, false);
      for (const on of ["pointerenter", "focus"]) group.addEventListener(on, () => links.point({ layer }));
      for (const off of ["pointerleave", "blur"]) group.addEventListener(off, () => links.point(null));
      group.addEventListener("click", () => links.toggle(layer));
    }
    this.groups.push(group);
    this.svg.append(group);
    if (this.nodes.some((other) => other.inputs.includes(at)))
      this.svg.append(s("text", { x: x + 24, y: y + box.height + 12, class: "shape" }, shapeOf(node)));
  }
}

/// Marks what a search finds and goes from one to the next.
class Search {
  private found: number[] = [];
  private at = -1;
  readonly said = h("span", { class: "dim", role: "status" });

  constructor(
    private readonly nodes: Shown[],
    private readonly frame: HTMLElement,
  ) {}

  look(graph: Graph, text: string): void {
    const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
    this.found = [];
    this.at = -1;
    this.nodes.forEach((node, at) => {
      const all = `${node.name} ${node.op} ${shapeOf(node)}`.toLowerCase();
      const isFound = words.every((word) => all.includes(word));
      graph.groups[at]?.classList.toggle("aside", !isFound);
      if (isFound) this.found.push(at);
    });
    this.said.textContent = words.length === 0 ? "" : `${this.found.length} of ${this.nodes.length}; Enter goes to the next`;
    if (words.length > 0) this.next(graph);
  }

  next(graph: Graph): void {
    if (this.found.length === 0) return;
    this.at = (this.at + 1) % this.found.length;
    const group = graph.groups[this.found[this.at] ?? 0];
    if (!group) return;
    const [inner, outer] = [group.getBoundingClientRect(), this.frame.getBoundingClientRect()];
    this.frame.scrollTop += inner.top - outer.top - outer.height / 2;
    this.frame.scrollLeft += inner.left - outer.left - outer.width / 3;
  }
}

class NetworkView {
  private readonly nodes: Shown[];
  private readonly isByBlock: boolean;
  private readonly sums: Map<string, Group>;
  private readonly marks: Marks;
  private readonly frame = h("div", {
    class: "graph",
    tabindex: 0,
    role: "group",
    "aria-label": "The network; scroll to see all",
  });
  private readonly search: Search;
  private graph!: Graph;
  private scale = 1;

  constructor(
    private readonly context: Context,
    model: ModelDocument,
    element: HTMLElement,
    private readonly width: number,
  ) {
    const { nodes, isByBlock } = nodesOf(model);
    [this.nodes, this.isByBlock] = [nodes, isByBlock];
    const { rows } = context;
    this.sums = new Map((rows ? grouped(rows.rows, "layer") : []).map((group) => [group.name, group]));
    this.marks = new Marks(context.links);
    this.search = new Search(nodes, this.frame);
    const menus = h("div", { class: "controls" });
    const keys = h("div", {});
    element.append(menus, h("figure", { class: "chart" }, h("figcaption", {}, "The network"), this.frame), keys);
    remade(context, ["netcolor"], () => this.make(menus, keys));
    this.frame.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        this.zoom(this.scale * 2 ** (-event.deltaY / 400));
      },
      { passive: false },
    );
  }

  private zoom(scale: number): void {
    this.scale = Math.min(zooms.most, Math.max(zooms.least, scale));
    this.graph.zoom(this.scale);
  }

  private make(menus: HTMLElement, keys: HTMLElement): void {
    const { rows, state, types } = this.context;
    this.marks.clear();
    const hasBounds = rows?.rows.some((row) => row.bound !== "") ?? false;
    const choices = [
      { value: "", label: rows?.main.label ?? "time" },
      ...(hasBounds ? [{ value: "bound", label: "bound" }] : []),
      { value: "type", label: "type" },
    ];
    const by = choices.find((each) => each.value === state.get("netcolor"))?.value || "time";
    this.graph = new Graph(this.context, this.nodes, this.sums, this.marks, by, this.width - 4);
    this.frame.replaceChildren(this.graph.svg);
    this.zoom(this.scale);
    const field: HTMLInputElement = h("input", {
      type: "search",
      placeholder: "search the network",
      "aria-label": "Search the network",
      input: () => this.search.look(this.graph, field.value),
      keydown: (event: KeyboardEvent) => event.key === "Enter" && this.search.next(this.graph),
    });
    const button = (text: string, about: string, work: () => void) =>
      h("button", { click: work, title: about, "aria-label": about }, text);
    menus.replaceChildren(
      field,
      this.search.said,
      menu("colour by", choices, by === "time" ? "" : by, (value) => state.set("netcolor", value)),
      h(
        "span",
        { class: "zoom" },
        button("−", "smaller", () => this.zoom(this.scale / zooms.step)),
        button("+", "larger", () => this.zoom(this.scale * zooms.step)),
        button("fit", "fit the width", () => this.zoom((this.frame.clientWidth - 2) / this.graph.width)),
      ),
      h("span", { class: "dim" }, this.isByBlock ? "blocks, as there are too many layers to see" : `${this.nodes.length} layers`),
    );
    const names =
      by === "bound"
        ? ["compute", "memory", "launch"].filter((bound) => rows?.rows.some((row) => row.bound === bound))
        : [...new Set(this.nodes.map((node) => node.op))];
    const colors = by === "bound" ? new Colors(["compute", "memory", "launch"]) : types;
    const unit = rows?.main.unit ?? "s";
    keys.replaceChildren(
      by !== "time"
        ? legend(names.map((each) => ({ name: each, color: colors.of(each) })))
        : this.graph.most > 0
          ? h("div", { class: "scale-row" }, scaleBar(shade, (share) => format(share ** 2 * this.graph.most, unit), this.width))
          : "",
    );
  }
}

export const networkView: View = {
  id: "network",
  title: "Network",
  fits: (context) => modelOf(context) !== null,
  render: (context, element, width) => {
    const model = modelOf(context);
    if (model) new NetworkView(context, model, element, width);
  },
};
