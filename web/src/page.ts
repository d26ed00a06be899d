// SPDX-License-Identifier: Apache-2.0
// The page: a head that says what it is of, and the views behind tabs. The first view answers, the others say why.
import { compareView } from "./compare";
import { convolutionsView } from "./convolutions";
import { countersView } from "./counters";
import { detail } from "./detail";
import { atCommas, h, menu, short } from "./dom";
import { findingsView } from "./findings";
import { kernelsView } from "./kernels";
import { Links } from "./links";
import { listsView } from "./lists";
import { machineDiffView, machineView } from "./machine";
import { machineChoiceOf } from "./machine_choice";
import { memoryView } from "./memory";
import { networkView } from "./network";
import { Colors } from "./palette";
import { stagesView } from "./parallel_stages";
import { strategiesView } from "./parallel_strategies";
import { rooflineView } from "./roofline";
import { grouped, rowsOf } from "./rows";
import type { Report } from "./schema";
import { State } from "./state";
import { studyViews } from "./studies";
import { summaryView, withSummary } from "./summary";
import { sweepView } from "./sweep";
import { tableView } from "./table";
import { Tabs } from "./tabs";
import { timeView } from "./time";
import { titleOf } from "./titles";
import { timelineView } from "./timeline";
import { traceView } from "./trace";
import type { Context, View } from "./view";

const views: View[] = [
  findingsView,
  traceView,
  strategiesView,
  stagesView,
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

/// Documents whose answer is one view: it is the first tab, below the sentence that a summary would have alone.
const answers = [sweepView, convolutionsView, machineView, machineDiffView, listsView];

function viewsOf(context: Context): View[] {
  const all = [...studyViews(context), ...views].filter((view) => view.fits(context));
  // The answer of a comparison is its table, which says it itself.
  if (context.part.document.kind === "comparison")
    return [compareView, summaryView, ...all.filter((view) => view !== compareView)];
  const own = machineChoiceOf(context.part.document) ? undefined : all.find((view) => answers.includes(view));
  return own ? [withSummary(own), ...all.filter((view) => view !== own)] : [summaryView, ...all];
}

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
  const title = titleOf(report);
  const parts = report.parts.map((part, at) => ({ value: at === 0 ? "" : String(at), label: part.name }));
  return h(
    "header",
    {},
    h("h1", { title: title.length > 240 ? title : undefined }, ...atCommas(short(title, 240))),
    parts.length > 1 && menu("showing", parts, state.get("part"), (value) => state.set("part", value)),
  );
}

/// Escape closes the box with the chosen layer, wherever the keyboard is; focus goes back to where it was chosen.
function closeOnEscape({ links, ended }: Context): void {
  let last: Element | null = null;
  links.on(() => {
    if (links.chosen !== "") last = document.activeElement;
  });
  const close = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || links.chosen === "") return;
    event.stopPropagation();
    links.toggle(links.chosen);
    if (last instanceof HTMLElement && last.isConnected) last.focus({ preventScroll: true });
  };
  addEventListener("keydown", close, { signal: ended, capture: true });
}

export function showPage(report: Report, root: HTMLElement): void {
  const state = new State();
  document.title = titleOf(report);
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
    const shown = viewsOf(context);
    const tabs = new Tabs(context, shown);
    root.addEventListener("click", (event) => tabs.follow(event), { signal: end.signal });
    closeOnEscape(context);
    root.replaceChildren(
      header(context),
      tabs.list,
      tabs.main,
      detail(context),
      h("footer", {}, `Strata ${report.strata_version}. Everything is in this file; nothing was fetched.`),
    );
    tabs.show();
  };
  show();
  let width = innerWidth;
  let timer = 0;
  const remake = () => {
    const top = scrollY;
    show();
    scrollTo(0, top); // what is read stays in the window
  };
  addEventListener("resize", () => {
    if (innerWidth === width || matchMedia("print").matches) return; // a phone's address bar comes and goes; paper is no window
    width = innerWidth;
    clearTimeout(timer);
    timer = window.setTimeout(remake, 200);
  });
}
