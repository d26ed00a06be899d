// SPDX-License-Identifier: Apache-2.0
// The table of layers. Only the rows that can be seen are in the page, so that 100,000 scroll as smoothly as 100.
import { csvText } from "./csv";
import { h, menu, name } from "./dom";
import { exportable } from "./export";
import { groupLabels, total, valueOf, type Metric, type RowSet } from "./rows";
import { isProfile } from "./schema";
import { chosenColumns, stateOf, textColumns, type TableState } from "./table_lines";
import { atTheSameTime, restsOf } from "./totals";
import { format, whole } from "./units";
import { remade, type Context, type View } from "./view";

const rowHeight = 27;
const rowsShown = 18;
const rowsPrinted = 80;

function numberCell(numbers: Record<string, number>, metric: Metric, most: number): HTMLElement {
  const value = valueOf(numbers, metric);
  const cell = h(
    "div",
    { class: "cell n", role: "gridcell", "data-key": metric.key },
    h("span", {}, format(value, metric.unit)),
  );
  if (value !== null && most > 0)
    cell.style.setProperty("--bar", `${Math.max(0, Math.min(1, value / most)) * 100}%`);
  return cell;
}

class LayerTable {
  private readonly open = new Set<string>();
  private table: TableState;
  private focused = 0;
  private readonly body = h("div", { class: "body", role: "presentation" });
  private readonly head = h("div", { class: "row head", role: "row" });
  private readonly scroller = h(
    "div",
    { class: "scroller", role: "grid", tabindex: 0, "aria-label": "Layers" },
    this.head,
    this.body,
  );
  private readonly count = h("p", { class: "count", role: "status" });
  private readonly isNarrow = innerWidth < 700;
  private isPrinting = false;
  private isAsked = false;
  private readonly drawn = new Map<number, HTMLElement>(); // by the number of their line
  private readonly texts: ReturnType<typeof textColumns>;

  constructor(
    private readonly context: Context,
    private readonly rows: RowSet,
    element: HTMLElement,
  ) {
    this.texts = textColumns(rows);
    element.append(this.controls(), this.scroller, this.count);
    exportable(this.scroller, () => this.csv());
    this.table = stateOf(context, rows, this.open);
    this.scroller.style.setProperty("--rows", String(rowsShown));
    this.scroller.addEventListener("scroll", () => this.ask(), { passive: true });
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.scroller.addEventListener("pointerleave", () => context.links.point(null));
    this.scroller.addEventListener("focus", () => this.mark());
    this.body.addEventListener("click", (event) => this.click(event));
    context.links.on(() => this.mark());
    context.state.on(["layer"], () => this.reveal());
    // Behind another tab nothing scrolls: what was chosen there is shown when the table is.
    const seen = new ResizeObserver(() => (context.links.chosen === "" ? this.draw() : this.reveal()));
    seen.observe(this.scroller);
    context.ended.addEventListener("abort", () => seen.disconnect());
    addEventListener("beforeprint", () => this.print(true), { signal: context.ended });
    addEventListener("afterprint", () => this.print(false), { signal: context.ended });
    remade(context, ["find", "sort", "group", "cols"], () => this.rebuild());
    if (context.links.chosen !== "") this.reveal();
  }

  private controls(): HTMLElement {
    const { state } = this.context;
    const search: HTMLInputElement = h("input", {
      type: "search",
      placeholder: "search: conv pass:forward",
      "aria-label": "Search layers",
      value: state.get("find"),
      input: () => state.set("find", search.value),
    });
    state.on(["find"], () => {
      if (search.value !== state.get("find")) search.value = state.get("find");
    });
    const groups = [
      { value: "", label: "nothing" },
      ...this.rows.groups.map((key) => ({ value: key, label: groupLabels[key] })),
    ];
    return h(
      "div",
      { class: "controls" },
      search,
      menu("group by", groups, state.get("group"), (value) => state.set("group", value)),
      this.columnChoice(),
    );
  }

  private columnChoice(): HTMLElement {
    const { state } = this.context;
    const list = h("div", { class: "choices" });
    const chosen = new Set(chosenColumns(this.context, this.rows).map((metric) => metric.key));
    for (const metric of this.rows.metrics) {
      const box = h("input", {
        type: "checkbox",
        checked: chosen.has(metric.key),
        change: () => {
          if (box.checked) chosen.add(metric.key);
          else chosen.delete(metric.key);
          state.set(
            "cols",
            this.rows.metrics
              .map((each) => each.key)
              .filter((key) => chosen.has(key))
              .join(","),
          );
        },
      });
      list.append(h("label", {}, box, metric.label));
    }
    return h("details", { class: "columns" }, h("summary", {}, "columns"), list);
  }

  /// Texts before numbers; on a phone the first number stands beside the name.
  private inOrder<Item>(texts: Item[], numbers: Item[]): Item[] {
    return this.isNarrow ? [...numbers.slice(0, 1), ...texts, ...numbers.slice(1)] : [...texts, ...numbers];
  }

  private rebuild(): void {
    this.table = stateOf(this.context, this.rows, this.open);
    const widths = [
      this.isNarrow ? 9 : 13,
      ...this.inOrder(
        this.texts.map(() => 7),
        this.table.columns.map(({ label }) => Math.max(7.4, 0.47 * label.length + 2.4)), // a head is never cut
      ),
    ]; // rem
    this.scroller.style.setProperty(
      "--columns",
      widths.map((least, i) => `minmax(${least}rem, ${i === 0 ? 3 : 1}fr)`).join(" "),
    );
    this.scroller.style.setProperty(
      "--paper-columns",
      widths.map((least) => `minmax(0, ${least}fr)`).join(" "),
    );
    this.scroller.style.setProperty("--least", `${widths.reduce((sum, least) => sum + least, 0)}rem`);
    this.head.replaceChildren(
      this.headCell("layer", "layer", false),
      ...this.inOrder(
        this.texts.map((column) => this.headCell(column.key, column.label, false)),
        this.table.columns.map((metric) => this.headCell(metric.key, metric.label, true)),
      ),
    );
    this.scroller.setAttribute("aria-rowcount", String(this.table.lines.length + 1));
    this.body.style.height = `${this.table.lines.length * rowHeight}px`;
    this.focused = Math.min(this.focused, Math.max(0, this.table.lines.length - 1));
    this.drawn.clear();
    this.body.replaceChildren();
    this.draw();
    this.tellCount();
  }

  private tellCount(): void {
    const { matching } = this.table;
    const share = this.rows.main.unit === "s" ? ", together " : ": ";
    const found =
      matching === this.rows.rows.length
        ? this.rows.rows
        : [...new Set(this.table.lines.flatMap((line) => ("row" in line ? [line.row] : line.group.rows)))];
    const sum = format(valueOf(total(found), this.rows.main), this.rows.main.unit);
    const { document } = this.context.part;
    const isAll = matching === this.rows.rows.length;
    const left = isProfile(document) && isAll ? restsOf(document, this.rows, this.rows.main.key) : [];
    // Kernels that ran at the same time take less of the iteration than of their own time.
    const both = left.filter(({ to }) => to === atTheSameTime).reduce((all, part) => all - part.time_s, 0);
    const outside = left.filter(({ to }) => to !== atTheSameTime);
    const what = outside.length === 1 ? outside[0]?.to : "idle time";
    const seconds = outside.reduce((all, part) => all + part.time_s, 0);
    const rest =
      (both > 0 ? `, ${format(both, "s")} of it ${atTheSameTime}` : "") +
      (outside.length > 0 ? `; ${format(seconds, "s")} of ${what} belong to no row` : "");
    const order = this.context.state.get("sort") === "" ? "; in the order of the run, a click on a heading sorts" : "";
    this.count.textContent = `${whole(matching)} of ${whole(this.rows.rows.length)} rows${share}${sum}${rest}${order}`;
  }

  private headCell(key: string, label: string, isNumber: boolean): HTMLElement {
    const { state } = this.context;
    const sort = state.get("sort");
    const direction = sort === key ? "ascending" : sort === `-${key}` ? "descending" : "none";
    // Numbers begin with the largest; a third click gives the order of the run again.
    const next = isNumber
      ? { none: `-${key}`, descending: key, ascending: "" }
      : { none: key, ascending: `-${key}`, descending: "" };
    const button = h(
      "button",
      { title: `sort by ${label}`, click: () => state.set("sort", next[direction]) },
      label,
      h(
        "span",
        { class: "arrow", "aria-hidden": "true" },
        { ascending: " ▲", descending: " ▼", none: "" }[direction],
      ),
    );
    return h(
      "div",
      { class: isNumber ? "cell n" : "cell", role: "columnheader", "aria-sort": direction, "data-key": key },
      button,
    );
  }

  private line(at: number): HTMLElement {
    const line = this.table.lines[at];
    const row = h("div", { class: "row", role: "row", "aria-rowindex": at + 2, "data-at": at });
    if (!this.isPrinting) row.style.top = `${at * rowHeight}px`;
    if (!line) return row;
    if ("group" in line) {
      row.classList.add("group");
      row.append(
        h(
          "div",
          { class: "cell", role: "gridcell" },
          h("span", { class: "opener", "aria-hidden": "true" }, line.isOpen ? "▾ " : "▸ "),
          name(line.group.name || "(none)", 44),
          h("span", { class: "dim" }, ` ${line.group.rows.length}`),
        ),
      );
      row.setAttribute("aria-expanded", String(line.isOpen));
    } else {
      if (line.isInside) row.classList.add("inside");
      row.append(h("div", { class: "cell", role: "gridcell" }, name(line.row.layer, 44)));
      row.addEventListener("pointerenter", () => this.context.links.point(line.row));
    }
    const numbers = "group" in line ? line.group.numbers : line.row.numbers;
    row.append(
      ...this.inOrder(
        this.texts.map((column) =>
          h("div", { class: "cell", role: "gridcell" }, h("bdi", {}, "row" in line ? line.row[column.key] : "")),
        ),
        this.table.columns.map((metric) => numberCell(numbers, metric, this.table.most.get(metric.key) ?? 0)),
      ),
    );
    return row;
  }

  /// Rows come and go while the table scrolls, so the table listens for them.
  private click(event: MouseEvent): void {
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>(".row") : null;
    if (row?.dataset.at !== undefined) this.act(Number(row.dataset.at));
  }

  /// Selects a row, opens a group.
  private act(at: number): void {
    const line = this.table.lines[at];
    this.focused = at;
    if (!line) return;
    if ("row" in line) {
      this.context.links.toggle(line.row.layer);
      return;
    }
    if (!this.open.delete(line.group.name)) this.open.add(line.group.name);
    this.rebuild();
  }

  /// However often it scrolls, it is drawn once a frame.
  private ask(): void {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => {
      this.isAsked = false;
      this.draw();
    });
  }

  /// Rows that stay in sight stay as they are.
  private draw(): void {
    if (this.isPrinting) return;
    // A table that has just become shorter may still say how far it was scrolled before.
    const top = Math.min(
      this.scroller.scrollTop / rowHeight,
      Math.max(0, this.table.lines.length - rowsShown),
    );
    const first = Math.max(0, Math.floor(top) - 4);
    const last = Math.min(this.table.lines.length, first + rowsShown + 10);
    for (const [at, row] of this.drawn) {
      if (at >= first && at < last) continue;
      row.remove();
      this.drawn.delete(at);
    }
    for (let at = first; at < last; at++) {
      if (this.drawn.has(at)) continue;
      const row = this.line(at);
      this.drawn.set(at, row);
      this.markRow(at, row);
      this.insert(at, row);
    }
  }

  /// In their order, as readers of the screen go through them.
  private insert(at: number, row: HTMLElement): void {
    const last = this.body.lastElementChild as HTMLElement | null;
    if (!last || Number(last.dataset.at) < at) this.body.append(row);
    else {
      const next = [...this.body.children].find((each) => Number((each as HTMLElement).dataset.at) > at);
      this.body.insertBefore(row, next ?? null);
    }
  }

  private mark(): void {
    for (const [at, row] of this.drawn) this.markRow(at, row);
  }

  private markRow(at: number, row: HTMLElement): void {
    const { hovered, chosen } = this.context.links;
    const line = this.table.lines[at];
    const layer = line && "row" in line ? line.row.layer : null;
    const isHot =
      layer !== null &&
      hovered?.layer === layer &&
      (!hovered.pass || !line || !("row" in line) || hovered.pass === line.row.pass);
    row.classList.toggle("hot", isHot);
    row.classList.toggle("chosen", layer !== null && layer === chosen);
    row.setAttribute("aria-selected", String(layer !== null && layer === chosen));
    row.classList.toggle("focused", at === this.focused && document.activeElement === this.scroller);
  }

  /// All lines that the search found, whether they are in sight or not.
  private csv(): string {
    const { lines, columns } = this.table;
    return csvText(
      ["layer", ...this.texts.map((column) => column.key), ...columns.map((metric) => metric.key)],
      lines.map((line) => {
        const isRow = "row" in line;
        const numbers = isRow ? line.row.numbers : line.group.numbers;
        return [
          isRow ? line.row.layer : line.group.name,
          ...this.texts.map((column) => (isRow ? line.row[column.key] : "")),
          ...columns.map((metric) => valueOf(numbers, metric)),
        ];
      }),
    );
  }

  /// Brings the chosen layer into view, when it is chosen elsewhere.
  private reveal(): void {
    const { chosen } = this.context.links;
    const at = this.table.lines.findIndex((line) => "row" in line && line.row.layer === chosen);
    if (at < 0) return;
    const top = at * rowHeight;
    const { scrollTop } = this.scroller;
    if (top < scrollTop || top > scrollTop + (rowsShown - 2) * rowHeight)
      this.scroller.scrollTop = top - (rowsShown / 3) * rowHeight;
    this.draw();
    this.mark();
  }

  private key(event: KeyboardEvent): void {
    if (event.target !== this.scroller) return;
    const moves: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: rowsShown,
      PageUp: -rowsShown,
      Home: -Infinity,
      End: Infinity,
    };
    const move = moves[event.key];
    if (move !== undefined) {
      this.focused = Math.max(0, Math.min(this.table.lines.length - 1, this.focused + move));
      const top = this.focused * rowHeight;
      const { scrollTop } = this.scroller;
      if (top < scrollTop) this.scroller.scrollTop = top;
      if (top > scrollTop + (rowsShown - 2) * rowHeight)
        this.scroller.scrollTop = top - (rowsShown - 2) * rowHeight;
      this.draw();
      this.mark();
    } else if (event.key === "Enter" || event.key === " ") this.act(this.focused);
    else return;
    event.preventDefault();
  }

  private print(isPrinting: boolean): void {
    this.isPrinting = isPrinting;
    this.drawn.clear();
    this.body.replaceChildren();
    if (isPrinting) {
      const count = Math.min(rowsPrinted, this.table.lines.length);
      this.body.replaceChildren(...Array.from({ length: count }, (_, at) => this.line(at)));
      if (count < this.table.lines.length)
        this.body.append(h("p", {}, `… and ${whole(this.table.lines.length - count)} more rows`));
    } else this.draw();
  }
}

export const tableView: View = {
  id: "layers",
  title: "Layers",
  fits: (context) => context.rows !== null && context.rows.rows.length > 0,
  render: (context, element) => {
    if (context.rows) new LayerTable(context, context.rows, element);
  },
};
