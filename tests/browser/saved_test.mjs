// SPDX-License-Identifier: Apache-2.0
// What the page saves: tables as CSV, charts as SVG and PNG.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { end, json, open, strata, view } from "./browser.mjs";
import { quiet } from "./checks.mjs";

after(end);

strata("predict", "resnet50", "--on", "h200", "--json", "r.json", "--html", "r.html");

/// In the page: keeps what is saved, besides saving it.
function keep() {
  window.kept = [];
  const make = URL.createObjectURL.bind(URL);
  URL.createObjectURL = (blob) => {
    window.kept.push(blob);
    return make(blob);
  };
}

/// Presses a button and reads the file that it saves.
async function saved(page, button) {
  await page.evaluate(keep);
  await button.click();
  const name = await page.savedFile();
  const { type, text, first } = await page.evaluate(async () => {
    const blob = window.kept.at(-1);
    const bytes = new Uint8Array(await blob.arrayBuffer());
    return { type: blob.type, text: blob.type === "image/png" ? "" : await blob.text(), first: [...bytes.slice(0, 8)] };
  });
  return { name, type, text, first };
}

/// As pandas splits it: cells that are quoted may hold commas.
function cellsOf(line) {
  return [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(,|$)/g)].map((match) => match[1]).slice(0, -1);
}

test("the table of layers is saved whole, in base units", async () => {
  const { layers } = json("r.json");
  const page = await open("r.html");
  const section = await view(page, "layers");
  const { name, type, text } = await saved(page, section.locator("button.save", { hasText: "CSV" }));
  assert.match(name, /layers.*\.csv$/);
  assert.equal(type, "text/csv");
  const [head, ...lines] = text.trim().split("\n");
  assert.ok(head.startsWith("layer,pass,op,"), head);
  assert.equal(lines.length, layers.length);
  const at = cellsOf(`${head},`).indexOf("time_s");
  lines.forEach((line, i) => assert.equal(Number(cellsOf(`${line},`)[at]), layers[i].time_s));
  quiet(page);
  await page.close();
});

test("charts are saved as drawings that stand alone and as pictures", async () => {
  const page = await open("r.html");
  for (const id of ["roofline", "time", "timeline", "network"]) {
    const section = await view(page, id);
    const svg = await saved(page, section.locator("button.save", { hasText: "SVG" }).first());
    assert.match(svg.name, /\.svg$/);
    assert.equal(svg.type, "image/svg+xml");
    assert.ok(svg.text.startsWith("<svg xmlns="), svg.text.slice(0, 80));
    assert.ok(!svg.text.includes("var(--"), "colours are values");
    const faults = await page.run(
      `new DOMParser().parseFromString(${JSON.stringify(svg.text)}, "image/svg+xml").querySelectorAll("parsererror").length`,
    );
    assert.equal(faults, 0);
    const png = await saved(page, section.locator("button.save", { hasText: "PNG" }).first());
    assert.match(png.name, /\.png$/);
    assert.deepEqual(png.first, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  }
  quiet(page);
  await page.close();
});

test("every table and chart of a page has its buttons, and paper has none", async () => {
  const page = await open("r.html");
  for (const id of ["findings", "layers", "time", "timeline", "memory", "roofline", "network"]) await view(page, id);
  const without = await page.evaluate(() =>
    [...document.querySelectorAll("figure.chart, main table, .scroller, .bars")]
      .filter((each) => each.dataset.saves === undefined)
      .map((each) => each.outerHTML.slice(0, 100)),
  );
  assert.deepEqual(without, []);
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  assert.equal(await page.locator(".saves").isVisible(), false);
  quiet(page);
  await page.close();
});
