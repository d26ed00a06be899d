// SPDX-License-Identifier: Apache-2.0
// Elements. Text only ever becomes text nodes and attributes, never markup: names come from files of strangers.

export type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | undefined | ((event: never) => void)>;

const svgSpace = "http://www.w3.org/2000/svg";

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/// h("button", {class: "x", click: () => …}, "text")
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function s<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Tag] {
  const element = document.createElementNS(svgSpace, tag);
  fill(element, attributes, children);
  return element;
}

export interface Choice {
  value: string;
  label: string;
}

/// A labelled menu.
export function menu(
  label: string,
  choices: Choice[],
  value: string,
  onChange: (value: string) => void,
): HTMLElement {
  const select: HTMLSelectElement = h(
    "select",
    { change: () => onChange(select.value), "aria-label": label },
    ...choices.map((choice) =>
      h("option", { value: choice.value, selected: choice.value === value }, choice.label),
    ),
  );
  return h("label", { class: "menu" }, h("span", {}, label), select);
}

/// Names can be very long: the middle goes, as beginning and end tell layers apart.
export function short(name: string, most: number): string {
  const characters = [...name];
  if (characters.length <= most) return name;
  const head = Math.ceil((most - 1) / 2);
  return `${characters.slice(0, head).join("")}…${characters.slice(characters.length - (most - 1 - head)).join("")}`;
}

// Letters that are written from right to left, and characters that turn what follows around.
const turning =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/// A number and its unit do not part at the end of a line.
export function kept(text: string): string {
  return text.replace(/(\d) (?=(?:%|[kKMGTPE]?i?B\b|[kMGTPE]?FLOP|[mµnp]?s\b))/g, "$1\u00a0");
}

/// A sentence of the program with names of strangers in it. Words that could turn the sentence around are isolated, each
/// group of them alone, so that numbers beside them stay as they are.
export function words(sentence: string): Child[] {
  const text = kept(sentence);
  if (!turning.test(text)) return [text];
  const parts: Child[] = [];
  let inside = "";
  let outside = "";
  const close = () => {
    if (inside !== "") parts.push(h("bdi", {}, inside));
    inside = "";
  };
  for (const piece of text.split(/(\s+)/)) {
    if (turning.test(piece)) {
      if (inside !== "") inside += outside;
      else if (outside !== "") parts.push(outside);
      outside = "";
      inside += piece;
    } else {
      if (inside !== "" && piece.trim() !== "") close();
      outside += piece;
    }
  }
  close();
  parts.push(outside);
  return parts;
}

/// A list without spaces ("dp=8,tp=8") goes on below after a comma.
export function atCommas(text: string): Child[] {
  return text.split(/(?<=,)(?=\S)/).flatMap((part, at) => (at === 0 ? words(part) : [h("wbr"), ...words(part)]));
}

/// A name between letters of another direction must not turn them around.
export function name(text: string, most = 60): HTMLElement {
  return h("bdi", { class: "name", title: text.length > most ? text : undefined }, short(text, most));
}
