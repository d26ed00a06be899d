// SPDX-License-Identifier: Apache-2.0
// Saves what the page shows: every table as CSV, every chart as SVG and PNG. The buttons come to whatever is put into
// the page, so that no view needs to think of them; a view that knows more than its elements (a table of which only a
// part is in the page) says it with exportable().
import { csvOfTable } from "./csv";
import { h } from "./dom";
import { svgOfElement, svgText } from "./svg_export";

type CsvOf = () => string;
const known = new WeakMap<Element, CsvOf>();

/// A view's own way to write the table that an element shows.
export function exportable(element: HTMLElement, csv: CsvOf): void {
  known.set(element, csv);
  element.classList.add("has-csv");
}

const revokedAfter_ms = 30_000;

export function save(content: BlobPart, type: string, name: string): void {
  const link = h("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), revokedAfter_ms);
}

/// The page and the part of it, as a file may be called.
function fileName(place: Element, ending: string): string {
  const figure = place.closest("figure");
  const own = figure?.querySelector("figcaption")?.firstChild?.textContent ?? "";
  const parts = [document.title, place.closest("section")?.id ?? "", own];
  const words = parts.join(" ").toLowerCase().normalize("NFKD").match(/[a-z0-9]+/g) ?? [];
  const name = words.filter((word, i) => words.indexOf(word) === i).join("-").slice(0, 80);
  return `${name || "strata"}.${ending}`;
}

function button(label: string, about: string, work: () => void | Promise<void>): HTMLElement {
  return h("button", { class: "save", title: about, "aria-label": `${label}: ${about}`, click: () => void work() }, label);
}

/// A picture of twice the size, sharp enough for slides.
async function pngOf(svg: SVGSVGElement): Promise<Blob | null> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`;
  await image.decode();
  const canvas = h("canvas", {});
  const scale = 2;
  [canvas.width, canvas.height] = [image.width * scale, image.height * scale];
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function chartButtons(chart: Element): HTMLElement {
  const name = (ending: string) => fileName(chart, ending);
  const canvas = chart instanceof HTMLCanvasElement ? chart : chart.querySelector("canvas");
  return h(
    "span",
    { class: "saves" },
    button("SVG", "save this chart as a drawing", () => save(svgText(svgOfElement(chart)), "image/svg+xml", name("svg"))),
    button("PNG", "save this chart as a picture", async () => {
      const blob = canvas
        ? await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"))
        : await pngOf(svgOfElement(chart));
      if (blob) save(blob, "image/png", name("png"));
    }),
  );
}

function tableButtons(table: Element): HTMLElement {
  const csv = () => (table instanceof HTMLTableElement ? csvOfTable(table) : (known.get(table)?.() ?? ""));
  const own = table.closest(".has-csv");
  return h(
    "span",
    { class: "saves" },
    button("CSV", "save this table", () =>
      save((own ? known.get(own) : undefined)?.() ?? csv(), "text/csv", fileName(table, "csv")),
    ),
  );
}

const charts = "figure.chart, .bars, .lost-bar, [data-chart]";
const tables = "table, .scroller";

/// What is wider or longer than its place, the keyboard scrolls, too.
function letScroll(place: Element): void {
  if (!place.matches(".wide:not([tabindex])")) return;
  requestAnimationFrame(() => {
    if (place.scrollWidth <= place.clientWidth && place.scrollHeight <= place.clientHeight) return;
    place.setAttribute("tabindex", "0");
    place.setAttribute("role", "group");
    if (!place.hasAttribute("aria-label")) place.setAttribute("aria-label", "a table; the arrows scroll it");
  });
}

const buttons = new WeakMap<Element, HTMLElement>();

/// What is no longer in the page needs no buttons, wherever they stood.
function remove(element: Element): void {
  if (element.isConnected) return;
  buttons.get(element)?.remove();
  buttons.delete(element);
  if (element instanceof HTMLElement) delete element.dataset.saves;
}

/// Where the buttons of a chart stand: with its title; else above it.
function add(element: Element): void {
  if (element instanceof HTMLElement && element.dataset.saves !== undefined) return;
  if (element.closest("#tip, .detail, .no-saves")) return;
  if (element instanceof HTMLElement) element.dataset.saves = "";
  if (element.matches(tables)) {
    const place = element.closest(".wide") ?? element;
    const own = tableButtons(element);
    buttons.set(element, own);
    place.before(own);
    letScroll(place);
    return;
  }
  const own = chartButtons(element);
  buttons.set(element, own);
  const caption = element.querySelector(":scope > figcaption");
  if (caption) caption.append(own);
  else element.before(own);
}

/// From now on, whatever is put into the page can be saved.
export function offerExport(root: HTMLElement): void {
  const look = (node: Node) => {
    if (!(node instanceof Element) || node.closest("svg")) return;
    const found = [...node.querySelectorAll(`${charts}, ${tables}`)];
    if (node.matches(`${charts}, ${tables}`)) found.unshift(node);
    // A canvas that stands in no figure is a chart of its own; one above it only marks what is pointed at.
    for (const canvas of node.matches("canvas") ? [node] : node.querySelectorAll("canvas"))
      if (!canvas.closest(charts) && canvas.parentElement?.querySelector("canvas") === canvas) found.push(canvas);
    found.forEach(add);
  };
  const forget = (node: Node) => {
    if (!(node instanceof Element)) return;
    for (const element of [node, ...node.querySelectorAll("[data-saves]")]) remove(element);
  };
  look(root);
  new MutationObserver((changes) => {
    for (const { addedNodes, removedNodes } of changes) {
      removedNodes.forEach(forget);
      addedNodes.forEach(look);
    }
  }).observe(root, { childList: true, subtree: true });
}
