// SPDX-License-Identifier: Apache-2.0
// A chart of the page as an SVG that stands alone: what style sheets say becomes attributes, and the paper is drawn.
import { h, s } from "./dom";

const copied = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linejoin",
  "opacity",
  "paint-order",
  "font-size",
  "font-weight",
  "text-anchor",
  "shape-rendering",
] as const;
const usual: Partial<Record<(typeof copied)[number], string>> = {
  fill: "rgb(0, 0, 0)",
  "fill-opacity": "1",
  stroke: "none",
  "stroke-width": "1px",
  "stroke-opacity": "1",
  "stroke-dasharray": "none",
  "stroke-linejoin": "miter",
  opacity: "1",
  "paint-order": "normal",
  "font-weight": "400",
  "text-anchor": "start",
  "shape-rendering": "auto",
};
const fonts = "Helvetica, Arial, 'Liberation Sans', sans-serif";
const drawn = "path, line, rect, circle, ellipse, polygon, polyline, text, tspan, image";

function paper(): string {
  return getComputedStyle(document.body).backgroundColor;
}

/// Copies what is drawn with how it looks now.
function flattened(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [...svg.querySelectorAll(drawn)];
  const to = [...copy.querySelectorAll(drawn)];
  from.forEach((element, at) => {
    const style = getComputedStyle(element);
    const target = to[at] as Element;
    const isText = element instanceof SVGTextContentElement;
    for (const key of copied) {
      if (!isText && (key.startsWith("font") || key === "text-anchor")) continue;
      const value = style.getPropertyValue(key);
      if (value !== "" && value !== usual[key]) target.setAttribute(key, value);
      else target.removeAttribute(key);
    }
  });
  for (const element of [copy, ...copy.querySelectorAll("*")])
    for (const name of ["class", "style", "tabindex", "role", "data-row", "data-count", "data-name", "aria-label"])
      element.removeAttribute(name);
  return copy;
}

function sheet(width: number, height: number, title: string): SVGSVGElement {
  return s(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height, "font-family": fonts },
    s("title", {}, title),
    s("rect", { width, height, fill: paper() }),
  );
}

function texts(element: Element, [left, top]: [number, number], into: SVGElement): void {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.textContent?.trim() ?? "";
    const parent = node.parentElement;
    if (text === "" || !parent || parent.closest("svg, .saves")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (box.width === 0) continue;
    const style = getComputedStyle(parent);
    const size = parseFloat(style.fontSize);
    into.append(
      s(
        "text",
        {
          x: (box.left - left).toFixed(1),
          y: (box.top - top + box.height / 2 + size * 0.35).toFixed(1),
          "font-size": size,
          "font-weight": style.fontWeight,
          fill: style.color,
          textLength: box.width.toFixed(1),
          lengthAdjust: "spacingAndGlyphs",
        },
        text,
      ),
    );
  }
}

/// Boxes with a colour, then pictures, then texts, where the page has them.
function traced(element: Element): SVGSVGElement {
  const box = element.getBoundingClientRect();
  const margin = 8;
  const at: [number, number] = [box.left - margin, box.top - margin];
  const [width, height] = [Math.ceil(box.width + 2 * margin), Math.ceil(box.height + 2 * margin)];
  const result = sheet(width, height, titleOf(element));
  for (const each of [element, ...element.querySelectorAll<HTMLElement>("*")]) {
    if (!(each instanceof HTMLElement) || each.closest(".saves")) continue;
    const { backgroundColor } = getComputedStyle(each);
    const own = each.getBoundingClientRect();
    if (backgroundColor === "rgba(0, 0, 0, 0)" || own.width === 0 || own.height === 0) continue;
    result.append(
      s("rect", { x: (own.left - at[0]).toFixed(1), y: (own.top - at[1]).toFixed(1), width: own.width.toFixed(1), height: own.height.toFixed(1), fill: backgroundColor }),
    );
  }
  for (const canvas of element.matches("canvas") ? [element] : element.querySelectorAll("canvas")) {
    const own = canvas.getBoundingClientRect();
    result.append(
      s("image", {
        href: (canvas as HTMLCanvasElement).toDataURL("image/png"),
        x: own.left - at[0],
        y: own.top - at[1],
        width: own.width,
        height: own.height,
      }),
    );
  }
  texts(element, at, result);
  return result;
}

function titleOf(element: Element): string {
  const figure = element.closest("figure");
  const said = figure?.querySelector("figcaption")?.firstChild?.textContent;
  return said ?? element.getAttribute("aria-label") ?? document.title;
}

/// A chart with its title above it and the names of its colours below.
function framed(figure: Element, picture: SVGSVGElement): SVGSVGElement {
  const { width, height } = picture.viewBox.baseVal;
  const title = titleOf(figure);
  const keys = [...figure.querySelectorAll(".legend li")];
  // Of several charts side by side, the legend stands below all.
  const beside = [figure.nextElementSibling, figure.parentElement?.nextElementSibling].find((each) => each?.matches(".legend"));
  if (keys.length === 0 && beside) keys.push(...beside.querySelectorAll("li"));
  const room = Math.max(1, Math.floor(width / 190));
  const top = 26;
  const all = sheet(width, height + top + 20 * Math.ceil(keys.length / room), title);
  const ink = getComputedStyle(document.body).color;
  all.append(s("text", { x: 8, y: 17, "font-size": 14, "font-weight": 600, fill: ink }, title));
  const copy = flattened(picture);
  copy.setAttribute("y", String(top));
  all.append(copy);
  keys.forEach((key, i) => {
    const [x, y] = [8 + (i % room) * 190, height + top + 14 + 20 * Math.floor(i / room)];
    const swatch = key.querySelector<HTMLElement>(".swatch, .line-swatch");
    const color = swatch ? getComputedStyle(swatch).getPropertyValue("--swatch").trim() : "";
    const value = color === "" ? "none" : resolved(color);
    all.append(
      s("rect", { x, y: y - 9, width: 10, height: 10, rx: 2, fill: value }),
      s("text", { x: x + 15, y, "font-size": 12, fill: ink }, key.textContent?.trim() ?? ""),
    );
  });
  return all;
}

/// "var(--c3)" as a colour.
function resolved(color: string): string {
  const probe = h("span", {});
  probe.style.color = color;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

/// Any chart: drawn ones are copied, others traced.
export function svgOfElement(chart: Element): SVGSVGElement {
  const picture = chart instanceof SVGSVGElement ? chart : chart.querySelector<SVGSVGElement>(":scope > svg, :scope > div > svg");
  const hasCanvas = chart.matches("canvas") || chart.querySelector("canvas") !== null;
  return picture && !hasCanvas ? framed(chart, picture) : traced(chart);
}

export function svgText(svg: SVGSVGElement): string {
  return new XMLSerializer().serializeToString(svg);
}
