// SPDX-License-Identifier: Apache-2.0
// What a view gets, and how it is made again when what it shows has changed.
import type { Links } from "./links";
import type { RowSet } from "./rows";
import type { Part, Report, Warning } from "./schema";
import type { State } from "./state";
import type { Colors } from "./palette";

export interface Context {
  report: Report;
  part: Part; // the chosen one
  rows: RowSet | null; // of it
  types: Colors; // of operators: the same everywhere
  state: State;
  links: Links;
  ended: AbortSignal; // when the page is made anew: listeners on the window stop
}

export interface View {
  id: string;
  title: string;
  /// Whether there is something to show.
  fits(context: Context): boolean;
  /// Fills its element. `width` is the room it has.
  render(context: Context, element: HTMLElement, width: number): void;
}

/// "the machine was busy [busy-machine]".
export function warningText({ message, code }: Warning): string {
  return [message ?? "", code ? `[${code}]` : ""].filter((each) => each !== "").join(" ");
}

/// Calls `make` now and whenever one of the keys changes; it fills the element anew.
export function remade(context: Context, keys: string[], make: () => void): void {
  make();
  context.state.on(keys, make);
}
