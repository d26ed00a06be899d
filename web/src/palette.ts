// SPDX-License-Identifier: Apache-2.0
// Eight colours that people with any colour vision tell apart (Okabe and Ito, 2008) and a second tone of each.
// palette.json holds them, and which kinds have which; the figures that the program draws have the same, which a test
// compares. Colours are CSS variables, so that light and dark follow the system.
import palette from "./palette.json";

export const hueCount = 8;
export const colorCount = palette.light.length;

function variables(colors: string[]): string {
  return colors.map((value, at) => `--c${at}:${value};--on-c${at}:${inkOn(value)}`).join(";");
}

/// Black or white, whichever is read better on a colour.
export function inkOn(hex: string): string {
  const part = (from: number) => {
    const value = parseInt(hex.slice(from, from + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const light = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
  return 1.05 / (light + 0.05) >= (light + 0.05) / 0.05 ? "#ffffff" : "#000000";
}

/// Before anything is drawn.
export function setPalette(): void {
  const style = document.createElement("style");
  style.textContent = `:root{${variables(palette.light)}}@media (prefers-color-scheme: dark){:root{${variables(palette.dark)}}}`;
  document.head.append(style);
}
setPalette();

export function color(index: number): string {
  return `var(--c${((index % colorCount) + colorCount) % colorCount})`;
}

/// A text on that colour.
export function ink(index: number): string {
  return `var(--on-c${((index % colorCount) + colorCount) % colorCount})`;
}

/// Lines of the second tone are dashed, too, and those beyond dotted: nobody needs colours to tell them apart.
export function dash(index: number): string | undefined {
  return [undefined, "7 3", "2 3"][Math.floor(index / hueCount) % 3];
}

/// Of maps: little is dark and much is light, in the page as in figures, on white as on black.
export function shade(share: number): string {
  const last = palette.shades.length - 1;
  return palette.shades[Math.round(Math.max(0, Math.min(1, share)) * last)] as string;
}

// Maps, not objects: a layer may be called "__proto__".
const kinds = new Map<string, number>(Object.entries(palette.kinds));
const roles = new Map<string, number>(Object.entries(palette.roles));

/// Of a kernel in a convolution.
export function roleColor(role: string): string {
  return color(roles.get(role) ?? hueCount - 2);
}

/// Gives names colours: its own to a kind that has one, what is free to others, those that are given first.
export class Colors {
  private readonly known = new Map<string, number>();
  private readonly taken = new Set<number>();

  constructor(names: Iterable<string> = []) {
    const all = [...names];
    for (const each of all) {
      const own = kinds.get(each);
      if (own !== undefined && !this.known.has(each) && !this.taken.has(own)) this.take(each, own);
    }
    for (const each of all) this.index(each);
  }

  private take(name: string, index: number): number {
    this.known.set(name, index);
    this.taken.add(index);
    return index;
  }

  index(name: string): number {
    const before = this.known.get(name);
    if (before !== undefined) return before;
    const own = kinds.get(name);
    if (own !== undefined && !this.taken.has(own)) return this.take(name, own);
    for (let free = 0; free < colorCount; free++) if (!this.taken.has(free)) return this.take(name, free);
    return this.take(name, this.known.size % colorCount);
  }

  of(name: string): string {
    return color(this.index(name));
  }

  /// Of a text that stands on it.
  inkOf(name: string): string {
    return ink(this.index(name));
  }

  /// A canvas needs the value of a colour, not its name.
  valueOf(name: string): string {
    return cssValue(`--c${this.index(name)}`);
  }
}

export function cssValue(variable: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}
