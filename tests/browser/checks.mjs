// SPDX-License-Identifier: Apache-2.0
// What the tests of pages have in common: reading numbers as people see them, and complaining.
import assert from "node:assert/strict";

export const seconds = (text) =>
  Number(text.replace(/[^0-9.].*$/, "")) *
  { s: 1, ms: 1e-3, µs: 1e-6, ns: 1e-9, ps: 1e-12 }[text.replace(/^[\d.,\s]*/, "")];
/// Numbers are shown with three digits.
export const near = (shown, exact, message) =>
  assert.ok(Math.abs(shown - exact) <= 0.006 * Math.abs(exact), `${message}: ${shown} is not ${exact}`);
export const quiet = (page) => assert.deepEqual(page.faults, []);
export const sum = (rows, key) => rows.reduce((all, row) => all + row[key], 0);
export const texts = (locator) =>
  locator.evaluateAll((elements) => elements.map((element) => element.textContent.trim()));
