// SPDX-License-Identifier: Apache-2.0
// The first screen of training on many devices: how long, what it is lost to, what the fullest rank holds, what to
// change, and the iteration over time.
import { bar } from "./answer";
import { cardList, type Card } from "./cards";
import { changesOf } from "./changes";
import { atCommas, h, kept, name, words } from "./dom";
import { kernelsFrom } from "./expected";
import { explanationOf } from "./findings";
import { choiceOf, clusterTitle, partColor, partsOf, resultOf, sceneOfRanks } from "./parallel";
import type { ParallelChoice, ParallelDocument, ParallelHead, ParallelResult, RankMemory } from "./schema";
import { axisHeight, drawAxis, drawLane, penOf } from "./timeline_draw";
import { duration, energy, format, money, percent, whole } from "./units";
import type { Context } from "./view";

type Result = ParallelHead & ParallelResult;

const memoryKinds: [keyof RankMemory, string, string][] = [
  ["parameters_bytes", "parameters", "var(--c0)"],
  ["gradients_bytes", "gradients", "var(--c3)"],
  ["states_bytes", "optimizer states", "var(--c4)"],
  ["activations_bytes", "activations", "var(--c2)"],
  ["buffers_bytes", "buffers", "var(--c6)"],
];

const mostSavers = 4;

/// What does not fit, and what would.
function outOfMemory(context: Context, result: Result): HTMLElement | null {
  if (result.fits) return null;
  const changes = (explanationOf(context.part)?.memory?.changes ?? [])
    .filter((each) => each.fits)
    .map((each) => `${each.change} needs ${format(each.memory_bytes, "capacity")} and fits`);
  return h(
    "div",
    { class: "out-of-memory", role: "alert" },
    h(
      "p",
      { class: "lead" },
      `Out of memory: the fullest rank needs ${format(result.memory.total_bytes, "capacity")}, a device has ${format(result.device_memory_bytes, "capacity")}.`,
    ),
    changes.length > 0 && h("p", {}, ...words(`${changes.slice(0, mostSavers).join("; ")}.`)),
    h("p", {}, "Times are those of devices that had the memory."),
  );
}

function lead(document: ParallelDocument, result: Result): HTMLElement {
  const choice = choiceOf(document);
  const [low, high] = result.expected.interval_s;
  return h(
    "p",
    { class: "lead" },
    "One training iteration of ",
    name(result.title || result.network),
    ` on ${clusterTitle(result)}, split as `,
    h("code", {}, ...atCommas(result.strategy.text)),
    choice ? `, the fastest of ${whole(choice.strategies.length)} strategies,` : "",
    kept(` is expected to take ${format(result.expected.time_s, "s")} (90 % interval ${format(low, "s")} to ${format(high, "s")}).`),
  );
}

function cards(result: Result): HTMLElement {
  const from = kernelsFrom(result.calibration);
  const all: Card[] = [
    {
      label: "expected",
      value: format(result.expected.time_s, "s"),
      detail: `${result.framework}, kernels ${from} ${result.calibrated_on}`,
    },
    result.tokens_per_s === null
      ? { label: "samples per second", value: format(result.samples_per_s, "count"), detail: "all devices together" }
      : { label: "tokens per second", value: format(result.tokens_per_s, "count"), detail: `${format(result.samples_per_s, "count")} samples per second` },
    {
      label: "memory",
      value: format(result.memory.total_bytes, "capacity"),
      detail: `the fullest rank${result.device_memory_bytes === null ? "" : `; a device has ${format(result.device_memory_bytes, "capacity")}`}`,
    },
    { label: "limit", value: format(result.limit_s, "s"), detail: "perfect kernels, full link rates, nothing waits" },
  ];
  if (result.mfu !== null)
    all.splice(2, 0, { label: "MFU", value: percent(result.mfu), detail: "of the peak of all devices, without recomputation" });
  return cardList(all);
}

/// What the whole run takes, where its length or a price was said.
function runCards({ training, cluster }: Result): HTMLElement[] {
  if (!training) return [];
  const { run, price_per_device_hour: price } = training;
  const currency = training.currency ?? "";
  const per = price === null ? "" : `at ${money(price, currency)} per device and hour`;
  const all: Card[] = [];
  if (run) {
    const length = run.tokens !== null ? `${format(run.tokens, "count")} tokens` : run.samples !== null ? `${format(run.samples, "count")} samples` : "";
    const [low, high] = run.interval_s;
    all.push(
      { label: "training run", value: duration(run.time_s), detail: `90 % interval ${duration(low)} to ${duration(high)}` },
      { label: "iterations", value: format(run.iterations, "count"), detail: length },
      { label: "device hours", value: format(run.device_hours, "count"), detail: `on ${whole(cluster.devices)} ${cluster.devices === 1 ? "device" : "devices"}` },
    );
    if (run.cost !== null) all.push({ label: "cost of the run", value: money(run.cost, currency), detail: per });
    if (run.energy_kwh !== null)
      all.push({ label: "energy of the run", value: energy(run.energy_kwh), detail: "at the boards' power limit, of the devices alone: an upper bound" });
  }
  if (training.cost_per_million !== null)
    all.push({ label: `cost per million ${training.per_million}`, value: money(training.cost_per_million, currency), detail: per });
  return all.length > 0 ? [h("h3", {}, run ? "The training run" : "Cost"), cardList(all)] : [];
}

const mostTried = 6;

/// The first of all strategies, or the stages of the one that was asked for.
function shortTable(document: ParallelDocument, result: Result): HTMLElement {
  const choice = choiceOf(document);
  const [title, heads, rows] = choice ? triedRows(choice) : stageRows(result);
  const isNumber = (at: number) => at > 0 && heads[at] !== "layers" && heads[at] !== "why it loses";
  const [all, view] = choice ? [choice.strategies.length, "strategies"] : [result.stages.length, "stages"];
  const link = h("a", { class: "to-view", href: `#${view}` }, `all ${whole(all)}`);
  return h(
    "div",
    { class: "first-rows" },
    h("h3", {}, title),
    h(
      "div",
      { class: "wide" },
      h(
        "table",
        { class: "small" },
        h("thead", {}, h("tr", {}, ...heads.map((each, at) => h("th", { class: isNumber(at) ? "n" : undefined }, each)))),
        h("tbody", {}, ...rows.map((cells) => h("tr", {}, ...cells.map((each, at) => h("td", { class: isNumber(at) ? "n" : "words" }, ...(at === 0 ? atCommas(each) : words(each))))))),
      ),
    ),
    h("p", { class: "dim more" }, link, ", with every number"),
  );
}

type ShortRows = [title: string, heads: string[], rows: string[][]];

function triedRows(choice: ParallelChoice): ShortRows {
  const rows = choice.strategies
    .filter(({ time_s }) => time_s !== undefined)
    .slice(0, mostTried)
    .map((each) => [each.strategy, format(each.time_s, "s"), format(each.memory_bytes, "capacity"), each.why_it_loses ?? ""]);
  return ["The fastest strategies", ["strategy", "expected", "memory", "why it loses"], rows];
}

function stageRows(result: Result): ShortRows {
  const rows = result.stages
    .slice(0, mostTried)
    .map((stage) => [String(stage.stage), stage.layers, format(stage.time.compute_s, "s"), format(stage.memory.total_bytes, "capacity")]);
  return [result.stages.length > 1 ? "Stages of the pipeline" : "Every rank", ["stage", "layers", "compute", "memory"], rows];
}

function timeBar(result: Result): HTMLElement {
  const parts = partsOf(result)
    .filter((part) => part.time_s > 0.0005 * result.expected.time_s)
    .map(({ name: what, time_s }) => ({ name: what, value: time_s, color: partColor(what) }));
  const mean = result.stages.length > 1 ? ", the mean over stages" : "";
  return bar(`What the ${format(result.expected.time_s, "s")} go to${mean}`, parts, result.expected.time_s, "s");
}

/// The fullest rank by kind, beside what a device has.
function memoryBar(result: Result): HTMLElement {
  const { memory, device_memory_bytes } = result;
  const total = memory.total_bytes;
  const room = Math.max(total, device_memory_bytes ?? 0);
  const parts = memoryKinds.map(([key, what, color]) => ({ name: what, value: memory[key], color })).filter((part) => part.value > 0);
  const fullest = result.stages.find((stage) => stage.memory.total_bytes === total);
  const which = result.stages.length > 1 && fullest ? ` (stage ${fullest.stage})` : "";
  const of = device_memory_bytes === null ? "" : ` of ${format(device_memory_bytes, "capacity")}`;
  const element = bar(`Memory of the fullest rank${which}: ${format(total, "capacity")}${of}`, parts, total, "capacity", room);
  element.classList.add("memory-bar");
  if (device_memory_bytes !== null && device_memory_bytes < total) {
    const mark = h("i", { class: "device-end", title: `a device has ${format(device_memory_bytes, "capacity")}` });
    mark.style.left = `${(100 * device_memory_bytes) / room}%`;
    element.querySelector(".lost-bar")?.append(mark);
  }
  return element;
}

const mostLanes = 16;

/// A link to the timeline, with the stages as thin as it takes.
function strip(context: Context, result: Result, width: number): HTMLElement | null {
  const scene = sceneOfRanks(result);
  if (!scene) return null;
  const lanes = scene.lanes.filter((lane) => lane.isWait !== undefined && lane.title !== "network").slice(0, mostLanes);
  const height = Math.max(12, Math.min(34, 220 / lanes.length));
  const canvas = h("canvas", { role: "img", "aria-label": `${scene.title}, over time` });
  const draw = () => {
    const pen = penOf(canvas, width, lanes.length * height + axisHeight);
    if (!pen) return;
    const drawing = { context, scene, typeOf: new Map<string, string>(), width, window: { from: 0, to: scene.end } };
    lanes.forEach((lane, at) => drawLane(pen, drawing, lane, at * height, height));
    drawAxis(pen, drawing, lanes.length * height);
  };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw, { signal: context.ended });
  const all = result.stages.length;
  return h(
    "div",
    { class: "strip no-saves" },
    h("h3", {}, "Over time: ", h("span", { class: "dim" }, all > lanes.length ? `${lanes.length} of ${whole(all)} stages` : scene.title)),
    h("a", { class: "to-view", href: "#timeline", "aria-label": "Open the timeline" }, canvas),
  );
}

function nothingFits(document: ParallelDocument): HTMLElement {
  const choice = choiceOf(document);
  const least = choice?.strategies.reduce((all, each) => Math.min(all, each.memory_bytes), Infinity) ?? Infinity;
  return h(
    "div",
    { class: "out-of-memory", role: "alert" },
    h(
      "p",
      { class: "lead" },
      `Out of memory: none of ${whole(choice?.strategies.length ?? 0)} strategies fits ${clusterTitle(document)}` +
        (Number.isFinite(least)
          ? `; the leanest needs ${format(least, "capacity")} of the ${format(document.device_memory_bytes, "capacity")} of a device.`
          : "."),
    ),
  );
}

export function renderParallel(context: Context, document: ParallelDocument, element: HTMLElement, width: number): void {
  const result = resultOf(document);
  if (!result) {
    element.append(nothingFits(document));
    return;
  }
  const problem = outOfMemory(context, result);
  if (problem) element.append(problem);
  element.append(lead(document, result), cards(result), ...runCards(result), timeBar(result));
  const changes = changesOf(context);
  const held = h("div", {}, memoryBar(result), shortTable(document, result));
  element.append(h("div", { class: changes ? "beside" : "" }, held, ...(changes ? [changes] : [])));
  const over = strip(context, result, width);
  if (over) element.append(over);
  if (result.cluster.assumptions.length > 0)
    element.append(
      h("h3", {}, "Assumed"),
      h("ul", { class: "dim" }, ...result.cluster.assumptions.map((each) => h("li", {}, ...words(each)))),
    );
}
