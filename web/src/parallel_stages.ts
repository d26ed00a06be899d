// SPDX-License-Identifier: Apache-2.0
// The stages of a pipeline in a table: what each has, where its time goes, what it holds and sends.
import { h } from "./dom";
import { partsOf, resultOf } from "./parallel";
import type { Stage } from "./schema";
import { sortableTable, type SortColumn } from "./sortable";
import { labelOf } from "./units";
import { remade, type Context, type View } from "./view";

function columnsOf(context: Context): SortColumn<Stage>[] {
  const result = resultOf(context.part.document);
  if (!result) return [];
  const memory = Object.keys(result.memory).filter((key) => key !== "total_bytes");
  const sent = Object.keys(result.stages[0]?.sent ?? {});
  const all: SortColumn<Stage>[] = [
    { key: "stage", label: "stage", unit: "count", value: ({ stage }) => stage },
    { key: "layers", label: "layers", unit: "text", value: ({ layers }) => layers },
    ...partsOf(result).map(
      ({ key, name }): SortColumn<Stage> => ({ key, label: name, unit: "s", value: ({ time }) => time[key] ?? null }),
    ),
    { key: "memory_bytes", label: "memory", unit: "capacity", value: (stage) => stage.memory.total_bytes },
    ...memory.map(
      (key): SortColumn<Stage> => ({
        key,
        label: key === "states_bytes" ? "optimizer states" : labelOf(key),
        unit: "capacity",
        value: (stage) => stage.memory[key as keyof Stage["memory"]],
      }),
    ),
    ...sent.map(
      (key): SortColumn<Stage> => ({ key: `sent_${key}`, label: `sent: ${labelOf(key)}`, unit: "bytes", value: (stage) => stage.sent[key] ?? null }),
    ),
  ];
  // What no stage has says nothing.
  return all.filter((column) => column.key === "stage" || result.stages.some((stage) => (column.value(stage) ?? 0) !== 0));
}

function render(context: Context, element: HTMLElement): void {
  const result = resultOf(context.part.document);
  if (!result) return;
  const { state } = context;
  const columns = columnsOf(context);
  const body = h("div", {});
  element.append(
    h(
      "p",
      { class: "dim" },
      "One rank of each stage; the others of its stage do the same. Times are of one iteration and add up to it; what a rank sends goes over links in one iteration.",
    ),
    body,
  );
  remade(context, ["stages-sort"], () =>
    body.replaceChildren(
      sortableTable(
        result.stages,
        columns,
        { sort: state.get("stages-sort"), onSort: (next) => state.set("stages-sort", next), about: "stages" },
        () => undefined,
      ),
    ),
  );
}

export const stagesView: View = {
  id: "stages",
  title: "Stages",
  fits: (context) => resultOf(context.part.document) !== null,
  render,
};
