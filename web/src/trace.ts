// SPDX-License-Identifier: Apache-2.0
// A recording, as `strata trace` prints it: what the devices did, which kernels ran and how they were launched, calls,
// copies, memory, and the steps.
import { cardList, type Card } from "./cards";
import { legend } from "./chart";
import { h, menu } from "./dom";
import { Colors } from "./palette";
import { isProfile } from "./schema";
import type { CallTimes, TracedCopies, TracedDevice, TracedKernel, TracedMemory, TracedProcess } from "./schema_trace";
import { sortableTable, type SortColumn } from "./sortable";
import { withTip } from "./tooltip";
import { format, percent, whole } from "./units";
import { remade, type Context, type View } from "./view";

/// The processes of a recording; none where the result is another.
export function processesOf(context: Context): TracedProcess[] {
  const { document } = context.part;
  return isProfile(document) && document.kind === "trace" ? (document.processes ?? []) : [];
}

function words(name: string): string {
  return name.replaceAll("_", " ");
}

function extents(sizes: number[]): string {
  const [x = 0, y = 1, z = 1] = sizes;
  return x === 0 ? "" : [x, ...(y > 1 || z > 1 ? [y] : []), ...(z > 1 ? [z] : [])].join("×");
}

function timeColumns<Item extends CallTimes>(all: number, of: string): SortColumn<Item>[] {
  return [
    { key: "calls", label: "calls", unit: "count", value: (item) => item.calls },
    { key: "time_s", label: "total", unit: "s", value: (item) => item.time_s },
    { key: "share", label: "share", about: `of ${of}`, unit: "share", value: (item) => (all > 0 ? item.time_s / all : null) },
    { key: "mean_s", label: "mean", unit: "s", value: (item) => item.mean_s },
    { key: "min_s", label: "min", unit: "s", value: (item) => item.min_s },
    { key: "max_s", label: "max", unit: "s", value: (item) => item.max_s },
  ];
}

const kernelColumns: SortColumn<TracedKernel>[] = [
  { key: "grid", label: "grid", about: "blocks of the longest launch", unit: "text", kind: "n", value: (row) => extents(row.grid) },
  { key: "block", label: "block", about: "threads of a block", unit: "text", kind: "n", value: (row) => extents(row.block) },
  { key: "registers", label: "registers", about: "per thread", unit: "count", value: (row) => row.registers },
  {
    key: "shared_bytes",
    label: "shared",
    about: "shared memory per block",
    unit: "capacity",
    value: (row) =>
      row.static_shared_bytes === null && row.dynamic_shared_bytes === null
        ? null
        : (row.static_shared_bytes ?? 0) + (row.dynamic_shared_bytes ?? 0),
  },
  { key: "occupancy", label: "possible occupancy", about: "warps that the launch allows, of the most possible", unit: "share", value: (row) => row.occupancy },
  { key: "occupancy_limit", label: "limited by", unit: "text", value: (row) => (row.occupancy === null ? "" : row.occupancy_limit) },
];

const copyColumns: SortColumn<TracedCopies>[] = [
  { key: "kind", label: "copies", unit: "text", value: (row) => row.kind },
  { key: "source", label: "from", unit: "text", value: (row) => row.source },
  { key: "destination", label: "to", unit: "text", value: (row) => row.destination },
  { key: "calls", label: "calls", unit: "count", value: (row) => row.calls },
  { key: "bytes", label: "bytes", unit: "bytes", value: (row) => (row.bytes > 0 ? row.bytes : null) },
  { key: "time_s", label: "time", unit: "s", value: (row) => row.time_s },
  { key: "bytes_per_s", label: "throughput", unit: "bytes/s", value: (row) => (row.bytes_per_s > 0 ? row.bytes_per_s : null) },
  {
    key: "of_link",
    label: "of link",
    about: "of what the link of the machine can move",
    unit: "share",
    value: (row) => (row.link_bytes_per_s ? row.bytes_per_s / row.link_bytes_per_s : null),
  },
  { key: "under_kernels", label: "under kernels", about: "of its time, while a kernel ran", unit: "share", value: (row) => (row.time_s > 0 ? row.under_kernels_s / row.time_s : null) },
  { key: "small_calls", label: "small calls", about: "below 64 KiB", unit: "count", value: (row) => row.small_calls },
];

const memoryColumns: SortColumn<TracedMemory>[] = [
  { key: "where", label: "memory", unit: "text", value: (row) => `${row.device === null ? "host" : `device ${row.device}`}${row.is_framework ? ", by the framework" : ""}` },
  { key: "peak_bytes", label: "peak", unit: "capacity", value: (row) => row.peak_bytes },
  { key: "allocations", label: "allocations", unit: "count", value: (row) => row.allocations },
  { key: "frees", label: "frees", unit: "count", value: (row) => row.frees },
  { key: "allocated_bytes", label: "allocated in all", unit: "capacity", value: (row) => row.allocated_bytes },
];

function cardsOf(process: TracedProcess): HTMLElement {
  const { steps } = process;
  const cards: Card[] = [
    {
      label: "kernels",
      value: format(process.kernel_time_s, "s"),
      detail: `${whole(process.launches)} launches of ${whole(process.kernels.length)} kernels`,
    },
  ];
  if (steps.count > 0)
    cards.unshift({
      label: "a step on the device",
      value: format(steps.median_s, "s"),
      detail: `median of ${steps.count}, ${format(steps.min_s, "s")} to ${format(steps.max_s, "s")}, by ${steps.how}`,
    });
  for (const device of process.devices) {
    const idle = Math.max(0, device.span_s - device.kernel_busy_s);
    cards.push({
      label: `device ${device.device ?? "?"}`,
      value: `${percent(device.span_s > 0 ? device.kernel_busy_s / device.span_s : 0)} busy`,
      detail: `${format(idle, "s")} of ${format(device.span_s, "s")} idle in ${whole(device.gaps)} gaps, the longest ${format(device.longest_gap_s, "s")}`,
    });
  }
  if (process.lost_records > 0)
    cards.push({ label: "lost", value: whole(process.lost_records), detail: "records are missing" });
  return cardList(cards);
}

/// What a device did from its first kernel to its last: kernels, then why none ran.
function deviceBar(device: TracedDevice): HTMLElement {
  const causes = Object.entries(device.idle_s).filter(([, time]) => time > 0);
  const parts: [string, number][] = [["a kernel runs", device.kernel_busy_s], ...causes.map(([cause, time]): [string, number] => [`idle: ${cause}`, time])];
  const colors = new Colors(parts.map(([name]) => name));
  const bar = h("div", { class: "lost-bar", role: "img", "aria-label": parts.map(([name, time]) => `${name} ${format(time, "s")}`).join(", ") });
  for (const [name, time] of parts) {
    const part = h("span", {});
    part.style.width = `${(100 * time) / (device.span_s || 1)}%`;
    part.style.setProperty("--swatch", colors.of(name));
    withTip(part, name, () => [
      ["time", format(time, "s")],
      ["share", percent(time / (device.span_s || 1))],
    ]);
    bar.append(part);
  }
  const name = (each: string, time: number) => `${each} ${percent(time / (device.span_s || 1))}`;
  return h(
    "div",
    { class: "device-time" },
    h("h3", {}, h("bdi", {}, `device ${device.device ?? "?"} ${device.name}`), ` from the first kernel to the last: ${format(device.span_s, "s")}`),
    bar,
    legend(parts.map(([each, time]) => ({ name: name(each, time), color: colors.of(each) }))),
    h(
      "p",
      { class: "dim" },
      `two kernels or more at once ${percent(device.concurrent_s / (device.span_s || 1))} (at most ${device.most_at_once}); copies run ${percent(device.copy_busy_s / (device.span_s || 1))}, ${percent(device.copy_exposed_s / (device.span_s || 1))} without a kernel` +
        (device.collective_busy_s > 0
          ? `; collectives ${percent(device.collective_busy_s / device.span_s)}, ${percent(device.collective_exposed_s / device.span_s)} without another kernel`
          : ""),
    ),
  );
}

function matchText(process: TracedProcess): HTMLElement | "" {
  const { network } = process;
  if (!network) return "";
  const found = network.layers - network.layers_without_kernel.length;
  return h(
    "p",
    {},
    h("bdi", {}, network.title),
    `: ${whole(found)} of ${whole(network.layers)} layers have kernels; ${whole(network.kernels_matched)} of ${whole(network.kernels)} kernels of a step, ${percent(network.time_matched_s / (network.time_s || 1))} of its time, have a layer.`,
  );
}

class RecordingTables {
  constructor(
    private readonly context: Context,
    private readonly element: HTMLElement,
  ) {}

  table<Item>(title: string, key: string, items: Item[], columns: SortColumn<Item>[], sort: string): void {
    if (items.length === 0) return;
    const { state } = this.context;
    const body = h("div", {});
    this.element.append(h("h3", {}, title), body);
    remade(this.context, [key], () =>
      body.replaceChildren(
        sortableTable(
          items,
          columns.filter((column) => items.some((item) => column.value(item) !== null && column.value(item) !== "")),
          { sort: state.get(key, sort), onSort: (next) => state.set(key, next === "" ? "none" : next), about: title },
          () => undefined,
        ),
      ),
    );
  }
}

function fill(context: Context, process: TracedProcess, element: HTMLElement): void {
  const from = [process.command, process.pid > 0 ? `process ${process.pid}` : "", process.rank === null ? "" : `rank ${process.rank}`, process.host === "" ? "" : `on ${process.host}`, process.source_format, process.ending];
  element.append(h("p", { class: "dim" }, h("bdi", {}, from.filter((each) => each !== "").join(", "))), cardsOf(process), matchText(process));
  for (const device of process.devices) if (device.span_s > 0) element.append(deviceBar(device));
  const tables = new RecordingTables(context, element);
  const all = process.kernel_time_s;
  tables.table(
    "Classes of kernels",
    "classsort",
    process.classes,
    [
      { key: "class", label: "class", unit: "text", value: (row) => words(`${row.class} ${row.algorithm}`.trim()) },
      ...timeColumns<(typeof process.classes)[number]>(all, "all kernels"),
    ],
    "-time_s",
  );
  tables.table(
    "Kernels",
    "tracesort",
    process.kernels,
    [
      { key: "name", label: "kernel", unit: "text", value: (row) => row.name },
      { key: "class", label: "class", unit: "text", value: (row) => words(`${row.class} ${row.algorithm}`.trim()) },
      ...timeColumns<TracedKernel>(all, "all kernels"),
      ...kernelColumns,
    ],
    "-time_s",
  );
  tables.table(
    "Calls of the host",
    "callsort",
    process.calls,
    [
      { key: "name", label: "call", unit: "text", value: (row) => row.name },
      { key: "kind", label: "of the", unit: "text", value: (row) => row.kind },
      ...timeColumns<(typeof process.calls)[number]>(
        process.calls.reduce((sum, row) => sum + row.time_s, 0),
        "all calls",
      ),
    ],
    "-time_s",
  );
  tables.table("Copies", "copysort", process.copies, copyColumns, "-time_s");
  tables.table("Memory", "tracememsort", process.memory, memoryColumns, "-peak_bytes");
  for (const note of process.notes) element.append(h("p", { class: "note" }, h("bdi", {}, note)));
}

function render(context: Context, element: HTMLElement): void {
  const processes = processesOf(context);
  const body = h("div", {});
  const nameOf = (process: TracedProcess, at: number) => `${process.file}${process.rank === null ? "" : `, rank ${process.rank}`}${process.pid > 0 ? `, process ${process.pid}` : ` ${at + 1}`}`;
  if (processes.length > 1)
    element.append(
      h(
        "div",
        { class: "controls" },
        menu(
          "process",
          processes.map((process, at) => ({ value: at === 0 ? "" : String(at), label: nameOf(process, at) })),
          context.state.get("process"),
          (value) => context.state.set("process", value),
        ),
      ),
    );
  element.append(body);
  remade(context, ["process"], () => {
    body.replaceChildren();
    const process = processes[Number(context.state.get("process")) || 0] ?? processes[0];
    if (process) fill(context, process, body);
  });
}

export const traceView: View = {
  id: "recording",
  title: "Recording",
  fits: (context) => processesOf(context).length > 0,
  render,
};
