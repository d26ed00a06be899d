// SPDX-License-Identifier: Apache-2.0
// Tables as CSV (RFC 4180) that spreadsheets and pandas read as they are: numbers in base units, texts that start no
// formula.

export type CsvCell = string | number | boolean | null | undefined;

/// A spreadsheet computes what begins so; an apostrophe makes it a text again.
const formula = /^[=+\-@\t\r]/;
const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

export function csvCell(cell: CsvCell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "number") return Number.isFinite(cell) ? String(cell) : "";
  const text = String(cell);
  const safe = formula.test(text) && !number.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csvText(head: string[], rows: Iterable<CsvCell[]>): string {
  const lines = [head.map(csvCell).join(",")];
  for (const row of rows) lines.push(row.map(csvCell).join(","));
  return `${lines.join("\n")}\n`;
}

/// "1,234" and "−5" are numbers to people, too.
export function plainNumber(text: string): string | number {
  const plain = text.trim().replace(/^−/, "-").replace(/(\d),(?=\d{3}(\D|$))/g, "$1");
  return number.test(plain) ? Number(plain) : text.trim();
}

function spanned(cell: HTMLTableCellElement): CsvCell[] {
  const value = cell.dataset.value;
  const text = cell.textContent?.trim() ?? "";
  const own = value !== undefined ? (value === "" ? null : plainNumber(value)) : text === "–" ? null : plainNumber(text);
  return [own, ...new Array<CsvCell>(Math.max(0, cell.colSpan - 1)).fill(null)];
}

/// Any table of the page; cells say their number in base units as data-value where what is shown is rounded. Columns
/// that hold nothing but a bar are left out.
export function csvOfTable(table: HTMLTableElement): string {
  const lines = [...table.rows].map((row) => [...row.cells].flatMap((cell) => ({ cell, cells: spanned(cell) })));
  const head = lines[0] ?? [];
  const isKept = head.flatMap(({ cell, cells }) => cells.map(() => cell.dataset.csv !== "none"));
  const names = head.flatMap(({ cell, cells }) =>
    cells.map((value, i) => (i === 0 ? (cell.dataset.key ?? cell.textContent?.replace(/ [▲▼]$/, "").trim() ?? "") : String(value ?? ""))),
  );
  const keep = <Item>(list: Item[]) => list.filter((_, i) => isKept[i] !== false);
  return csvText(
    keep(names.map((name, i) => name || (i === 0 ? "name" : `column ${i + 1}`))),
    lines.slice(1).map((line) => keep(line.flatMap(({ cells }) => cells))),
  );
}
