// SPDX-License-Identifier: Apache-2.0
// What is chosen in the page. All of it stands in the address behind '#', so that an address shows the same again; what
// the mouse points at does not. The view comes first and without a name: "#timeline&layer=conv1".

type Listener = () => void;

/// What the browser's Back undoes; the rest replaces what the address said before.
const steps = new Set(["view", "part", "layer"]);

function valuesIn(hash: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const piece of hash.replace(/^#/, "").split("&")) {
    if (piece === "") continue;
    if (piece.includes("=")) for (const [key, value] of new URLSearchParams(piece)) values.set(key, value);
    else values.set("view", decoded(piece));
  }
  return values;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stranger's address
  }
}

function hashOf(values: Map<string, string>): string {
  const view = values.get("view");
  const rest = new URLSearchParams([...values].filter(([key]) => key !== "view")).toString();
  return [view === undefined ? "" : encodeURIComponent(view), rest].filter((each) => each !== "").join("&");
}

export class State {
  private values = valuesIn(location.hash);
  private listeners = new Map<string, Set<Listener>>();

  constructor() {
    addEventListener("popstate", () => this.read());
    addEventListener("hashchange", () => this.read());
  }

  get(key: string, otherwise = ""): string {
    return this.values.get(key) ?? otherwise;
  }

  /// An empty value is the default, which need not stand in the address.
  set(key: string, value: string): void {
    if (this.get(key) === value) return;
    if (value === "") this.values.delete(key);
    else this.values.set(key, value);
    const hash = hashOf(this.values);
    const address = hash === "" ? location.pathname + location.search : `#${hash}`;
    if (steps.has(key)) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    this.tell(key);
  }

  /// Calls back when any of the keys has changed.
  on(keys: string[], listener: Listener): void {
    for (const key of keys) {
      const known = this.listeners.get(key) ?? new Set();
      known.add(listener);
      this.listeners.set(key, known);
    }
  }

  /// Nobody listens any more: the page is made anew.
  forget(): void {
    this.listeners.clear();
  }

  private tell(key: string): void {
    for (const listener of this.listeners.get(key) ?? []) listener();
  }

  private read(): void {
    const before = this.values;
    this.values = valuesIn(location.hash);
    const keys = new Set([...before.keys(), ...this.values.keys()]);
    for (const key of keys) if (before.get(key) !== this.values.get(key)) this.tell(key);
  }
}
