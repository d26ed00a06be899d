// SPDX-License-Identifier: Apache-2.0
// What a device counted, layer by layer: one table, a group of columns at a time.
import { h, menu } from "./dom";
import { Marks } from "./links";
import { isProfile, type CounterHead, type ProfileDocument } from "./schema";
import { sortableTable, type SortColumn } from "./sortable";
import { matchesWords } from "./table_lines";
import { type Unit } from "./units";
import { remade, type Context, type View } from "./view";

export type CounterNumbers = Record<string, number | null>;

interface CountedRow {
  layer: string;
  pass: string;
  op: string;
  time_s: number | null;
  counters: CounterNumbers;
}

/// The columns of a group; the first group whose test a key passes has it.
const groups: { name: string; has: (key: string) => boolean }[] = [
  { name: "stalls", has: (key) => /^stall_|_per_issue$/.test(key) },
  { name: "caches", has: (key) => /hit_rate$|^crossbar_|^cache_/.test(key) },
  { name: "bytes and FLOP", has: (key) => /^(dram|l1|l2)_|_flop$/.test(key) },
  { name: "accesses", has: (key) => /^(global|shared)_|^g(ld|st)_/.test(key) },
  { name: "warps and instructions", has: () => true },
];
const overview = [
  "occupancy",
  "ipc",
  "load_store_share",
  "l1_load_hit_rate",
  "l2_read_hit_rate",
  "l2_write_hit_rate",
  "dram_read_bytes",
  "dram_write_bytes",
  "stall_data_access",
  "stall_long_scoreboard",
  "stall_short_scoreboard",
  "gld_efficiency",
  "gst_efficiency",
];

function unitOfCounter(unit: string): Unit {
  if (unit === "fraction") return "share";
  return unit === "bytes" || unit === "flop" ? unit : "count";
}

/// "dram_read_bytes" → "DRAM read": the unit stands beside the number.
function labelOfCounter(key: string): string {
  return key
    .replace(/_(bytes)$/, "")
    .replaceAll("_", " ")
    .replace(/\b(flop|dram|l1|l2|ipc)\b/g, (word) => word.toUpperCase());
}

/// Columns of counters for rows of any kind.
export function counterColumns<Item>(
  heads: CounterHead[],
  numbers: (item: Item) => CounterNumbers,
): SortColumn<Item>[] {
  return heads.map((head) => ({
    key: head.key,
    label: labelOfCounter(head.key),
    about: `${head.about} (${head.unit})`,
    unit: unitOfCounter(head.unit),
    value: (item) => numbers(item)[head.key] ?? null,
  }));
}

/// Which columns are shown: a few of all, one group, or all.
export function headsIn(heads: CounterHead[], group: string): CounterHead[] {
  if (group === "all") return heads;
  if (group === "") {
    const few = heads.filter((head) => overview.includes(head.key));
    return few.length > 0 ? few : heads;
  }
  return heads.filter((head) => groups.find((each) => each.has(head.key))?.name === group);
}

export function groupMenu(heads: CounterHead[], context: Context): HTMLElement {
  const { state } = context;
  const named = groups.map((each) => each.name).filter((name) => headsIn(heads, name).length > 0);
  return menu(
    "columns",
    [{ value: "", label: "overview" }, ...[...named, "all"].map((each) => ({ value: each, label: each }))],
    state.get("counters"),
    (value) => state.set("counters", value),
  );
}

export function searchField(context: Context, what: string): HTMLElement {
  const { state } = context;
  const field: HTMLInputElement = h("input", {
    type: "search",
    placeholder: "search: conv pass:forward",
    "aria-label": `Search ${what}`,
    value: state.get("find"),
    input: () => state.set("find", field.value),
  });
  state.on(["find"], () => {
    if (field.value !== state.get("find")) field.value = state.get("find");
  });
  return field;
}

export function wordsOf(context: Context): string[] {
  return context.state
    .get("find")
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
}

function countedRows(document: ProfileDocument): CountedRow[] {
  return document.layers.flatMap((row) =>
    row.counters
      ? [
          {
            layer: row.layer,
            pass: row.pass,
            op: row.op ?? "",
            time_s: typeof row.time_s === "number" ? row.time_s : null,
            counters: row.counters as CounterNumbers,
          },
        ]
      : [],
  );
}

const rowColumns: SortColumn<CountedRow>[] = [
  { key: "layer", label: "layer", unit: "text", value: (row) => row.layer },
  { key: "pass", label: "pass", unit: "text", value: (row) => row.pass },
  { key: "op", label: "type", unit: "text", value: (row) => row.op },
  { key: "time_s", label: "time", unit: "s", value: (row) => row.time_s },
];

function render(context: Context, element: HTMLElement): void {
  const { document } = context.part;
  if (!isProfile(document) || !document.counters) return;
  const heads = document.counters.columns;
  const rows = countedRows(document);
  const marks = new Marks(context.links);
  const body = h("div", {});
  element.append(
    h(
      "div",
      { class: "controls" },
      searchField(context, "counters"),
      groupMenu(heads, context),
      h("span", { class: "dim" }, `counters are of runs of their own: ${document.counters.source}`),
    ),
    body,
  );
  const { state } = context;
  remade(context, ["countersort", "counters", "find"], () => {
    marks.clear();
    const words = wordsOf(context);
    body.replaceChildren(
      sortableTable(
        rows.filter((row) => matchesWords({ ...row }, words)),
        [...rowColumns, ...counterColumns(headsIn(heads, state.get("counters")), (row: CountedRow) => row.counters)],
        {
          sort: state.get("countersort", "-time_s"),
          onSort: (sort) => state.set("countersort", sort === "" ? "none" : sort),
        },
        (line, row) => marks.add(line, { layer: row.layer, pass: row.pass }),
      ),
    );
  });
}

export const countersView: View = {
  id: "counters",
  title: "Counters",
  fits: ({ part: { document } }) =>
    isProfile(document) && (document.counters?.columns.length ?? 0) > 0 && countedRows(document).length > 0,
  render,
};
