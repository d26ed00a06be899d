// SPDX-License-Identifier: Apache-2.0
// The points of a sweep: lines over one axis, a map over two, and the front of what is best in two goals at once. All
// points are regarded, however many there are; what takes long is done in turns.
import { legend } from "./chart";
import { h, menu } from "./dom";
import type { SweepAnswers, SweepColumn, SweepDocument } from "./schema";
import { AskedFront } from "./sweep_asked";
import { nameOf } from "./sweep_columns";
import { FrontChart, networkName } from "./sweep_front";
import { mostSeries, SweepLines } from "./sweep_lines";
import { SweepMap, type Statistic } from "./sweep_map";
import { cellText, choices, isMore, outOfMemory, Points, type Reach } from "./sweep_points";
import { goalsText } from "./sweep_summary";
import { fastestRows, frontTables, mostListedPoints, pointTable } from "./sweep_table";
import type { Lines } from "./tooltip";
import { whole } from "./units";
import { remade, type Context, type View } from "./view";
import { Turns } from "./work";

const mostKnees = 4; // named in a picture
const hollowKey = { name: outOfMemory, color: "var(--dim)", isOpen: true };

class SweepViews implements Reach {
  private readonly points: Points;
  private readonly answers: SweepAnswers | undefined;
  private readonly asked: AskedFront;

  constructor(
    private readonly context: Context,
    document: SweepDocument,
    private readonly element: HTMLElement,
    private readonly width: number,
  ) {
    this.answers = context.part.answers;
    this.asked = new AskedFront(document, this.answers);
    this.points = new Points(this.asked.document);
  }

  private pick(
    key: string,
    among: SweepColumn[],
    otherwise: SweepColumn | undefined,
  ): SweepColumn | undefined {
    return among.find((column) => column.name === this.context.state.get(key)) ?? otherwise;
  }

  /// The axis with most values.
  private longest(axes: SweepColumn[]): SweepColumn | undefined {
    return [...axes].sort((a, b) => this.points.values(b).length - this.points.values(a).length)[0];
  }

  choose(row: number): void {
    this.context.state.set("point", String(row));
  }

  tip(row: number): Lines {
    const shown = [...this.points.axes, ...this.points.results.slice(0, 6)];
    const lines = shown.map((column): [string, string] => [
      nameOf(column),
      cellText(column, column.cells[row] ?? null),
    ]);
    return this.points.isOutOfMemory(row) ? [[outOfMemory, "it does not fit its device"], ...lines] : lines;
  }

  render(): void {
    const { axes, results } = this.points;
    const numeric = axes.filter((column) => column.is_number);
    const named = (name: string) => results.find((column) => column.name === name);
    const speed = named("expected_s") ?? named("time_s") ?? results[0];
    const chosen = h("div", { class: "point" });
    if (speed && axes.length > 0) this.pictures(numeric, speed);
    else this.element.append(h("p", {}, "The points differ in nothing that could be drawn."));
    this.element.append(chosen, ...frontTables(this.answers, this.points.document, axes));
    this.list();
    if (axes.length > 1 && speed)
      this.part(this.element, ["hx", "hy", "hz", "hstat", "sfix"], (controls, place) => this.heat(controls, place, speed));
    remade(this.context, ["point"], () => this.chosen(chosen));
  }

  /// Lines and front, beside each other where there is room.
  private pictures(numeric: SweepColumn[], speed: SweepColumn): void {
    const knee = numeric.find((column) => this.answers?.knees.some((each) => each.column === column.name));
    const x = knee ?? this.longest(numeric);
    const isTwo = x !== undefined && this.width > 1000;
    const place = h("div", { class: isTwo ? "two pictures" : "" });
    this.element.append(place);
    if (x) this.part(place, ["sx", "sy", "smodel"], (controls, chart) => this.lines(controls, chart, numeric, x, speed));
    this.part(place, ["px", "py", "point"], (controls, chart) => this.front(controls, chart, speed));
  }

  /// The points themselves: all of few, the fastest of many.
  private list(): void {
    const place = h("div", {});
    this.element.append(place);
    const { state } = this.context;
    const rows: number[] = [];
    const { points } = this.points.document;
    const title = points > mostListedPoints ? `The ${mostListedPoints} fastest of ${whole(points)} points` : "All points, the fastest first";
    const show = () =>
      place.replaceChildren(
        h("h3", {}, title),
        pointTable(this.points, rows, { sort: state.get("points-sort"), onSort: (next) => state.set("points-sort", next), about: "points" }, this),
      );
    const all = this.points;
    function* make(): Generator<void, void, void> {
      yield* fastestRows(all, rows);
      show();
      state.on(["points-sort"], show);
    }
    new Turns(place).start(make());
  }

  /// A picture with its menus, made anew in turns when one of the keys changes.
  private part(
    parent: HTMLElement,
    keys: string[],
    make: (controls: HTMLElement, place: HTMLElement) => Generator<void, void, void>,
  ): void {
    const controls = h("div", { class: "controls" });
    const place = h("div", { class: "chart-place" });
    parent.append(h("div", {}, controls, place));
    const turns = new Turns(place);
    remade(this.context, keys, () => turns.start(make(controls, place)));
  }

  private menuOf(label: string, columns: SweepColumn[], chosen: SweepColumn, key: string): HTMLElement {
    return menu(label, choices(columns), chosen.name, (value) => this.context.state.set(key, value));
  }

  /// A menu for each axis that the picture does not show.
  private fixed(used: SweepColumn[]): { menus: HTMLElement[]; fixed: Map<string, string> } {
    const given = new URLSearchParams(this.context.state.get("sfix"));
    const fixed = new Map<string, string>();
    const menus = this.points.axes
      .filter((axis) => !used.includes(axis))
      .map((axis) => {
        const values = this.points.values(axis);
        const value = values.map(String).includes(given.get(axis.name) ?? "")
          ? (given.get(axis.name) as string)
          : String(values[0]);
        fixed.set(axis.name, value);
        return menu(
          nameOf(axis),
          values.map((each) => ({ value: String(each), label: cellText(axis, each) })),
          value,
          (next) => {
            given.set(axis.name, next);
            this.context.state.set("sfix", given.toString());
          },
        );
      });
    return { menus, fixed };
  }

  private *lines(
    controls: HTMLElement,
    place: HTMLElement,
    numeric: SweepColumn[],
    first: SweepColumn,
    speed: SweepColumn,
  ): Generator<void, void, void> {
    const width = place.clientWidth || this.width;
    const { axes, results } = this.points;
    const x = this.pick("sx", numeric, first) as SweepColumn;
    const y = this.pick("sy", results, speed) as SweepColumn;
    const model = axes.find((axis) => axis.name === "model");
    const wanted = this.context.state.get("smodel");
    const networks = model ? this.points.values(model).map(String) : [];
    controls.replaceChildren(
      this.menuOf("over", numeric, x, "sx"),
      this.menuOf("show", results, y, "sy"),
      model
        ? menu(
            "network",
            [{ value: "", label: "all" }, ...networks.map((each) => ({ value: each, label: each }))],
            wanted,
            (value) => this.context.state.set("smodel", value),
          )
        : "",
    );
    yield;
    const knees = (this.answers?.knees ?? []).filter((each) => each.column === x.name).flatMap((each) => each.knees.flatMap(({ value }) => value ?? []));
    yield* new SweepLines(this.points, x, y, width, this, [...new Set(knees)].slice(0, mostKnees)).draw(wanted, (drawn) => {
      const keys = [...(drawn.hasHollow ? [hollowKey] : []), ...drawn.series];
      place.replaceChildren(
        drawn.figure,
        keys.length > 1 ? legend(keys, mostSeries + 1) : "",
        drawn.series.length < drawn.all
          ? h(
              "p",
              { class: "dim" },
              `${drawn.series.length} of ${whole(drawn.all)} lines, evenly from the least to the most ${drawn.order}; the band holds all of them`,
            )
          : "",
      );
    });
  }

  private *heat(controls: HTMLElement, place: HTMLElement, speed: SweepColumn): Generator<void, void, void> {
    const { axes, results } = this.points;
    const x = this.pick("hx", axes, this.longest(axes)) as SweepColumn;
    // Networks differ too much for one scale: where there is another axis, the map is of one network.
    const others = axes.filter((axis) => axis !== x);
    const y = this.pick(
      "hy",
      others,
      others.find((axis) => axis.name !== "model") ?? others[0],
    ) as SweepColumn;
    const z = this.pick("hz", results, speed) as SweepColumn;
    const { menus, fixed } = this.fixed([x, y]);
    const statistics: Statistic[] = ["median", "least", "most"];
    const statistic = statistics.find((each) => each === this.context.state.get("hstat")) ?? "median";
    const map = new SweepMap(this.points, { x, y, z }, statistic, this.width, this);
    controls.replaceChildren(
      this.menuOf("map of", results, z, "hz"),
      this.menuOf("over", axes, x, "hx"),
      this.menuOf("and", others, y, "hy"),
      ...menus,
      map.isBinned
        ? menu(
            "cells show the",
            statistics.map((each) => ({ value: each, label: each })),
            statistic,
            (value) => this.context.state.set("hstat", value === "median" ? "" : value),
          )
        : "",
    );
    yield;
    const rows: number[] = [];
    yield* this.points.rows(fixed, rows);
    yield* map.draw(rows, place);
  }

  private *front(controls: HTMLElement, place: HTMLElement, speed: SweepColumn): Generator<void, void, void> {
    const width = place.clientWidth || this.width;
    const { axes, results } = this.points;
    const goals = [...axes.filter((axis) => axis.is_number), ...results];
    const [askedX, askedY] = this.asked.goals.map((name) => goals.find((column) => column.name === name));
    const x = this.pick(
      "px",
      goals,
      askedX ?? this.longest(axes.filter((axis) => axis.is_number)) ?? results[1] ?? speed,
    ) as SweepColumn;
    const y = this.pick(
      "py",
      goals,
      askedY ?? results.find((column) => column.name === "samples_per_s") ?? speed,
    ) as SweepColumn;
    const rows = askedX === x && askedY === y ? this.asked.rows : null;
    const word = (column: SweepColumn) => (isMore(column) ? "more" : "less");
    const said = h("span", { class: "dim" });
    controls.replaceChildren(this.menuOf("front of", goals, x, "px"), this.menuOf("and", goals, y, "py"), said);
    yield;
    const chart = new FrontChart(this.points, x, y, width, this.context.state.get("point"), this, rows);
    yield* chart.draw(({ figure, networks, colors, considered, onFront, hollow }) => {
      const best = rows && this.answers ? goalsText(this.answers, this.points.document) : `${word(x)} ${nameOf(x)} and ${word(y)} ${nameOf(y)} is better`;
      said.textContent = `${best}: ${whole(onFront)} of ${whole(considered)} points ${onFront === 1 ? "is" : "are"} on the front${hollow > 0 ? `; ${whole(hollow)} are out of memory and not considered` : ""}`;
      const names = networks.map(networkName);
      const keys = [...(hollow > 0 ? [hollowKey] : []), ...names.map((name) => ({ name, color: colors.of(name) }))];
      place.replaceChildren(figure, keys.length > 1 ? legend(keys) : "");
    });
  }

  private chosen(element: HTMLElement): void {
    const text = this.context.state.get("point");
    const row = Number(text);
    const hasPoint = text !== "" && Number.isInteger(row) && row >= 0 && row < this.points.document.points;
    if (!hasPoint) {
      element.replaceChildren(h("p", { class: "dim" }, "choose a point to see all of its numbers"));
      return;
    }
    const list = h("dl", { class: "facts" });
    for (const column of this.points.document.columns)
      if (column.cells[row] !== "" && column.cells[row] !== null)
        list.append(
          h(
            "div",
            {},
            h("dt", {}, nameOf(column)),
            h("dd", { "data-key": column.name }, h("bdi", {}, cellText(column, column.cells[row] ?? null))),
          ),
        );
    element.replaceChildren(h("h3", {}, `Point ${row}`), list);
  }
}

export const sweepView: View = {
  id: "sweep",
  title: "Sweep",
  fits: (context) => context.part.document.kind === "sweep",
  render: (context, element, width) =>
    new SweepViews(context, context.part.document as SweepDocument, element, width).render(),
};
