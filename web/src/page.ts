// SPDX-License-Identifier: Apache-2.0
// The page: a head, a list of views, and the views one below the other. A view is made when it comes near the window, so
// that a long page opens at once; before printing all are made.
import { compareView } from "./compare";
import { convolutionsView } from "./convolutions";
import { countersView } from "./counters";
import { detail } from "./detail";
import { h, menu, name } from "./dom";
import { findingsView } from "./findings";
import { kernelsView } from "./kernels";
import { Links } from "./links";
import { listsView } from "./lists";
import { machineDiffView, machineView } from "./machine";
import { memoryView } from "./memory";
import { networkView } from "./network";
import { Colors } from "./palette";
import { rooflineView } from "./roofline";
import { grouped, rowsOf } from "./rows";
import type { Report } from "./schema";
import { State } from "./state";
import { studyViews } from "./studies";
import { summaryView } from "./summary";
import { sweepView } from "./sweep";
import { tableView } from "./table";
import { timeView } from "./time";
import { timelineView } from "./timeline";
import type { Context, View } from "./view";

const views: View[] = [
  findingsView,
  machineView,
  machineDiffView,
  listsView,
  tableView,
  countersView,
  kernelsView,
  timeView,
  timelineView,
  memoryView,
  rooflineView,
  sweepView,
  convolutionsView,
  compareView,
  networkView,
];

function contextOf(report: Report, state: State, ended: AbortSignal): Context | null {
  const at = Math.min(report.parts.length - 1, Math.max(0, Number(state.get("part")) || 0));
  const part = report.parts[at];
  if (!part) return null;
  const rows = rowsOf(part);
  // The type with most of it gets the first colour.
  const types = rows
    ? grouped(rows.rows, "op").sort(
        (a, b) => (b.numbers[rows.main.key] ?? 0) - (a.numbers[rows.main.key] ?? 0),
      )
    : [];
  return {
    report,
    part,
    rows,
    types: new Colors(types.map((group) => group.name)),
    state,
    links: new Links(state),
    ended,
  };
}

function header(context: Context): HTMLElement {
  const { report, state } = context;
  const parts = report.parts.map((part, at) => ({ value: at === 0 ? "" : String(at), label: part.name }));
  return h(
    "header",
    {},
    h("h1", {}, name(report.title, 120)),
    parts.length > 1 && menu("showing", parts, state.get("part"), (value) => state.set("part", value)),
  );
}

/// One view that cannot be shown does not take the others with it.
function fill(view: View, context: Context, section: HTMLElement): void {
  const body = h("div", { class: "view" });
  section.append(body);
  try {
    view.render(context, body, body.clientWidth);
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

interface Sections {
  main: HTMLElement;
  /// Makes a view and those above it, so that its place does not move any more.
  makeUpTo(id: string): void;
}

function sections(context: Context, shown: View[]): Sections {
  const main = h("main", {});
  const waiting = new Map<Element, View>();
  const make = (section: Element) => {
    const view = waiting.get(section);
    if (!view) return;
    waiting.delete(section);
    section.classList.remove("waiting-view");
    fill(view, context, section as HTMLElement);
  };
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) if (entry.isIntersecting) make(entry.target);
    },
    { rootMargin: "600px" },
  );
  for (const view of shown) {
    const section = h(
      "section",
      { id: view.id, class: "waiting-view", "aria-label": view.title },
      h("h2", { tabindex: -1 }, view.title),
    );
    waiting.set(section, view);
    main.append(section);
    observer.observe(section);
  }
  addEventListener("beforeprint", () => [...waiting.keys()].forEach(make), { signal: context.ended });
  const makeUpTo = (id: string) => {
    for (const section of main.children) {
      make(section);
      if (section.id === id) return;
    }
  };
  return { main, makeUpTo };
}

/// Links to views, wherever they stand: the address behind '#' is the state, not a place.
function followLinks(root: HTMLElement, made: Sections, ended: AbortSignal): void {
  const follow = (event: Event) => {
    const link = event.target instanceof Element ? event.target.closest("a.to-view") : null;
    const id = link?.getAttribute("href")?.slice(1);
    if (id === undefined) return;
    event.preventDefault();
    made.makeUpTo(id);
    const section = document.getElementById(id);
    section?.scrollIntoView({
      behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth",
    });
    section?.querySelector("h2")?.focus({ preventScroll: true }); // the keyboard goes on from there
  };
  root.addEventListener("click", follow, { signal: ended });
}

function navigation(shown: View[]): HTMLElement {
  return h(
    "nav",
    { "aria-label": "Views" },
    ...shown.map((view) => h("a", { class: "to-view", href: `#${view.id}` }, view.title)),
  );
}

export function showPage(report: Report, root: HTMLElement): void {
  const state = new State();
  let end = new AbortController();
  const show = () => {
    end.abort();
    end = new AbortController();
    state.forget();
    state.on(["part"], show);
    const context = contextOf(report, state, end.signal);
    if (!context) {
      root.replaceChildren(h("p", {}, "the report is empty"));
      return;
    }
    const shown = [summaryView, ...studyViews(context), ...views].filter((view) => view.fits(context));
    const made = sections(context, shown);
    followLinks(root, made, end.signal);
    root.replaceChildren(
      header(context),
      navigation(shown),
      made.main,
      detail(context),
      h("footer", {}, `Strata ${report.strata_version}. Everything is in this file; nothing was fetched.`),
    );
  };
  show();
  let width = innerWidth;
  let timer = 0;
  addEventListener("resize", () => {
    if (innerWidth === width || matchMedia("print").matches) return; // a phone's address bar comes and goes; paper is no window
    width = innerWidth;
    clearTimeout(timer);
    timer = window.setTimeout(show, 200);
  });
}
