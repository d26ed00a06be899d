// SPDX-License-Identifier: Apache-2.0
// Numbers that stand out: what, how much, and a word about it.
import { h } from "./dom";

export interface Card {
  label: string;
  value: string;
  detail: string;
}

export function cardList(cards: Card[]): HTMLElement {
  return h(
    "dl",
    { class: "cards" },
    ...cards.map((card) =>
      h(
        "div",
        {},
        h("dt", {}, card.label),
        h("dd", {}, h("strong", {}, card.value), h("span", {}, card.detail)),
      ),
    ),
  );
}
