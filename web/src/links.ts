// SPDX-License-Identifier: Apache-2.0
// A layer that is pointed at or selected anywhere is marked everywhere. Views register what they draw of a layer; what
// is drawn on a canvas listens instead.
import type { State } from "./state";

export interface Place {
  layer: string;
  pass?: string | undefined;
}

type Drawn = Element & { dataset?: DOMStringMap };

/// What one view has drawn.
export class Marks {
  readonly elements = new Map<string, { element: Drawn; pass: string | undefined }[]>();

  constructor(private readonly links: Links) {
    links.add(this);
  }

  clear(): void {
    this.elements.clear();
  }

  /// Marks it with the layer, and reacts to the mouse, the keyboard and to focus.
  add(element: Element, place: Place, isActive = true): void {
    const list = this.elements.get(place.layer) ?? [];
    list.push({ element, pass: place.pass });
    this.elements.set(place.layer, list);
    this.show(element, place.layer, place.pass);
    if (!isActive) return;
    element.addEventListener("pointerenter", () => this.links.point(place));
    element.addEventListener("pointerleave", () => this.links.point(null));
    element.addEventListener("click", () => this.links.toggle(place.layer));
  }

  refresh(layer: string): void {
    for (const { element, pass } of this.elements.get(layer) ?? []) this.show(element, layer, pass);
  }

  private show(element: Element, layer: string, pass: string | undefined): void {
    const hot = this.links.hovered;
    const isHot = hot?.layer === layer && (!hot.pass || !pass || hot.pass === pass);
    element.classList.toggle("hot", isHot);
    element.classList.toggle("warm", hot?.layer === layer && !isHot);
    element.classList.toggle("chosen", this.links.chosen === layer);
  }
}

export class Links {
  hovered: Place | null = null;
  private all: Marks[] = [];
  private listeners: (() => void)[] = [];
  private before: string;

  constructor(readonly state: State) {
    this.before = state.get("layer");
    state.on(["layer"], () => {
      this.refresh(this.before);
      this.before = this.chosen;
      this.refresh(this.chosen);
      this.tell();
    });
  }

  get chosen(): string {
    return this.state.get("layer");
  }

  add(marks: Marks): void {
    this.all.push(marks);
  }

  on(listener: () => void): void {
    this.listeners.push(listener);
  }

  point(place: Place | null): void {
    const before = this.hovered;
    if (before?.layer === place?.layer && before?.pass === place?.pass) return;
    this.hovered = place;
    if (before) this.refresh(before.layer);
    if (place) this.refresh(place.layer);
    this.tell();
  }

  toggle(layer: string): void {
    this.state.set("layer", this.chosen === layer ? "" : layer);
  }

  private refresh(layer: string): void {
    for (const marks of this.all) marks.refresh(layer);
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}
