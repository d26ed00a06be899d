// SPDX-License-Identifier: Apache-2.0
// The Pareto front that was asked for on the command line, as columns and rows of the page.
import type { SweepAnswers, SweepColumn, SweepDocument } from "./schema";
import { nameOf } from "./sweep_columns";

/// Times of an iteration, by the sample.
function perSample(column: SweepColumn, samples: SweepColumn): SweepColumn {
  const cells = column.cells.map((cell, row) => {
    const count = samples.cells[row];
    return typeof cell === "number" && typeof count === "number" && count > 0 ? cell / count : null;
  });
  return { name: `per_sample_${column.name}`, label: `${nameOf(column)} per sample`, is_number: true, is_axis: false, cells };
}

export class AskedFront {
  readonly document: SweepDocument; // with columns by the sample, where the front is of them
  readonly goals: string[] = []; // names of columns
  readonly rows: Set<number> | null = null;

  constructor(document: SweepDocument, answers: SweepAnswers | undefined) {
    const added: SweepColumn[] = [];
    const named = (name: string) => document.columns.find((column) => column.name === name);
    const samples = named("samples");
    for (const { column, per_sample } of answers?.pareto?.goals ?? []) {
      const own = named(column);
      if (own && samples && per_sample) {
        added.push(perSample(own, samples));
        this.goals.push(`per_sample_${column}`);
      } else this.goals.push(column);
    }
    this.document = added.length === 0 ? document : { ...document, columns: [...document.columns, ...added] };
    const points = named("point");
    if (!answers?.pareto || !points) return;
    const wanted = new Set(answers.pareto.fronts.flatMap((front) => front.points.map(({ point }) => point)));
    this.rows = new Set(points.cells.flatMap((cell, row) => (cell !== null && wanted.has(cell) ? [row] : [])));
  }
}
