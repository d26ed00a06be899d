// SPDX-License-Identifier: Apache-2.0
// The kernels of each layer and pass: how often each ran and how long, and what was counted of it. A layer that is
// chosen anywhere has the table for itself.
import { counterColumns, groupMenu, headsIn, searchField, wordsOf, type CounterNumbers } from "./counters";
import { h } from "./dom";
import { Marks } from "./links";
import { iterationOf } from "./rows";
import { isProfile, type KernelSpan, type ProfileDocument } from "./schema";
import { sortableTable, type SortColumn } from "./sortable";
import { matchesWords } from "./table_lines";
import { remade, type Context, type View } from "./view";

interface KernelRow {
  kernel: string;
  layer: string;
  pass: string;
  calls: number | null;
  time_s: number | null;
  share: number | null;
  longest?: KernelSpan; // the launch that took longest: its blocks, registers, shared memory
  counters: CounterNumbers;
}

/// One row for each kernel of a layer and pass. Timed and counted kernels come from runs of their own and meet by name;
/// of a kernel that was counted several times the first run is shown.
export function kernelRows(document: ProfileDocument): KernelRow[] {
  const rows = new Map<string, KernelRow>();
  const whole = iterationOf(document);
  const rowOf = (kernel: string, layer: string, pass: string) => {
    const key = JSON.stringify([layer, pass, kernel]);
    let row = rows.get(key);
    if (!row)
      rows.set(key, (row = { kernel, layer, pass, calls: null, time_s: null, share: null, counters: {} }));
    return row;
  };
  for (const span of document.kernels ?? []) {
    const row = rowOf(span.name, span.layer, span.pass);
    row.calls = (row.calls ?? 0) + 1;
    row.time_s = (row.time_s ?? 0) + span.time_s;
    if (!row.longest || span.time_s > row.longest.time_s) row.longest = span;
    row.share = whole > 0 ? row.time_s / whole : null;
  }
  for (const { name, layer, pass, counters } of document.counted_kernels ?? []) {
    const row = rowOf(name, layer, pass);
    if (Object.keys(row.counters).length === 0) row.counters = counters;
  }
  return [...rows.values()];
}

const kernelColumns: SortColumn<KernelRow>[] = [
  { key: "layer", label: "layer", unit: "text", most: 26, value: (row) => row.layer },
  { key: "pass", label: "pass", unit: "text", value: (row) => row.pass },
  { key: "kernel", label: "kernel", unit: "text", most: 44, value: (row) => row.kernel },
  { key: "calls", label: "launches", unit: "count", value: (row) => row.calls },
  { key: "time_s", label: "time", unit: "s", value: (row) => row.time_s },
  {
    key: "share",
    label: "share",
    about: "of the iteration; kernels that run side by side add up to more",
    unit: "share",
    value: (row) => row.share,
  },
];

/// How the longest launch of a kernel was made, and what keeps a multiprocessor from holding more of its warps.
const launchColumns = (
  [
    ["blocks", "blocks", "count", "of the launch"],
    ["threads_per_block", "threads", "count", "per block"],
    ["registers_per_thread", "registers", "count", "per thread"],
    ["shared_bytes_per_block", "shared", "capacity", "shared memory per block"],
    ["possible_occupancy", "possible occupancy", "share", "warps that the launch allows, of the most possible"],
    ["limited_by", "limited by", "text", "what keeps a multiprocessor from holding more of its warps"],
  ] as const
).map(
  ([key, label, unit, about]): SortColumn<KernelRow> => ({
    key,
    label,
    about,
    unit,
    value: (row) => row.longest?.[key] ?? null,
  }),
);

function render(context: Context, element: HTMLElement): void {
  const { document } = context.part;
  if (!isProfile(document)) return;
  const rows = kernelRows(document);
  const heads = document.counted_kernels?.length ? (document.counters?.columns ?? []) : [];
  const hasLaunches = rows.some((row) => row.longest?.threads_per_block !== undefined);
  const marks = new Marks(context.links);
  const body = h("div", {});
  const chosen = h("span", { class: "dim" });
  element.append(
    h(
      "div",
      { class: "controls" },
      searchField(context, "kernels"),
      heads.length > 0 && groupMenu(heads, context),
      chosen,
    ),
    body,
  );
  const { state, links } = context;
  remade(context, ["kernelsort", "counters", "find", "layer"], () => {
    marks.clear();
    const words = wordsOf(context);
    const ofLayer = rows.filter((row) => row.layer === links.chosen);
    const isChosen = ofLayer.length > 0;
    chosen.textContent = isChosen
      ? `of ${links.chosen} alone; choose it again to see all`
      : "of all layers; choose a layer to see its own";
    body.replaceChildren(
      sortableTable(
        (isChosen ? ofLayer : rows).filter((row) => matchesWords({ ...row, op: row.kernel }, words)),
        [...kernelColumns, ...(hasLaunches ? launchColumns : []), ...counterColumns(headsIn(heads, state.get("counters")), (row: KernelRow) => row.counters)],
        {
          sort: state.get("kernelsort", "-time_s"),
          onSort: (sort) => state.set("kernelsort", sort === "" ? "none" : sort),
        },
        (line, row) => marks.add(line, { layer: row.layer, pass: row.pass }),
      ),
    );
  });
}

export const kernelsView: View = {
  id: "kernels",
  title: "Kernels",
  fits: ({ part: { document } }) =>
    isProfile(document) && (document.kernels?.length ?? 0) + (document.counted_kernels?.length ?? 0) > 0,
  render,
};
