// SPDX-License-Identifier: Apache-2.0
// A table whose heads sort it. It shows the first rows of the order, and more when asked; a search narrows what is in it.
import { csvText } from "./csv";
import { h, name, words } from "./dom";
import { exportable } from "./export";
import { format, whole, type Unit } from "./units";

const shownAtOnce = 300;

export interface SortColumn<Item> {
  key: string;
  label: string;
  about?: string; // when the head is pointed at
  unit: Unit | "text";
  value: (item: Item) => number | string | null;
  show?: (item: Item) => HTMLElement; // instead of the value, by which it sorts all the same
  most?: number; // letters of a text; of longer ones the middle goes, so that the numbers beside them stay in sight
  kind?: string; // a text that is shown whole, as cells of this class
  order?: (item: Item) => number; // by which it is sorted, where that is not the value
  isPicture?: boolean; // nothing that a file could hold, nor an order
}

export interface Sorting {
  sort: string; // a key; with "-" before it the largest first; empty: the order of the run
  onSort: (sort: string) => void;
  about?: string; // what the table is of, to those who do not see it
}

/// What is not there comes last, whichever way.
export function sorted<Item>(items: Item[], columns: SortColumn<Item>[], sort: string): Item[] {
  const isDown = sort.startsWith("-");
  const column = columns.find((each) => each.key === (isDown ? sort.slice(1) : sort));
  if (!column) return items;
  const direction = isDown ? -1 : 1;
  return [...items].sort((a, b) => {
    const value = column.order ?? column.value;
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    const order = typeof x === "string" || typeof y === "string" ? String(x).localeCompare(String(y)) : x - y;
    return direction * order;
  });
}

function head<Item>(column: SortColumn<Item>, { sort, onSort }: Sorting): HTMLElement {
  const direction = sort === column.key ? "ascending" : sort === `-${column.key}` ? "descending" : "none";
  // Numbers begin with the largest; a third click gives the order of the run again.
  const next =
    column.unit === "text"
      ? { none: column.key, ascending: `-${column.key}`, descending: "" }
      : { none: `-${column.key}`, descending: column.key, ascending: "" };
  if (column.isPicture) return h("th", { title: column.about, "data-key": column.key }, column.label);
  return h(
    "th",
    {
      class: column.unit === "text" ? undefined : "n",
      "aria-sort": direction,
      "data-key": column.key,
      title: column.about,
    },
    h(
      "button",
      { click: () => onSort(next[direction]) },
      column.label,
      h("span", { "aria-hidden": "true" }, { ascending: " ▲", descending: " ▼", none: "" }[direction]),
    ),
  );
}

function cell<Item>(column: SortColumn<Item>, item: Item): HTMLElement {
  const value = column.value(item);
  if (column.kind !== undefined)
    return h(
      "td",
      { class: column.kind, "data-key": column.key },
      column.show?.(item) ?? h("bdi", {}, String(value ?? "")),
    );
  if (column.unit === "text") return h("td", { "data-key": column.key }, name(String(value ?? ""), column.most ?? 70));
  const number = typeof value === "number" ? value : null;
  return h(
    "td",
    { class: "n", "data-key": column.key },
    column.show?.(item) ?? format(number, column.unit),
  );
}

/// `mark` gets each row that is shown, so that views can link it.
export function sortableTable<Item>(
  items: Item[],
  columns: SortColumn<Item>[],
  sorting: Sorting,
  mark: (row: HTMLElement, item: Item) => void,
  tableClass = "small",
): HTMLElement {
  const ordered = sorted(items, columns, sorting.sort);
  const body = h("tbody", {});
  const table = h(
    "table",
    { class: tableClass },
    h("thead", {}, h("tr", {}, ...columns.map((column) => head(column, sorting)))),
    body,
  );
  const count = h("p", { class: "count", role: "status" });
  const more = h("button", { class: "more", click: () => show(body.rows.length + shownAtOnce) });
  const show = (most: number) => {
    for (const item of ordered.slice(body.rows.length, most)) {
      const row = h("tr", {}, ...columns.map((column) => cell(column, item)));
      mark(row, item);
      body.append(row);
    }
    const shown = body.rows.length;
    count.textContent = `${shown < items.length ? `${whole(shown)} of ` : ""}${whole(items.length)} ${items.length === 1 ? "row" : "rows"}`;
    more.textContent = `show ${whole(Math.min(shownAtOnce, items.length - shown))} more`;
    more.hidden = shown === items.length;
  };
  show(shownAtOnce);
  const saved = columns.filter((column) => !column.isPicture);
  exportable(table, () =>
    csvText(
      saved.map((column) => column.key),
      ordered.map((item) => saved.map((column) => column.value(item))),
    ),
  );
  return h(
    "div",
    {},
    // Arrow keys scroll it.
    h("div", { class: "wide sortable", tabindex: 0, role: "group", "aria-label": sorting.about ?? "table" }, table),
    h("div", { class: "below-table" }, count, more),
  );
}

/// Where there is no answer, the reason has the room of all numbers.
export function tellReason(line: HTMLElement, reason: string, columns: number): void {
  const [first] = line.children;
  line.classList.add("no-answer");
  line.replaceChildren(...(first ? [first] : []), h("td", { class: "words dim", colspan: columns - 1, "data-key": "reason" }, ...words(reason || "no answer")));
}
