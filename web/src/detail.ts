// SPDX-License-Identifier: Apache-2.0
// Everything that is known of the chosen layer, at the edge of the window.
import { h, name } from "./dom";
import { valueOf } from "./rows";
import { format } from "./units";
import type { Context } from "./view";

export function detail(context: Context): HTMLElement {
  const panel = h("aside", { class: "detail", "aria-label": "The chosen layer", "aria-live": "polite" });
  const show = () => {
    const { chosen } = context.links;
    const rows = context.rows?.rows.filter((row) => row.layer === chosen) ?? [];
    const layer = context.part.model?.layers.find((each) => each.name === chosen);
    panel.hidden = chosen === "";
    if (chosen === "") return;
    const close = h(
      "button",
      { class: "close", "aria-label": "close", click: () => context.links.toggle(chosen) },
      "×",
    );
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
      const parts = (["expected_s", "time_s", "stall_time_s", "flop", "traffic_bytes", "distance"] as const)
        .flatMap((key) => context.rows?.metrics.find((metric) => metric.key === key) ?? [])
        .map((metric) => `${metric.label} ${format(valueOf(numbers, metric), metric.unit)}`);
      if (row.bound !== "") parts.push(`${row.bound}-bound`);
      if (row.cause !== "" && (numbers.stall_time_s ?? 0) > 0) parts.push(`waits for ${row.cause}`);
      add(row.pass || "layer", parts.join(", "));
    }
    if (rows.length === 0 && !layer) add("", "not in this result");
    panel.replaceChildren(close, h("strong", {}, name(chosen, 80)), facts);
  };
  context.state.on(["layer"], show);
  show();
  return panel;
}
