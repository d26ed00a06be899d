// SPDX-License-Identifier: Apache-2.0
// The four rooflines, side by side: classic, complexity, time, and both in one. docs/roofline.md says how to read them.
import { frame, legend, logDomain, type Axis, type Frame } from "./chart";
import { h, menu, s } from "./dom";
import { Marks } from "./links";
import { Colors } from "./palette";
import { roving, withTipAnyhow } from "./roving";
import type { RooflineDocument, RooflineRow } from "./schema";
import { format } from "./units";
import { remade, type Context, type View } from "./view";

const mostPoints = 1200; // of each picture; those with most time

interface Spot {
  row: RooflineRow;
  layer: string;
  pass: string;
  group: string; // what its colour says
  profile: number;
  radius: number;
}

type Kind = "classic" | "complexity" | "time" | "combined";
const titles: Record<Kind, string> = {
  classic: "Classic: FLOP/s over FLOP per byte",
  complexity: "Complexity: FLOP over bytes",
  time: "Time: compute time over bandwidth time",
  combined: "Combined: work (closed) and time (open), in one plane",
};

function colorKeys(document: RooflineDocument, context: Context): string[] {
  const keys = document.profiles.length > 1 ? ["profile"] : [];
  if (context.rows && context.part.roofline === document) keys.push("type", "pass");
  return [...keys, "bound"];
}

function spotsOf(
  document: RooflineDocument,
  context: Context,
  by: string,
): { spots: Spot[]; all: number; time: number; shownTime: number } {
  const rows = context.part.roofline === document ? context.rows?.rows : undefined;
  const spots: Spot[] = [];
  for (const [profile, series] of document.profiles.entries()) {
    const longest = series.rows.reduce((most, row) => Math.max(most, row.time_s ?? 0), 0);
    series.rows.forEach((row, at) => {
      const own = rows && rows.length === series.rows.length ? rows[at] : undefined;
      const group =
        {
          profile: series.label,
          type: own?.op ?? "",
          pass: own?.pass ?? "",
          bound: row.bound ?? row.complexity_bound,
        }[by] ?? "";
      const radius = longest > 0 ? 2.2 + 7 * Math.sqrt((row.time_s ?? 0) / longest) : 4;
      spots.push({ row, layer: own?.layer ?? row.name, pass: own?.pass ?? "", group, profile, radius });
    });
  }
  const time = spots.reduce((sum, spot) => sum + (spot.row.time_s ?? 0), 0);
  const all = spots.length;
  spots.sort((a, b) => (b.row.time_s ?? 0) - (a.row.time_s ?? 0)); // small ones lie on top
  spots.length = Math.min(all, mostPoints);
  return { spots, all, time, shownTime: spots.reduce((sum, spot) => sum + (spot.row.time_s ?? 0), 0) };
}

type Place = (spot: Spot) => [number | null, number | null];

/// What is judged: as the device counted it, else by definition.
const flopOf = (row: RooflineRow) => row.counted_flop ?? row.flop;
const bytesOf = (row: RooflineRow) => row.counted_bytes ?? row.bytes;
const isCounted = (row: RooflineRow) => typeof row.counted_bytes === "number";

const places: Record<Exclude<Kind, "combined">, Place> = {
  classic: ({ row }) => [row.flop_per_byte, row.flop_per_s],
  complexity: ({ row }) => [bytesOf(row), flopOf(row)],
  time: ({ row }) => [row.bandwidth_time_s, row.compute_time_s],
};

/// Where the same work lies by definition, for pictures of work; nowhere where nothing was counted.
function definedPlace(kind: Kind, { row }: Spot): [number | null, number | null] {
  if (!isCounted(row)) return [null, null];
  if (kind === "complexity") return [row.bytes, row.flop];
  if (kind !== "classic" || !row.time_s) return [null, null];
  return [row.definition_flop_per_byte ?? null, row.flop / row.time_s];
}

class Panel {
  readonly frame: Frame;
  private readonly named = new Map<Element, RooflineRow>();

  constructor(
    private readonly document: RooflineDocument,
    private readonly kind: Kind,
    private readonly marks: Marks,
    private readonly colors: Colors,
    private readonly point: (place: { layer: string; pass: string | undefined } | null) => void,
    spots: Spot[],
    width: number,
  ) {
    const axes = this.axes(spots);
    this.frame = frame(titles[kind], { width, height: 330 }, axes[0], axes[1]);
    this.drawRoofs();
    if (document.is_trajectory) this.drawTracks(spots);
    for (const spot of spots) this.drawSpot(spot);
    roving(this.frame.svg, ".spot:not(.open)", (mark) => {
      const row = this.named.get(mark);
      return row ? `${row.name}: ${format(row.time_s, "s")}, bound by ${row.bound ?? row.complexity_bound}` : "";
    });
  }

  private get bandwidth(): number {
    return this.document.memory.at(-1)?.bytes_per_s ?? 0;
  }
  private get peak(): number {
    return this.document.peaks[0]?.flop_per_s ?? 0;
  }

  /// The open symbol beside the closed one: the time of the work, or its definition.
  private opened(spot: Spot): [number | null, number | null] {
    if (this.kind !== "combined") return definedPlace(this.kind, spot);
    const { bandwidth_time_s: across, compute_time_s: up } = spot.row;
    return [across === null ? null : across * this.bandwidth, up === null ? null : up * this.peak];
  }

  private axes(spots: Spot[]): [Axis, Axis] {
    const kind = this.kind === "combined" ? "complexity" : this.kind;
    const at = spots.map((spot) => places[kind](spot));
    at.push(...spots.map((spot) => this.opened(spot)));
    const shown = at.filter(([x, y]) => (x ?? 0) > 0 && (y ?? 0) > 0);
    const x = logDomain(shown.map(([value]) => value ?? 0));
    const y = logDomain(shown.map(([, value]) => value ?? 0));
    if (this.kind === "classic") {
      const balance = this.bandwidth > 0 ? this.peak / this.bandwidth : 1;
      return [
        {
          label: "arithmetic intensity",
          unit: "flop/byte",
          isLog: true,
          domain: [Math.min(x[0], balance / 8), Math.max(x[1], balance * 8)],
        },
        { label: "rate", unit: "flop/s", isLog: true, domain: [y[0], Math.max(y[1], this.peak * 2)] },
      ];
    }
    if (this.kind === "time") {
      const both: [number, number] = [Math.min(x[0], y[0]), Math.max(x[1], y[1])];
      return [
        { label: "bandwidth time", unit: "s", isLog: true, domain: both },
        { label: "compute time", unit: "s", isLog: true, domain: both },
      ];
    }
    return [
      { label: "bytes", unit: "bytes", isLog: true, domain: x },
      { label: "FLOP", unit: "flop", isLog: true, domain: y },
    ];
  }

  private line(x1: number, y1: number, x2: number, y2: number, label: string, isFaint = false): void {
    const { x, y, area, over } = this.frame;
    const [left, right] = [x(x1), x(x2)];
    const [from, to] = [y(y1), y(y2)];
    if (![left, right, from, to].every(Number.isFinite)) return;
    area.append(s("line", { x1: left, y1: from, x2: right, y2: to, class: isFaint ? "roof faint" : "roof" }));
    if (label === "") return;
    const isLevel = Math.abs(from - to) < 1;
    // The name stands where the line ends inside the picture.
    const angle = isLevel ? 0 : (Math.atan2(to - from, right - left) * 180) / Math.PI;
    const at = isLevel
      ? { x: this.frame.width - 4, y: from - 12, anchor: "end" }
      : this.along(left, from, right, to);
    over.append(
      s(
        "text",
        {
          class: "roof-name",
          "text-anchor": at.anchor,
          transform: `translate(${at.x},${at.y}) rotate(${angle})`,
        },
        label,
      ),
    );
  }

  /// A place on the visible part of a diagonal.
  private along(x1: number, y1: number, x2: number, y2: number): { x: number; y: number; anchor: string } {
    const slope = (y2 - y1) / (x2 - x1);
    let left = Math.max(0, x1);
    if (y1 + slope * (left - x1) > this.frame.height) left = x1 + (this.frame.height - y1) / slope;
    const x = left + 12;
    return { x, y: y1 + slope * (x - x1) - 6, anchor: "start" };
  }

  private drawRoofs(): void {
    const [xLeast, xMost] = this.frame.x.domain() as [number, number];
    const [yLeast, yMost] = this.frame.y.domain() as [number, number];
    const { memory, peaks, launch_latency_s: latency } = this.document;
    if (this.kind === "classic") {
      const highest = Math.max(...peaks.map((peak) => peak.flop_per_s), 1);
      for (const level of memory)
        this.line(
          xLeast,
          xLeast * level.bytes_per_s,
          highest / level.bytes_per_s,
          highest,
          `${level.name} ${format(level.bytes_per_s, "bytes/s")}`,
        );
      for (const peak of peaks)
        this.line(
          Math.min(xMost, peak.flop_per_s / (memory.at(-1)?.bytes_per_s || 1)),
          peak.flop_per_s,
          xMost,
          peak.flop_per_s,
          `${peak.name} ${format(peak.flop_per_s, "flop/s")}`,
        );
      return;
    }
    const slope = this.kind === "time" ? 1 : this.bandwidth > 0 ? this.peak / this.bandwidth : 0;
    if (slope > 0) {
      const last = Math.min(xMost, yMost / slope);
      this.line(
        xLeast,
        xLeast * slope,
        last,
        last * slope,
        this.kind === "time" ? "compute = bandwidth" : `balance ${format(slope, "flop/byte")}`,
      );
    }
    if (this.kind === "time") {
      for (let power = Math.ceil(Math.log10(xLeast)); 10 ** power < xMost; power++) {
        const time = 10 ** power;
        this.line(xLeast, time, time, time, "", true);
        this.line(time, yLeast, time, time, "", true);
      }
    }
    if (latency) {
      const [x, y] =
        this.kind === "time" ? [latency, latency] : [latency * this.bandwidth, latency * this.peak];
      this.line(xLeast, y, x, y, "");
      this.line(x, yLeast, x, y, "");
      this.frame.area.append(
        s(
          "text",
          { class: "roof-name", x: this.frame.x(x) - 4, y: this.frame.y(y) + 14, "text-anchor": "end" },
          "one launch",
        ),
      );
    }
  }

  /// One work over a swept parameter: its points, joined in the order of the profiles.
  private drawTracks(spots: Spot[]): void {
    const kind = this.kind === "combined" ? "complexity" : this.kind;
    const tracks = new Map<string, Spot[]>();
    for (const spot of [...spots].sort((a, b) => a.profile - b.profile))
      tracks.set(spot.row.name, [...(tracks.get(spot.row.name) ?? []), spot]);
    for (const track of tracks.values()) {
      const at = track.map((spot) => places[kind](spot)).filter(([x, y]) => (x ?? 0) > 0 && (y ?? 0) > 0);
      const path = at
        .map(
          ([x, y], i) =>
            `${i === 0 ? "M" : "L"}${this.frame.x(x ?? 1).toFixed(1)},${this.frame.y(y ?? 1).toFixed(1)}`,
        )
        .join("");
      if (at.length > 1) this.frame.area.append(s("path", { d: path, class: "track" }));
    }
  }

  private drawSpot(spot: Spot): void {
    const kind = this.kind === "combined" ? "complexity" : this.kind;
    const closed = this.circle(spot, places[kind](spot), false);
    const open = this.circle(spot, this.opened(spot), true);
    if (!closed || !open) return;
    const line = s("line", { class: "tie", x1: closed[0], y1: closed[1], x2: open[0], y2: open[1] });
    this.frame.area.prepend(line);
    this.marks.add(line, spot, false);
  }

  private circle(
    spot: Spot,
    [x, y]: [number | null, number | null],
    isOpen: boolean,
  ): [number, number] | null {
    if (!x || !y || x <= 0 || y <= 0) return null;
    const at: [number, number] = [this.frame.x(x), this.frame.y(y)];
    const paint = this.colors.of(spot.group);
    const circle = s("circle", {
      cx: at[0],
      cy: at[1],
      r: isOpen ? spot.radius * 0.8 : spot.radius,
      class: isOpen ? "spot open" : "spot",
      fill: isOpen ? "none" : paint,
      stroke: paint,
      "data-name": spot.row.name,
    });
    this.frame.area.append(circle);
    const place = { layer: spot.layer, pass: spot.pass || undefined };
    this.marks.add(circle, place);
    circle.addEventListener("focus", () => this.point(place));
    circle.addEventListener("blur", () => this.point(null));
    this.named.set(circle, spot.row);
    withTipAnyhow(circle, spot.row.name, () => [
      [
        "profile",
        this.document.profiles.length > 1 ? (this.document.profiles[spot.profile]?.label ?? "") : "",
      ],
      ["time", format(spot.row.time_s, "s")],
      ["bound by", spot.row.bound ?? spot.row.complexity_bound],
      ["from the roof", spot.row.distance_from_roof ? format(spot.row.distance_from_roof, "ratio") : ""],
      ["FLOP", format(flopOf(spot.row), "flop")],
      ["bytes", format(bytesOf(spot.row), "bytes")],
      ["FLOP by definition", isCounted(spot.row) ? format(spot.row.flop, "flop") : ""],
      ["bytes by definition", isCounted(spot.row) ? format(spot.row.bytes, "bytes") : ""],
      ["rate", format(spot.row.flop_per_s, "flop/s")],
    ]);
    return at;
  }
}

function notesOf(document: RooflineDocument, data: ReturnType<typeof spotsOf>): string[] {
  const notes = [...document.notes];
  const hidden = data.spots.filter((spot) => !(flopOf(spot.row) > 0) || !(bytesOf(spot.row) > 0)).length;
  if (hidden > 0)
    notes.push(
      `${hidden} ${hidden === 1 ? "row" : "rows"} without arithmetic or without bytes: no place on these axes`,
    );
  if (data.all > data.spots.length)
    notes.push(
      `the ${data.spots.length} longest of ${data.all} rows are drawn: ${Math.round((100 * data.shownTime) / (data.time || 1))} % of the time`,
    );
  return notes;
}

function render(context: Context, element: HTMLElement, width: number): void {
  const document = documentOf(context);
  if (!document) return;
  const keys = colorKeys(document, context);
  const columns = width > 760 ? 2 : 1;
  const marks = new Marks(context.links);
  const body = h("div", {});
  element.append(body);
  remade(context, ["roofcolor"], () => {
    marks.clear();
    const by = keys.find((key) => key === context.state.get("roofcolor")) ?? (keys[0] as string);
    const data = spotsOf(document, context, by);
    const colors =
      by === "type"
        ? context.types
        : new Colors(by === "profile" ? document.profiles.map((series) => series.label) : []);
    const hasTime = data.spots.some((spot) => (spot.row.time_s ?? 0) > 0);
    const kinds: Kind[] = hasTime ? ["classic", "complexity", "time", "combined"] : ["complexity"];
    const panels = kinds.map(
      (kind) =>
        new Panel(
          document,
          kind,
          marks,
          colors,
          (place) => context.links.point(place),
          data.spots,
          Math.floor((width - (columns - 1) * 16) / columns),
        ),
    );
    const groups =
      by === "profile"
        ? document.profiles.map((series) => series.label)
        : [...new Set(data.spots.map((spot) => spot.group))].filter((group) => group !== "");
    body.replaceChildren(
      h(
        "div",
        { class: "controls" },
        menu(
          "colour by",
          keys.map((key) => ({ value: key, label: key })),
          by,
          (value) => context.state.set("roofcolor", value),
        ),
        h(
          "span",
          { class: "dim" },
          `roofs of ${document.machine.title || document.machine.name}; the area of a symbol is its time${
            data.spots.some((spot) => isCounted(spot.row))
              ? "; in the first two pictures closed as counted, open by definition"
              : ""
          }`,
        ),
      ),
      h("div", { class: columns === 2 ? "two even" : "" }, ...panels.map((panel) => panel.frame.figure)),
      legend(
        groups.map((group) => ({ name: group, color: colors.of(group) })),
        16,
      ),
      h("ul", { class: "dim" }, ...notesOf(document, data).map((note) => h("li", {}, h("bdi", {}, note)))),
    );
  });
}

function documentOf(context: Context): RooflineDocument | null {
  if (context.part.roofline) return context.part.roofline;
  const { document } = context.part;
  return document.kind === "roofline" ? (document as RooflineDocument) : null;
}

export const rooflineView: View = {
  id: "roofline",
  title: "Rooflines",
  fits: (context) => documentOf(context) !== null,
  render,
};
