// SPDX-License-Identifier: Apache-2.0
// How far training scales, in pictures: throughput over the number of devices, and what the time of each goes to.
import { frame, legend, logDomain, pathOf } from "./chart";
import { h, s } from "./dom";
import { partColor } from "./parallel";
import { roving, withTipAnyhow } from "./roving";
import { itemsOf, type Answered } from "./scaling";
import { withTip, type Lines } from "./tooltip";
import { format, percent, whole } from "./units";

export function tipOf({ answer }: Answered): Lines {
  return [
    ["expected", `${format(answer.time_s, "s")} (${format(answer.low_s, "s")} to ${format(answer.high_s, "s")})`],
    ["tokens per second", answer.tokens_per_s === null ? "" : format(answer.tokens_per_s, "count")],
    ["samples per second", format(answer.samples_per_s, "count")],
    ["efficiency", answer.efficiency === null ? "" : percent(answer.efficiency)],
    ["MFU", answer.mfu === null ? "" : percent(answer.mfu)],
    ["strategy", answer.strategy],
  ];
}

export function devicesText({ devices }: { devices: number }): string {
  return `${whole(devices)} ${devices === 1 ? "device" : "devices"}`;
}

/// Throughput with its interval, and beside it what the first number of devices would give without any loss.
export function throughputChart(all: Answered[], width: number): HTMLElement {
  const items = itemsOf(all);
  const rate = ({ answer }: Answered) => (items === "tokens" ? (answer.tokens_per_s ?? 0) : answer.samples_per_s);
  const [first, last] = [all[0], all.at(-1)];
  if (!first || !last) return h("div", {});
  const points = all.map((each) => ({
    each,
    low: (rate(each) * each.answer.time_s) / each.answer.high_s,
    high: (rate(each) * each.answer.time_s) / each.answer.low_s,
    ideal: (rate(first) * each.devices) / first.devices,
  }));
  const drawn = frame(
    "Throughput over devices",
    { width, height: 320 },
    { label: "devices", unit: "count", domain: logDomain(all.map(({ devices }) => devices)), isLog: true, at: all.map(({ devices }) => devices) },
    { label: `${items} per second`, unit: "count", domain: logDomain(points.flatMap(({ low, high, ideal }) => [low, high, ideal])), isLog: true },
  );
  const at = (each: Answered): [number, number] => [drawn.x(each.devices), drawn.y(rate(each))];
  const ends = [first, last].map((each): [number, number] => [drawn.x(each.devices), drawn.y((rate(first) * each.devices) / first.devices)]);
  drawn.area.append(
    s("path", { d: pathOf(ends), class: "line ideal", stroke: "var(--c1)", "stroke-dasharray": "6 4" }),
    s("path", { d: pathOf(all.map(at)), class: "line", stroke: "var(--c0)" }),
  );
  points.forEach(({ each, low, high }, row) => {
    const [cx, cy] = at(each);
    const [top, bottom] = [drawn.y(high), drawn.y(low)];
    const caps = [top, bottom].map((y) => `M${cx - 4},${y}h8`).join("");
    drawn.area.append(s("path", { d: `M${cx},${top}V${bottom}${caps}`, class: "line interval", stroke: "var(--c0)" }));
    const dot = s("circle", { cx, cy, r: 4.5, fill: "var(--c0)", class: "dot", "data-row": row });
    withTipAnyhow(dot, devicesText(each), () => tipOf(each));
    drawn.over.append(dot);
  });
  roving(drawn.svg, ".dot", (mark) => {
    const each = all[Number(mark.getAttribute("data-row"))];
    return each ? `${devicesText(each)}: ${format(rate(each), "count")} ${items} per second` : "";
  });
  return h(
    "div",
    {},
    drawn.figure,
    legend([
      { name: "expected, with its 90 % interval", color: "var(--c0)" },
      { name: `ideal: as on ${whole(first.devices)}, without loss`, color: "var(--c1)", dash: "6 4" },
    ]),
  );
}

const mostBars = 24;

/// From the first to the last, evenly.
function some(all: Answered[]): Answered[] {
  if (all.length <= mostBars) return all;
  return Array.from({ length: mostBars }, (_, i) => all[Math.round((i * (all.length - 1)) / (mostBars - 1))] as Answered);
}

/// What the time of an iteration goes to, a bar for each number of devices, all of the same length.
export function partBars(all: Answered[]): HTMLElement {
  const shown = some(all).filter(({ answer }) => answer.parts.length > 0);
  const names = new Set(shown.flatMap(({ answer }) => answer.parts.filter((part) => part.time_s > 0.001 * answer.time_s).map(({ name }) => name)));
  const list = h("div", { class: "bars" });
  for (const each of shown) {
    const { answer } = each;
    const sum = answer.parts.reduce((total, part) => total + part.time_s, 0);
    const share = ({ time_s }: { time_s: number }) => percent(time_s / sum);
    const label = answer.parts.map((part) => `${part.name} ${share(part)}`).join(", ");
    const track = h("span", { class: "bar-track stacked", role: "img", "aria-label": label });
    for (const part of answer.parts) {
      const piece = h("span", { class: "bar", "data-part": part.name });
      piece.style.width = `${(100 * part.time_s) / sum}%`;
      piece.style.setProperty("--swatch", partColor(part.name));
      withTip(piece, `${devicesText(each)}: ${part.name}`, () => [
        ["time", format(part.time_s, "s")],
        ["share", share(part)],
      ]);
      track.append(piece);
    }
    list.append(
      h(
        "div",
        { class: "bar-row" },
        h("span", { class: "bar-name" }, devicesText(each)),
        track,
        h("span", { class: "bar-value" }, format(answer.time_s, "s")),
      ),
    );
  }
  const partly = shown.length < all.length ? ` (${whole(shown.length)} of ${whole(all.length)} numbers of devices)` : "";
  return h(
    "div",
    { class: "types shares" },
    h("h3", {}, `What the time goes to${partly}`),
    list,
    legend([...names].map((name) => ({ name, color: partColor(name) }))),
  );
}
