// SPDX-License-Identifier: Apache-2.0
// Eight colours that people with any colour vision tell apart (Okabe and Ito, 2008), the same as in the figures that
// the program draws. style.css has their values for light and dark.

export const colorCount = 8;

export function color(index: number): string {
  return `var(--c${((index % colorCount) + colorCount) % colorCount})`;
}

// Maps, not objects: a layer may be called "__proto__".
const bounds = new Map([
  ["compute", 0],
  ["memory", 1],
  ["launch", 3],
]);

/// Gives names colours in the order in which they are first asked for, largest first if asked so.
export class Colors {
  private known = new Map<string, number>();

  constructor(names: Iterable<string> = []) {
    for (const each of names) this.index(each);
  }

  index(name: string): number {
    const fixed = bounds.get(name);
    if (fixed !== undefined) return fixed;
    let index = this.known.get(name);
    if (index === undefined) this.known.set(name, (index = this.known.size));
    return index;
  }

  of(name: string): string {
    return color(this.index(name));
  }

  /// A canvas needs the value of a colour, not its name.
  valueOf(name: string): string {
    return cssValue(`--c${this.index(name) % colorCount}`);
  }
}

export function cssValue(variable: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}
