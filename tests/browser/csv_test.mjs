// SPDX-License-Identifier: Apache-2.0
// csv_test.mjs CSV: how the report page writes tables. CSV is web/src/csv.ts as JavaScript.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const { csvCell, csvText, plainNumber } = await import(pathToFileURL(process.argv[2]));

// Numbers stay numbers, with all their digits.
assert.equal(csvCell(-0.1), "-0.1");
assert.equal(csvCell(1e-12), "1e-12");
assert.equal(csvCell("-1.5e-3"), "-1.5e-3");
assert.equal(csvCell(null), "");
assert.equal(csvCell(NaN), "");

// No text starts a formula.
for (const text of ["=cmd|' /C calc'!A0", "+1+1", "@SUM(1)", "-2+3", "\tx", "\rx"])
  assert.ok(/^"?'/.test(csvCell(text)), JSON.stringify(csvCell(text)));
assert.equal(csvCell("layer1.0.conv1"), "layer1.0.conv1");

// RFC 4180.
assert.equal(csvCell('a "b", c'), '"a ""b"", c"');
assert.equal(csvText(["name", "time_s"], [["a\nb", 2]]), 'name,time_s\n"a\nb",2\n');

assert.equal(plainNumber("1,234"), 1234);
assert.equal(plainNumber("−5"), -5);
assert.equal(plainNumber("1,2"), "1,2");
assert.equal(plainNumber("5 ms"), "5 ms");
