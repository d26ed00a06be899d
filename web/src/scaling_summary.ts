// SPDX-License-Identifier: Apache-2.0
// The first screen of training on more and more devices: how much faster it gets, what is lost on the way, what the
// whole run takes, and a row for each number of devices.
import { cardList, type Card } from "./cards";
import { h, kept, name, words } from "./dom";
import { answered, calibrationOf, devicesOf, itemsOf, machineOf, networkOf, rangeOf, type Answered, type Devices } from "./scaling";
import { devicesText, partBars, throughputChart } from "./scaling_chart";
import { scalingTable } from "./scaling_table";
import type { ParallelScaling } from "./schema";
import { digits, duration, energy, format, money, percent, whole } from "./units";
import { remade, type Context } from "./view";

function expectedText({ answer }: Answered): string {
  return `${format(answer.time_s, "s")} (90 % interval ${format(answer.low_s, "s")} to ${format(answer.high_s, "s")})`;
}

function lead(scaling: ParallelScaling, all: Answered[]): HTMLElement {
  const [first, last] = [all[0] as Answered, all.at(-1) as Answered];
  const head = ["One training iteration of ", name(networkOf(scaling)), ` on ${rangeOf(all)} `, name(machineOf(scaling))];
  const from = calibrationOf(scaling);
  const by = from === "" ? "" : `, in ${from}`;
  if (first.devices === last.devices) return h("p", { class: "lead" }, ...head, kept(` is expected to take ${expectedText(first)}${by}.`));
  const ratio = last.answer.samples_per_s / first.answer.samples_per_s;
  const best = all.reduce((most, each) => (each.answer.samples_per_s > most.answer.samples_per_s ? each : most));
  const ideal = last.devices / first.devices;
  return h(
    "p",
    { class: "lead" },
    ...head,
    kept(
      `: ${whole(first.devices)} → ${whole(last.devices)} devices is ${digits(ratio, 2)} times as fast, ${percent(ratio / ideal)} of ideal.` +
        ` It is expected to take ${expectedText(first)} on ${whole(first.devices)} and ${expectedText(last)} on ${whole(last.devices)}${by}.` +
        (best === last ? "" : ` ${whole(best.devices)} devices are the fastest.`),
    ),
  );
}

/// What a run on so many devices takes; nothing where its length was not said.
function runCards([first, last]: [Answered, Answered]): Card[] {
  const { run, currency } = last.answer;
  const least = first.answer.run;
  if (!run) return [];
  const on = least ? ` on ${whole(first.devices)}` : "";
  const cards = [{ label: `run on ${whole(last.devices)}`, value: duration(run.time_s), detail: least ? `${duration(least.time_s)}${on}` : "" }];
  if (run.cost !== null)
    cards.push({
      label: `cost of the run on ${whole(last.devices)}`,
      value: money(run.cost, currency),
      detail: least && least.cost !== null ? `${money(least.cost, currency)}${on}` : "",
    });
  return cards;
}

function cards(all: Answered[]): HTMLElement {
  const ends: [Answered, Answered] = [all[0] as Answered, all.at(-1) as Answered];
  const [first, last] = ends;
  const items = itemsOf(all);
  const rate = ({ answer }: Answered) => format(items === "tokens" ? answer.tokens_per_s : answer.samples_per_s, "count");
  const than = `on ${whole(first.devices)}`;
  const list: Card[] = [{ label: `${items} per second on ${whole(last.devices)}`, value: rate(last), detail: `${rate(first)} ${than}` }];
  if (last.answer.efficiency !== null)
    list.push({ label: "efficiency", value: percent(last.answer.efficiency), detail: `samples per second and device, of those ${than}` });
  if (last.answer.mfu !== null)
    list.push({
      label: "MFU",
      value: percent(last.answer.mfu),
      detail: `of the peak of all devices${first.answer.mfu === null ? "" : `; ${percent(first.answer.mfu)} ${than}`}`,
    });
  return cardList([...list, ...runCards(ends)]);
}

const mostReasons = 3;

/// What has no answer, and why, where people see it before the table; alone, where nothing has one.
function missing(all: Devices[]): HTMLElement | null {
  const without = all.filter(({ answer }) => answer === null);
  const none = without.length === all.length;
  if (without.length === 0 && !none) return null;
  const lines = without.slice(0, mostReasons).map((each) => `${devicesText(each)}: ${each.reason || "no answer"}`);
  const more = without.length > mostReasons ? [`and ${whole(without.length - mostReasons)} more, in the table`] : [];
  return h(
    "div",
    none ? { class: "out-of-memory missing", role: "alert" } : { class: "missing" },
    none && h("p", { class: "lead" }, "No number of devices has an answer."),
    ...[...lines, ...more].map((line) => h("p", { class: none ? undefined : "note" }, ...words(line))),
  );
}

/// At the boards' power limit: more than they draw.
function energyOf(all: Answered[]): HTMLElement | null {
  const last = all.at(-1);
  const kwh = last?.answer.run?.energy_kwh ?? null;
  if (!last || kwh === null) return null;
  return h("p", { class: "dim" }, `Energy of the run on ${whole(last.devices)}: ${energy(kwh)} at the power limit of the boards, of the devices alone.`);
}

function assumed({ assumptions }: ParallelScaling): HTMLElement[] {
  const all = (Array.isArray(assumptions) ? assumptions : []).map(String);
  return all.length === 0 ? [] : [h("h3", {}, "Assumed"), h("ul", { class: "dim" }, ...all.map((each) => h("li", {}, ...words(each))))];
}

export function renderScaling(context: Context, scaling: ParallelScaling, element: HTMLElement, width: number): void {
  const all = devicesOf(scaling);
  const rows = answered(all);
  if (rows.length > 0) element.append(lead(scaling, rows));
  const without = missing(all);
  if (without) element.append(without);
  if (rows.length > 0) element.append(cards(rows));
  if (rows.length > 1) {
    const half = width > 900 ? Math.floor((width - 40) * 0.53) : width;
    element.append(h("div", { class: "beside" }, throughputChart(rows, half), partBars(rows)));
  } else if (rows.length > 0) element.append(partBars(rows));
  const table = h("div", {});
  const { state } = context;
  const used = energyOf(rows);
  element.append(table, ...(used ? [used] : []), ...assumed(scaling));
  remade(context, ["scaling-sort"], () =>
    table.replaceChildren(
      scalingTable(all, { sort: state.get("scaling-sort"), onSort: (next) => state.set("scaling-sort", next), about: "numbers of devices" }),
    ),
  );
}
