// SPDX-License-Identifier: Apache-2.0
// What is chosen in the page. All of it stands in the address behind '#', so that an address shows the same view again;
// what the mouse points at does not.

type Listener = () => void;

export class State {
  private values = new URLSearchParams();
  private listeners = new Map<string, Set<Listener>>();

  constructor() {
    this.values = new URLSearchParams(location.hash.slice(1));
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
    const hash = this.values.toString();
    history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
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
    this.values = new URLSearchParams(location.hash.slice(1));
    const keys = new Set([...before.keys(), ...this.values.keys()]);
    for (const key of keys) if (before.get(key) !== this.values.get(key)) this.tell(key);
  }
}
