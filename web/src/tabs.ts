// SPDX-License-Identifier: Apache-2.0
// The views of the page behind tabs: one is shown, each is one click or one key away. A view is made when it is first
// shown, so that a long page opens at once; before printing all that belong on paper are made.
import { h } from "./dom";
import type { Context, View } from "./view";

/// One view that cannot be shown does not take the others with it.
function fill(view: View, context: Context, panel: HTMLElement, width: number): void {
  const body = h("div", { class: "view" });
  panel.append(body);
  try {
    view.render(context, body, body.clientWidth || width);
  } catch (error) {
    console.error(error);
    body.append(
      h(
        "p",
        { class: "note" },
        `this part cannot be shown: ${error instanceof Error ? error.message : String(error)}`,
      ),
    );
  }
}

/// Too long for paper; what matters of them stands in the other views.
const screensOnly = new Set(["network", "counters", "kernels", "time"]);

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, select, textarea, [contenteditable]");
}

export class Tabs {
  readonly main = h("main", {});
  readonly list = h("div", { class: "tabs", role: "tablist", "aria-label": "Views" });
  private readonly tabs: HTMLElement[] = [];
  private readonly panels: HTMLElement[] = [];
  private readonly made = new Set<View>();

  constructor(
    private readonly context: Context,
    private readonly views: View[],
  ) {
    views.forEach((view, at) => this.add(view, at));
    this.list.addEventListener("keydown", (event) => this.arrow(event));
    addEventListener("keydown", (event) => this.digit(event), { signal: context.ended });
    addEventListener("beforeprint", () => this.print(true), { signal: context.ended });
    addEventListener("afterprint", () => this.print(false), { signal: context.ended });
    context.state.on(["view"], () => this.show());
  }

  /// Links to views, wherever they stand: the address behind '#' is the state, not a place.
  follow(event: Event): void {
    const link = event.target instanceof Element ? event.target.closest("a.to-view") : null;
    const id = link?.getAttribute("href")?.slice(1);
    if (id === undefined || !this.views.some((view) => view.id === id)) return;
    event.preventDefault();
    this.choose(id);
    this.panels[this.at()]?.querySelector("h2")?.focus({ preventScroll: true }); // the keyboard goes on from there
  }

  /// Shows the view that the address names, the first if there is none of that name.
  show(): void {
    const at = this.at();
    this.panels.forEach((panel, each) => (panel.hidden = each !== at));
    this.tabs.forEach((tab, each) => {
      tab.setAttribute("aria-selected", String(each === at));
      tab.tabIndex = each === at ? 0 : -1;
    });
    this.make(at);
    const tab = this.tabs[at];
    if (tab) this.list.scrollLeft = tab.offsetLeft - (this.list.clientWidth - tab.offsetWidth) / 2;
    if (scrollY > this.top()) scrollTo(0, this.top());
  }

  private top(): number {
    return this.main.getBoundingClientRect().top + scrollY - this.list.offsetHeight;
  }

  private add(view: View, at: number): void {
    const key = at < 9 ? String(at + 1) : at === 9 ? "0" : "";
    const tab = h(
      "button",
      {
        role: "tab",
        id: `tab-${view.id}`,
        "aria-controls": view.id,
        "aria-keyshortcuts": key || undefined,
        title: key === "" ? undefined : `key ${key}`,
        click: () => this.choose(view.id),
      },
      view.title,
    );
    const panel = h(
      "section",
      { id: view.id, role: "tabpanel", "aria-labelledby": tab.id, hidden: true },
      h("h2", { tabindex: -1 }, view.title),
    );
    this.tabs.push(tab);
    this.panels.push(panel);
    this.list.append(tab);
    this.main.append(panel);
  }

  private at(): number {
    return Math.max(
      0,
      this.views.findIndex((view) => view.id === this.context.state.get("view")),
    );
  }

  private choose(id: string): void {
    this.context.state.set("view", id === this.views[0]?.id ? "" : id);
  }

  private make(at: number): void {
    const [view, panel] = [this.views[at], this.panels[at]];
    if (!view || !panel || this.made.has(view)) return;
    this.made.add(view);
    fill(view, this.context, panel, this.main.clientWidth);
  }

  private print(isPrinting: boolean): void {
    const [shown, before] = [this.at(), this.made.size];
    this.panels.forEach((panel, at) => {
      if (screensOnly.has(panel.id)) return;
      panel.hidden = isPrinting ? false : at !== shown;
      if (isPrinting) this.make(at);
    });
    // A view that was made just now has not heard that it is for paper.
    if (this.made.size > before) dispatchEvent(new Event("beforeprint"));
  }

  private go(to: number): void {
    const at = (to + this.views.length) % this.views.length;
    this.choose(this.views[at]?.id ?? "");
    this.tabs[at]?.focus();
  }

  private arrow(event: KeyboardEvent): void {
    const at = this.at();
    if (event.key === "ArrowRight") this.go(at + 1);
    else if (event.key === "ArrowLeft") this.go(at - 1);
    else if (event.key === "Home") this.go(0);
    else if (event.key === "End") this.go(this.views.length - 1);
    else return;
    event.preventDefault();
  }

  private digit(event: KeyboardEvent): void {
    if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
    if (!/^[0-9]$/.test(event.key)) return;
    const view = this.views[event.key === "0" ? 9 : Number(event.key) - 1];
    if (!view) return;
    event.preventDefault();
    this.choose(view.id);
  }
}
