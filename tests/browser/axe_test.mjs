// SPDX-License-Identifier: Apache-2.0
// Pages for everybody: axe-core (Deque) finds nothing serious in them, light or dark. AXE is its script.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { end, open, strata } from "./browser.mjs";

after(end);

const axe = readFileSync(process.env.AXE, "utf8");
const root = fileURLToPath(new URL("../../", import.meta.url));
const measured = `${root}data/profiles/nvidia-h200/training/resnet50-b32-fp32.json`;

const pages = {
  predicted: () => strata("predict", "resnet50", "--on", "h200", "--html", "predicted.html"),
  measured: () => strata("report", measured, "-o", "measured.html"),
  trace: () => strata("trace", `${root}examples/traces/event-sync.json`, "--html", "trace.html"),
  sweep: () => strata("sweep", "lenet5", "--on", "l4,h200", "--batch", "32:512:x2", "--html", "sweep.html"),
  compare: () =>
    strata("compare", measured, measured.replace("b32", "b128"), "--html", "compare.html"),
  parallel: () => strata("predict", "gpt2:layers=4", "--on", "2x4xh200", "--batch", "32", "--parallel", "auto", "--html", "parallel.html"),
  scaling: () => strata("predict", "gpt2:layers=4", "--on", "4xh200", "--devices", "1,2,4,6,8", "--batch", "32", "--price", "2", "--html", "scaling.html"),
  reproduce: () => strata("reproduce", "layerwise", "--html", "reproduce.html"),
};

/// In the page: every view is made and shown, whatever is chosen.
async function showAll() {
  dispatchEvent(new Event("beforeprint"));
  dispatchEvent(new Event("afterprint"));
  for (const section of document.querySelectorAll("main section")) {
    section.hidden = false;
    section.style.display = "block";
  }
  await new Promise((resolve) => setTimeout(resolve, 300));
}

async function problems(file, scheme) {
  const page = await open(file, { scheme });
  await page.evaluate(showAll);
  await page.run(`${axe};0`);
  const found = await page.run(
    `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
      violations.map(({ id, impact, nodes }) => ({ id, impact, count: nodes.length, first: nodes[0].html.slice(0, 200) })))`,
  );
  await page.close();
  return found.filter(({ impact }) => impact === "serious" || impact === "critical");
}

for (const [name, make] of Object.entries(pages))
  test(`axe-core finds nothing serious in a page of kind ${name}`, async () => {
    make();
    for (const scheme of ["light", "dark"]) assert.deepEqual(await problems(`${name}.html`, scheme), [], scheme);
  });
