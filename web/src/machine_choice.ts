// SPDX-License-Identifier: Apache-2.0
// Which machine to take: one network on several machines, the fastest and the cheapest first, as a picture and as a table.
import { scaleLinear } from "d3-scale";
import { cardList, type Card } from "./cards";
import { legend } from "./chart";
import { h, kept, name, s, short, words, type Child } from "./dom";
import { roving, withTipAnyhow } from "./roving";
import type { ChosenMachine, Document, MachineChoiceDocument } from "./schema";
import { sortableTable, tellReason, type SortColumn } from "./sortable";
import type { Lines } from "./tooltip";
import { digits, energy, format, formatTick, money, percent, whole, type Unit } from "./units";
import { remade, type Context } from "./view";

export function machineChoiceOf(document: Document): MachineChoiceDocument | null {
  return document.kind === "machine_choice" ? withChoice(document as MachineChoiceDocument) : null;
}

/// Documents of earlier versions leave the choice to the reader.
function withChoice(choice: MachineChoiceDocument): MachineChoiceDocument {
  if (choice.fastest !== undefined) return choice;
  const least = (value: (one: ChosenMachine) => number | null | undefined) =>
    choice.machines
      .filter((one) => one.fits === true && typeof value(one) === "number")
      .sort((a, b) => (value(a) ?? 0) - (value(b) ?? 0))[0]?.machine ?? null;
  const machines = [...choice.machines].sort((a, b) => (a.expected?.time_s ?? Infinity) - (b.expected?.time_s ?? Infinity) || 0);
  return { ...choice, machines, fastest: least(({ expected }) => expected?.time_s), cheapest: least((one) => one.cost_per_million_samples) };
}

function networkOf({ model }: MachineChoiceDocument): string {
  return model?.title || model?.name || "";
}

/// "ResNet-50, batch 32, bf16 autocast, optimizer adam on h200, l4 and a100-80gb, expected"; of the usual framework, its
/// name is left out, as in the heads of other pages.
export function machineChoiceTitle(choice: MachineChoiceDocument): string {
  const { model, machines, framework } = choice;
  const head = [
    networkOf(choice) || "One network",
    model?.batch ? `batch ${model.batch}` : "",
    model?.setup ?? model?.dtype ?? "",
    model?.mode === "inference" ? "inference" : "",
    framework && framework !== "pytorch-eager" ? framework : "",
  ];
  const names = machines.map(({ machine }) => machine);
  const shown = names.length > 4 ? `${names.length} machines` : names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : (names[0] ?? "");
  return `${head.filter((each) => each !== "").join(", ")} on ${shown}, ${framework ? "expected" : "limits"}`;
}

function titleOf({ title, machine }: ChosenMachine): string {
  return title || machine;
}

function answerOf(one: ChosenMachine): string {
  const [low, high] = one.expected?.interval_s ?? [0, 0];
  return one.expected ? `${format(one.expected.time_s, "s")} (90 % interval ${format(low, "s")} to ${format(high, "s")})` : `${format(one.limit_s, "s")}, the limit`;
}

function costOf(one: ChosenMachine): string {
  const cost = one.cost_per_million_samples;
  return typeof cost === "number" ? money(cost, one.currency ?? "") : "";
}

/// "2 are out of memory: l4 and t4": what is left out of the choice, and why.
function without(machines: ChosenMachine[]): string[] {
  const lines: string[] = [];
  const small = machines.filter(({ refusal, fits }) => refusal === undefined && fits === false);
  if (small.length > 0)
    lines.push(`Out of memory: ${small.map((one) => `${one.machine} (needs ${format(one.memory_bytes, "capacity")})`).join(", ")}. Their times are those of machines that had the memory.`);
  const unknown = machines.filter(({ refusal, expected }) => refusal === undefined && !expected);
  if (unknown.length > 0 && unknown.length < machines.length) lines.push(`No expected time, only the limit: ${unknown.map(({ machine }) => machine).join(", ")}.`);
  for (const { machine, refusal } of machines) if (refusal !== undefined) lines.push(`${machine} has no answer: ${refusal}`);
  return lines;
}

function lead(choice: MachineChoiceDocument): HTMLElement {
  const { machines } = choice;
  const called = (machine: string | null | undefined) => machines.find((one) => one.machine === machine);
  const fastest = called(choice.fastest);
  const cheapest = called(choice.cheapest);
  const kind = choice.model?.mode === "inference" ? "inference pass" : "training iteration";
  const of: Child[] = networkOf(choice) === "" ? [`One ${kind}`] : [`One ${kind} of `, name(networkOf(choice))];
  if (!fastest) {
    const isTried = machines.some(({ refusal }) => refusal === undefined);
    return h("p", { class: "lead" }, ...of, isTried ? ": none of these machines has the memory for it." : ": none of these machines runs it.");
  }
  const second = machines.find((one) => one !== fastest && one.fits === true && Boolean(one.expected) === Boolean(fastest.expected));
  const ahead = second && timeOf(fastest) > 0 ? `, ${digits(timeOf(second) / timeOf(fastest))} times as fast as the next, ${second.machine}` : "";
  const price = cheapest ? ` ${cheapest === fastest ? "It is also the cheapest" : `The cheapest is ${titleOf(cheapest)}`}: ${costOf(cheapest)} per million samples.` : "";
  return h("p", { class: "lead" }, ...of, " is fastest on ", name(titleOf(fastest)), ...words(`: ${answerOf(fastest)}${ahead}.${price}`));
}

function timeOf(one: ChosenMachine): number {
  return one.expected?.time_s ?? one.limit_s ?? 0;
}

function cards(choice: MachineChoiceDocument): HTMLElement {
  const of = (machine: string | null | undefined) => choice.machines.find((one) => one.machine === machine);
  const [fastest, cheapest] = [of(choice.fastest), of(choice.cheapest)];
  const all: Card[] = [];
  if (fastest) {
    all.push({ label: "fastest", value: short(fastest.machine, 18), detail: `${format(timeOf(fastest), "s")} an iteration${choice.framework && fastest.expected ? `, ${choice.framework}` : ""}` });
    if (fastest.samples_per_s !== undefined) all.push({ label: "samples per second", value: format(fastest.samples_per_s, "count"), detail: `on ${fastest.machine}` });
    const bytes = fastest.memory_bytes;
    if (typeof bytes === "number") all.push({ label: "memory", value: format(bytes, "capacity"), detail: `peak, on ${fastest.machine}` });
  }
  if (cheapest) all.push({ label: "cheapest", value: short(cheapest.machine, 18), detail: `${costOf(cheapest)} per million samples` });
  const fitting = choice.machines.filter(({ fits }) => fits === true).length;
  all.push({ label: "fits", value: `${whole(fitting)} of ${whole(choice.machines.length)}`, detail: "machines have the memory" });
  return cardList(all);
}

function tipOf(one: ChosenMachine): Lines {
  return [
    ["expected", one.expected ? answerOf(one) : ""],
    ["limit", format(one.limit_s, "s")],
    ["samples per second", one.samples_per_s === undefined ? "" : format(one.samples_per_s, "count")],
    ["memory", format(one.memory_bytes, "capacity")],
    ["cost per million samples", costOf(one)],
    ["out of memory", one.fits === false ? "it needs more than the machine has" : ""],
  ];
}

interface Bars {
  title: string;
  unit: Unit;
  width: number;
  value: (one: ChosenMachine) => number;
  text: (one: ChosenMachine) => string;
  low?: (one: ChosenMachine) => number | null;
  high?: (one: ChosenMachine) => number | null;
  mark?: (one: ChosenMachine) => number | null; // a line across the bar
}

const lineHeight = 26;

/// A bar for each machine, all from zero on.
function barChart(machines: ChosenMachine[], bars: Bars): HTMLElement {
  const nameRoom = Math.min(150, bars.width * 0.3);
  const [left, right, bottom] = [nameRoom + 10, 66, 24];
  const inside = Math.max(60, bars.width - left - right);
  const most = Math.max(...machines.map((one) => Math.max(bars.value(one), bars.high?.(one) ?? 0)));
  const x = scaleLinear([0, most > 0 ? most : 1], [0, inside]);
  const height = machines.length * lineHeight;
  const grid = s("g", { class: "grid", "aria-hidden": "true" });
  for (const tick of x.ticks(Math.max(2, Math.floor(inside / 90)))) {
    grid.append(s("line", { x1: x(tick), x2: x(tick), y1: 0, y2: height }));
    grid.append(s("text", { x: x(tick), y: height + 16, "text-anchor": "middle" }, formatTick(tick, bars.unit)));
  }
  const area = s("g", {});
  machines.forEach((one, at) => {
    const y = at * lineHeight + lineHeight / 2;
    const isHollow = one.fits === false || (bars.mark !== undefined && !one.expected);
    const bar = s("rect", {
      x: 0,
      y: y - 8,
      width: Math.max(1, x(bars.value(one))),
      height: 16,
      rx: 2,
      class: isHollow ? "machine-bar open" : "machine-bar",
      "data-machine": one.machine,
    });
    withTipAnyhow(bar, titleOf(one), () => tipOf(one));
    area.append(s("text", { x: -8, y: y + 4, "text-anchor": "end", class: "axis" }, short(one.machine, Math.floor(nameRoom / 7))), bar);
    const [low, high, mark] = [bars.low?.(one) ?? null, bars.high?.(one) ?? null, bars.mark?.(one) ?? null];
    if (low !== null && high !== null)
      area.append(s("path", { d: `M${x(low)},${y}H${x(high)}M${x(low)},${y - 4}v8M${x(high)},${y - 4}v8`, class: "line machine-interval" }));
    if (mark !== null) area.append(s("path", { d: `M${x(mark)},${y - 10}v20`, class: "line machine-limit" }));
    area.append(s("text", { x: x(Math.max(bars.value(one), high ?? 0)) + 6, y: y + 4 }, bars.text(one)));
  });
  const size = { width: bars.width, height: height + bottom };
  const svg = s(
    "svg",
    { viewBox: `0 0 ${size.width} ${size.height}`, ...size, role: "img", "aria-label": bars.title },
    s("g", { transform: `translate(${left},0)` }, grid, area),
  );
  roving(svg, ".machine-bar", (mark) => {
    const one = machines.find(({ machine }) => machine === mark.getAttribute("data-machine"));
    return one ? `${one.machine}: ${bars.text(one)}` : "";
  });
  return h("figure", { class: "chart" }, h("figcaption", {}, bars.title), svg);
}

function pictures(choice: MachineChoiceDocument, width: number): HTMLElement {
  const shown = choice.machines.filter(({ refusal }) => refusal === undefined);
  const priced = shown.filter((one) => typeof one.cost_per_million_samples === "number");
  const isTwo = priced.length > 1 && width > 900;
  const room = isTwo ? Math.floor((width - 40) / 2) : width;
  const times = barChart(shown, {
    title: `Time of an iteration: expected with its 90 % interval, and the limit`,
    unit: "s",
    width: room,
    value: timeOf,
    text: (one) => format(timeOf(one), "s"),
    low: (one) => one.expected?.interval_s[0] ?? null,
    high: (one) => one.expected?.interval_s[1] ?? null,
    mark: (one) => (one.expected ? (one.limit_s ?? null) : null),
  });
  const cost = (one: ChosenMachine) => one.cost_per_million_samples ?? 0;
  const costs =
    priced.length > 1 &&
    barChart([...priced].sort((a, b) => cost(a) - cost(b)), {
      title: `Cost of a million samples`,
      unit: "count",
      width: room,
      value: cost,
      text: costOf,
    });
  const hasOpen = shown.some((one) => one.fits === false || !one.expected);
  times.append(
    legend([
      ...(shown.some(({ expected }) => expected) ? [{ name: "expected", color: "var(--c0)" }, { name: "the limit: perfect kernels", color: "var(--c1)" }] : []),
      ...(hasOpen ? [{ name: "out of memory, or only a limit", color: "var(--dim)", isOpen: true }] : []),
    ]),
  );
  return h("div", { class: isTwo ? "two" : "" }, times, costs);
}

type Column = SortColumn<ChosenMachine>;

function columnsOf(choice: MachineChoiceDocument): Column[] {
  const fastest = choice.machines.find((one) => one.machine === choice.fastest);
  const number = (key: string, label: string, unit: Unit, value: (one: ChosenMachine) => number | null | undefined, about?: string): Column => ({
    key,
    label,
    unit,
    value: (one) => (one.refusal === undefined ? (value(one) ?? null) : null),
    ...(about === undefined ? {} : { about }),
  });
  const shown = (column: Column, show: (one: ChosenMachine) => string): Column => ({
    ...column,
    show: (one) => h("bdi", {}, column.value(one) === null ? "–" : show(one)),
  });
  const optional: Column[] = [
    number("expected_s", "expected", "s", ({ expected }) => expected?.time_s),
    number("expected_low_s", "from", "s", ({ expected }) => expected?.interval_s[0], "90 % interval"),
    number("expected_high_s", "to", "s", ({ expected }) => expected?.interval_s[1], "90 % interval"),
    number("samples_per_s", "samples/s", "count", ({ samples_per_s }) => samples_per_s),
    number("of_fastest_ratio", "of the fastest", "share", (one) => (fastest?.expected && one.expected ? fastest.expected.time_s / one.expected.time_s : null), "speed beside that of the fastest"),
    number("limit_s", "limit", "s", ({ limit_s }) => limit_s, "perfect kernels, perfect overlap"),
    number("memory_bytes", "memory", "capacity", ({ memory_bytes }) => memory_bytes),
    shown(number("cost_per_million_samples", "cost per million", "count", (one) => one.cost_per_million_samples, "samples"), costOf),
    shown(number("price_per_hour", "price per hour", "count", (one) => one.price_per_hour), (one) => money(one.price_per_hour ?? 0, one.currency ?? "")),
    shown(number("kwh_per_million_samples", "energy per million", "count", (one) => one.kwh_per_million_samples, "samples, at the board's power limit: an upper bound"), (one) => energy(one.kwh_per_million_samples ?? 0)),
  ];
  return [
    { key: "machine", label: "machine", unit: "text", value: ({ machine }) => machine },
    ...optional.filter((column) => choice.machines.some((one) => column.value(one) !== null)),
    { key: "fits", label: "fits", unit: "text", value: ({ fits, refusal }) => (refusal !== undefined ? "" : fits === false ? "no" : "yes") },
    { key: "calibration", label: "kernels", unit: "text", value: ({ expected }) => expected?.calibration ?? "", about: "measured on this GPU (calibrated), or transferred from another and, where something is known of this one, corrected" },
  ];
}

function table(context: Context, choice: MachineChoiceDocument): HTMLElement {
  const columns = columnsOf(choice);
  const { state } = context;
  const element = h("div", {});
  remade(context, ["machines-sort"], () =>
    element.replaceChildren(
      sortableTable(
        choice.machines,
        columns,
        { sort: state.get("machines-sort"), onSort: (next) => state.set("machines-sort", next), about: "machines" },
        (line, one) => {
          if (one.refusal !== undefined) tellReason(line, one.refusal, columns.length);
          if (one.machine === choice.fastest || one.machine === choice.cheapest) line.classList.add("front");
        },
      ),
    ),
  );
  return element;
}

export function renderMachineChoice(context: Context, choice: MachineChoiceDocument, element: HTMLElement, width: number): void {
  element.append(lead(choice), cards(choice));
  const lines = without(choice.machines);
  if (lines.length > 0) element.append(h("div", { class: "missing" }, ...lines.map((line) => h("p", { class: "note" }, ...words(kept(line))))));
  if (choice.machines.some(({ refusal }) => refusal === undefined)) element.append(pictures(choice, width));
  element.append(h("h3", {}, "All machines, the fastest first"), table(context, choice));
  const power = choice.machines.some(({ kwh_per_million_samples }) => typeof kwh_per_million_samples === "number");
  if (power) element.append(h("p", { class: "dim" }, "Energy assumes the board's power limit throughout: an upper bound."));
  const slow = choice.machines.find(({ machine }) => machine === choice.fastest);
  if (slow?.expected && slow.limit_s && slow.limit_s > 0)
    element.append(h("p", { class: "dim" }, `The limit is what perfect kernels would take: ${percent(slow.limit_s / slow.expected.time_s)} of the expected time on ${slow.machine}.`));
}
