// SPDX-License-Identifier: Apache-2.0
// Documents that are lists and nothing more (what ships with Strata, what a computer can measure): a table of each list,
// with a field to search in all.
import { h } from "./dom";
import { format, labelOf, unitOf } from "./units";
import { remade, type Context, type View } from "./view";

const kinds = ["catalogue", "machines", "machine_choice", "readiness", "trained_networks"];

type Item = Record<string, unknown>;

/// What an object holds becomes columns of its own: "expected_time_s", "host_title"; of an interval both ends.
function flat(item: Item, before = ""): Item {
  const all: Item = {};
  for (const [key, value] of Object.entries(item)) {
    const name = before + key;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) Object.assign(all, flat(value as Item, `${name}_`));
    else if (/interval_s$/.test(key) && Array.isArray(value)) [all[`${before}from_s`], all[`${before}to_s`]] = value as unknown[];
    else all[name] = value;
  }
  return all;
}

function listsOf(context: Context): [string, Item[]][] {
  const lists: [string, Item[]][] = [];
  for (const [key, value] of Object.entries(context.part.document)) {
    if (!Array.isArray(value) || value.length === 0) continue;
    const items = value.map((each: unknown) =>
      typeof each === "object" && each !== null ? flat(each as Item) : { name: each },
    );
    lists.push([key, items]);
  }
  return lists;
}

/// A person reads an item of a list by its name, else by what it holds.
function itemText(key: string, item: unknown): string {
  if (typeof item === "number") return format(item, unitOf(key));
  if (typeof item !== "object" || item === null) return String(item);
  const { name } = item as Item;
  if (name !== undefined) return String(name);
  return Object.entries(flat(item as Item))
    .filter(([, value]) => value !== null && value !== "")
    .map(([inner, value]) => `${labelOf(inner)} ${text(inner, value)}`)
    .join(" ");
}

function text(key: string, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return format(value, unitOf(key));
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map((each: unknown) => itemText(key, each)).join(", ");
  return value === true ? "yes" : "no";
}

function listTable(items: Item[], words: string[]): { table: HTMLElement; count: number } {
  const keys = [...new Set(items.flatMap((item) => Object.keys(item)))];
  const found = items.filter((item) => {
    const all = keys.map((key) => text(key, item[key])).join(" ").toLowerCase();
    return words.every((word) => all.includes(word));
  });
  const isNumber = (key: string) => items.some((item) => typeof item[key] === "number");
  const table = h(
    "table",
    { class: "small list" },
    h(
      "thead",
      {},
      h("tr", {}, ...keys.map((key) => h("th", { class: isNumber(key) ? "n" : undefined }, labelOf(key)))),
    ),
    h(
      "tbody",
      {},
      ...found.map((item) =>
        h(
          "tr",
          { "data-state": typeof item.state === "string" ? item.state : undefined },
          ...keys.map((key) =>
            h("td", { class: isNumber(key) ? "n" : undefined }, h("bdi", {}, text(key, item[key]))),
          ),
        ),
      ),
    ),
  );
  return { table, count: found.length };
}

function render(context: Context, element: HTMLElement): void {
  const { state } = context;
  const body = h("div", {});
  const field: HTMLInputElement = h("input", {
    type: "search",
    placeholder: "search",
    "aria-label": "search the lists",
    value: state.get("find"),
    input: () => state.set("find", field.value),
  });
  element.append(h("div", { class: "controls" }, field), body);
  remade(context, ["find"], () => {
    const words = state.get("find").toLowerCase().split(/\s+/).filter((word) => word !== "");
    body.replaceChildren();
    for (const [key, items] of listsOf(context)) {
      const { table, count } = listTable(items, words);
      body.append(
        h("h3", {}, `${labelOf(key)}: ${count === items.length ? count : `${count} of ${items.length}`}`),
        h("div", { class: "wide" }, table),
      );
    }
  });
}

export const listsView: View = {
  id: "lists",
  title: "Lists",
  fits: (context) => kinds.includes(context.part.document.kind ?? "") && listsOf(context).length > 0,
  render,
};
