// SPDX-License-Identifier: Apache-2.0
// Everything that is known of the chosen layer, at the edge of the window. Of a comparison, both sides beside each other.
import { sidesOf } from "./compare";
import { h, name } from "./dom";
import { rowsOf, valueOf, type RowSet } from "./rows";
import type { ComparisonDocument } from "./schema";
import { format, type Unit } from "./units";
import type { Context } from "./view";

const shownKeys = ["expected_s", "time_s", "stall_time_s", "flop", "traffic_bytes", "distance"] as const;

function layerFacts(context: Context, chosen: string): HTMLElement {
  const rows = context.rows?.rows.filter((row) => row.layer === chosen) ?? [];
  const layer = context.part.model?.layers.find((each) => each.name === chosen);
  const facts = h("dl", {});
  const add = (what: string, value: string) => {
    if (value !== "" && value !== "–") facts.append(h("dt", {}, what), h("dd", {}, h("bdi", {}, value)));
  };
  add("type", rows[0]?.op ?? layer?.op ?? "");
  add("block", rows[0]?.block ?? layer?.block ?? "");
  if (layer) {
    add("output", `${layer.output_shape.join(" × ")} ${layer.dtype}`);
    if (typeof layer.parameters === "number" && layer.parameters > 0)
      add("parameters", format(layer.parameters, "count"));
  }
  for (const row of rows.slice(0, 6)) {
    const { numbers } = row;
    const parts = shownKeys
      .flatMap((key) => context.rows?.metrics.find((metric) => metric.key === key) ?? [])
      .map((metric) => `${metric.label} ${format(valueOf(numbers, metric), metric.unit)}`);
    if (row.bound !== "") parts.push(`${row.bound}-bound`);
    if (row.cause !== "" && (numbers.stall_time_s ?? 0) > 0) parts.push(`waits for ${row.cause}`);
    add(row.pass || "layer", parts.join(", "));
  }
  if (rows.length === 0 && !layer) add("", "not in this result");
  return facts;
}

interface Side {
  title: string;
  rows: RowSet | null; // of the result itself, where it is in the page
  key: "a" | "b";
}

/// A line per pass and number, a column per side.
function comparedFacts(context: Context, document: ComparisonDocument, chosen: string): HTMLElement {
  const parts = sidesOf(context.report.parts, document);
  const sides = (["a", "b"] as const).map((key, at): Side => {
    const part = parts[at];
    return { title: document[key].file, rows: part ? rowsOf(part) : null, key };
  });
  const pairs = document.rows.filter((row) => row.layer === chosen);
  const body = h("tbody", {});
  const line = (what: string, unit: Unit, values: (number | null)[]) => {
    if (values.every((value) => value === null || value === 0)) return;
    const [first, second] = values;
    body.append(
      h(
        "tr",
        {},
        h("th", { scope: "row" }, what),
        ...values.map((value) => h("td", { class: "n" }, format(value, unit))),
        h("td", { class: "n" }, first && second ? format(second / first, "ratio") : ""),
      ),
    );
  };
  for (const pair of pairs) {
    const both = (key: "time_s" | "flop" | "traffic_bytes" | "launches") => sides.map((side) => pair[side.key]?.[key] ?? null);
    const rate = (key: "flop" | "traffic_bytes") =>
      sides.map((side) => {
        const numbers = pair[side.key];
        return numbers && numbers.time_s > 0 ? numbers[key] / numbers.time_s : null;
      });
    line(`${pair.pass}: time`, "s", both("time_s"));
    line("FLOP", "flop", both("flop"));
    line("bytes", "bytes", both("traffic_bytes"));
    line("FLOP/s", "flop/s", rate("flop"));
    line("kernels", "count", both("launches"));
    const own = (key: string) =>
      sides.map((side) => side.rows?.rows.find((row) => row.layer === chosen && row.pass === pair.pass)?.numbers[key] ?? null);
    line("waits", "s", own("stall_time_s"));
  }
  return h(
    "div",
    { class: "wide no-saves" },
    h("p", { class: "dim" }, [pairs[0]?.op, pairs[0]?.block].filter((each) => each).join(", ")),
    h(
      "table",
      { class: "small" },
      h(
        "thead",
        {},
        h("tr", {}, h("th", {}, "pass"), ...sides.map((side) => h("th", { class: "n" }, name(side.title, 28))), h("th", { class: "n" }, "ratio")),
      ),
      body,
    ),
  );
}

export function detail(context: Context): HTMLElement {
  const panel = h("aside", { class: "detail", "aria-label": "The chosen layer", "aria-live": "polite" });
  const show = () => {
    const { chosen } = context.links;
    panel.hidden = chosen === "";
    if (chosen === "") return;
    const close = h(
      "button",
      { class: "close", "aria-label": "close", click: () => context.links.toggle(chosen) },
      "×",
    );
    const { document } = context.part;
    const facts =
      document.kind === "comparison"
        ? comparedFacts(context, document as ComparisonDocument, chosen)
        : layerFacts(context, chosen);
    panel.replaceChildren(close, h("strong", {}, name(chosen, 80)), facts);
  };
  context.state.on(["layer"], show);
  show();
  return panel;
}
