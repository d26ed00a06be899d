// SPDX-License-Identifier: Apache-2.0
// A row for each number of devices: the best strategy and what it reaches, or the reason why there is none.
import { h } from "./dom";
import { answered, itemsOf, type Answer, type Devices } from "./scaling";
import { sortableTable, tellReason, type SortColumn, type Sorting } from "./sortable";
import { duration, money, type Unit } from "./units";

type Column = SortColumn<Devices>;

function numberColumn(key: string, label: string, unit: Unit, value: (answer: Answer) => number | null, about?: string): Column {
  return { key, label, unit, value: ({ answer }) => (answer ? value(answer) : null), ...(about === undefined ? {} : { about }) };
}

/// A number that is written in its own way, "10.3 days".
function shownColumn(key: string, label: string, value: (answer: Answer) => number | null, show: (value: number, answer: Answer) => string): Column {
  const column = numberColumn(key, label, "count", value);
  return {
    ...column,
    show: ({ answer }) => {
      const found = answer ? value(answer) : null;
      return h("bdi", {}, answer && found !== null ? show(found, answer) : "–");
    },
  };
}

function columnsOf(all: Devices[]): Column[] {
  const rows = answered(all);
  const items = itemsOf(rows);
  const rate =
    items === "tokens"
      ? numberColumn("tokens_per_s", "tokens/s", "count", (answer) => answer.tokens_per_s)
      : numberColumn("samples_per_s", "samples/s", "count", (answer) => answer.samples_per_s);
  const hasRun = rows.some(({ answer }) => answer.run !== null);
  const cost = hasRun
    ? shownColumn("cost", "cost of the run", ({ run }) => run?.cost ?? null, (value, { currency }) => money(value, currency))
    : shownColumn(`cost_per_million_${items}`, `cost per million ${items}`, (answer) => answer.cost_per_million, (value, { currency }) => money(value, currency));
  const optional = [
    numberColumn("mfu", "MFU", "share", ({ mfu }) => mfu, "of the peak of all devices, without recomputation"),
    numberColumn("memory_bytes", "memory", "capacity", ({ memory_bytes }) => memory_bytes, "of the fullest rank"),
    shownColumn("run_s", "run", ({ run }) => run?.time_s ?? null, duration),
    cost,
  ];
  return [
    { key: "devices", label: "devices", unit: "count", value: ({ devices }) => devices },
    numberColumn("expected_s", "expected", "s", ({ time_s }) => time_s),
    numberColumn("expected_low_s", "from", "s", ({ low_s }) => low_s, "90 % interval"),
    numberColumn("expected_high_s", "to", "s", ({ high_s }) => high_s, "90 % interval"),
    rate,
    numberColumn("scaling_efficiency", "efficiency", "share", ({ efficiency }) => efficiency),
    ...optional.filter((column) => rows.some((row) => column.value(row) !== null)),
    { key: "strategy", label: "strategy", unit: "text", value: ({ answer, reason }) => answer?.strategy ?? reason },
  ];
}

export function scalingTable(all: Devices[], sorting: Sorting): HTMLElement {
  const columns = columnsOf(all);
  const table = sortableTable(all, columns, sorting, (line, { answer, reason }) => {
    if (answer === null) tellReason(line, reason, columns.length);
  });
  return h(
    "div",
    {},
    h("h3", {}, "The fastest strategy for each number of devices"),
    table,
    h("p", { class: "dim" }, "Efficiency is samples per second and device, of those of the first row that has an answer."),
  );
}
