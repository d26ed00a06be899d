// SPDX-License-Identifier: Apache-2.0
// The network as a graph from top to bottom, its layers coloured by time, bound or type.
import { interpolateViridis } from "d3-scale-chromatic";
import { legend } from "./chart";
import { h, menu, s, short } from "./dom";
import { placed, type GraphNode } from "./layout";
import { Marks } from "./links";
import { Colors } from "./palette";
import { grouped, valueOf, type Group } from "./rows";
import type { ModelDocument, ModelLayer } from "./schema";
import { withTip } from "./tooltip";
import { format } from "./units";
import { remade, type Context, type View } from "./view";

const mostNodes = 1500;
const box = { width: 270, height: 22, across: 300, down: 34 };

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

class Graph {
  private readonly svg: SVGSVGElement;
  private readonly places;

  constructor(
    private readonly context: Context,
    private readonly nodes: Shown[],
    private readonly sums: Map<string, Group>,
    private readonly marks: Marks,
    private readonly colorBy: string,
  ) {
    this.places = placed(nodes);
    const lanes = this.places.reduce((most, place) => Math.max(most, place.lane), 0) + 1;
    const rows = this.places.reduce((most, place) => Math.max(most, place.row), 0) + 1;
    const size = { width: lanes * box.across + 80, height: rows * box.down + 16 };
    this.svg = s("svg", {
      width: size.width,
      height: size.height,
      viewBox: `0 0 ${size.width} ${size.height}`,
      role: "img",
      "aria-label": "The network",
    });
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

  draw(): SVGSVGElement {
    const at = (index: number) => {
      const place = this.places[index] ?? { row: 0, lane: 0 };
      return { x: 40 + place.lane * box.across, y: 8 + place.row * box.down };
    };
    const most = this.nodes.reduce((largest, node) => Math.max(largest, this.sumOf(node)), 0);
    const bounds = new Colors();
    this.nodes.forEach((node, index) => {
      for (const input of node.inputs)
        this.svg.append(
          this.edge(at(input), at(index), (this.places[index]?.row ?? 0) - (this.places[input]?.row ?? 0)),
        );
    });
    this.nodes.forEach((node, index) => {
      const { x, y } = at(index);
      const sum = this.sumOf(node);
      const share = most > 0 ? Math.sqrt(sum / most) : 0;
      const fill =
        this.colorBy === "type"
          ? this.context.types.of(node.op)
          : this.colorBy === "bound"
            ? this.boundOf(node) === ""
              ? "var(--line)"
              : bounds.of(this.boundOf(node))
            : interpolateViridis(1 - share);
      const ink =
        this.colorBy === "time"
          ? share > 0.45
            ? "node-name light"
            : "node-name"
          : fill === "var(--line)"
            ? "node-name plain"
            : "node-name on-color";
      const rect = s("rect", { width: box.width, height: box.height, rx: 4, fill, class: "node" });
      const label = s(
        "text",
        { x: 7, y: 15, class: ink, direction: "ltr" },
        short(node.name, 26),
      );
      const { rows } = this.context;
      const amount = s(
        "text",
        { x: box.width - 7, y: 15, "text-anchor": "end", class: ink },
        rows && sum > 0 ? format(sum, rows.main.unit) : "",
      );
      const group = s(
        "g",
        { transform: `translate(${x},${y})`, tabindex: 0, role: "button", "aria-label": node.name },
        rect,
        label,
        amount,
      );
      withTip(group, node.name, () => [
        ["type", node.layers.length > 1 ? `${node.layers.length} layers` : node.op],
        ["output", node.layers.at(-1)?.output_shape.join(" × ") ?? ""],
        [rows?.main.label ?? "", rows ? format(sum, rows.main.unit) : ""],
        ["bound", this.boundOf(node)],
      ]);
      const layer = node.layers.length === 1 ? node.layers[0]?.name : undefined;
      if (layer !== undefined) {
        this.marks.add(rect, { layer }, false);
        group.addEventListener("pointerenter", () => this.context.links.point({ layer }));
        group.addEventListener("pointerleave", () => this.context.links.point(null));
        group.addEventListener("click", () => this.context.links.toggle(layer));
        group.addEventListener(
          "keydown",
          (event) => event.key === "Enter" && this.context.links.toggle(layer),
        );
      }
      this.svg.append(group);
    });
    return this.svg;
  }

  /// Straight down in the lane that is free: an edge leaves its lane at once when it goes outwards, and comes back at its
  /// end. Within one lane it goes around the nodes that it skips.
  private edge(from: { x: number; y: number }, to: { x: number; y: number }, rows: number): SVGPathElement {
    const [x1, y1, x2, y2] = [from.x + 24, from.y + box.height, to.x + 24, to.y];
    const aside = Math.min(from.x, to.x) - Math.min(30, 8 + 2 * rows);
    const bend = box.down - box.height;
    const isOut = to.x > from.x;
    const turn = isOut ? y1 + bend : y2 - bend; // where it is in the other lane, or leaves its own
    const path =
      rows <= 1
        ? `M${x1},${y1}C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`
        : isOut
          ? `M${x1},${y1}C${x1},${turn} ${x2},${y1} ${x2},${turn}L${x2},${y2}`
          : from.x > to.x
            ? `M${x1},${y1}L${x1},${turn}C${x1},${y2} ${x2},${turn} ${x2},${y2}`
            : `M${from.x},${from.y + 11}C${aside},${from.y + 16} ${aside},${to.y + 6} ${to.x},${to.y + 11}`;
    return s("path", { d: path, class: "edge" });
  }
}

function render(context: Context, element: HTMLElement): void {
  const model = modelOf(context);
  if (!model) return;
  const { rows, state } = context;
  const sums = new Map((rows ? grouped(rows.rows, "layer") : []).map((group) => [group.name, group]));
  const hasBounds = rows?.rows.some((row) => row.bound !== "") ?? false;
  const { nodes, isByBlock } = nodesOf(model);
  const marks = new Marks(context.links);
  const body = h("div", {});
  element.append(body);
  const choices = [
    { value: "", label: rows?.main.label ?? "time" },
    ...(hasBounds ? [{ value: "bound", label: "bound" }] : []),
    { value: "type", label: "type" },
  ];
  remade(context, ["netcolor"], () => {
    marks.clear();
    const by = state.get("netcolor") || "time";
    const types = [...new Set(nodes.map((node) => node.op))];
    const names =
      by === "bound"
        ? ["compute", "memory", "launch"].filter((bound) => rows?.rows.some((row) => row.bound === bound))
        : types;
    const colors = by === "bound" ? new Colors() : context.types;
    body.replaceChildren(
      h(
        "div",
        { class: "controls" },
        menu("colour by", choices, by === "time" ? "" : by, (value) => state.set("netcolor", value)),
        h(
          "span",
          { class: "dim" },
          `${isByBlock ? "blocks, as there are too many layers to see" : `${nodes.length} layers`}${by === "time" ? "; dark is much" : ""}`,
        ),
      ),
      h(
        "div",
        { class: "graph", tabindex: 0, role: "group", "aria-label": "The network; scroll to see all" },
        new Graph(context, nodes, sums, marks, by).draw(),
      ),
      by === "time"
        ? ""
        : legend(
            names.map((each) => ({ name: each, color: colors.of(each) })),
            12,
          ),
    );
  });
}

export const networkView: View = {
  id: "network",
  title: "Network",
  fits: (context) => modelOf(context) !== null,
  render,
};
