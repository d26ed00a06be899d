// SPDX-License-Identifier: Apache-2.0
// Tables, large sweeps, comparisons, recordings and the network: what they show, and that the keyboard reaches it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { end, json, open, picture, strata, view } from "./browser.mjs";
import { near, quiet, seconds, sum, texts } from "./checks.mjs";

after(end);

const root = fileURLToPath(new URL("../../", import.meta.url));
const measured = (batch) => `${root}data/profiles/nvidia-h200/training/resnet50-b${batch}-fp32.json`;
strata("predict", "resnet50", "--on", "h200", "--json", "r.json", "--html", "r.html");

const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? "");
const stops = (section) => section.locator("svg [tabindex='0']").count();

test("a sweep of a hundred thousand points shows all of them, and no task takes long", async () => {
  const [capacities, bandwidths] = ["24MiB:1000MiB:2MiB", "500GB/s:5000GB/s:20GB/s"];
  strata("sweep", "lenet5", "--on", "rtx-2080-ti", "--capacity", capacities, "--bandwidth", bandwidths, "--html", "big.html");
  const points = 489 * 226;
  const page = await open("r.html");
  const longest = await page.longestTask(async () => {
    await page.goto((await page.run("location.href")).replace(/r\.html.*/, "big.html"));
    await view(page, "sweep");
    await page.waitForFunction(() => document.querySelectorAll("#sweep figure").length === 3);
  });
  // On a busy computer the clock goes on while the page waits for its turn.
  assert.ok(longest.thread_ms <= 200, `a task of ${longest.thread_ms} ms`);
  const section = page.locator("#sweep");
  const inCells = await section
    .locator("rect.heat")
    .evaluateAll((cells) => cells.reduce((all, cell) => all + Number(cell.dataset.count), 0));
  assert.equal(inCells, points, "every point is in a cell");
  const names = await texts(section.locator(".legend").first().locator("li"));
  assert.equal(names[0], "500 GB/s");
  assert.equal(names.at(-1), "5.00 TB/s");
  assert.match(await section.textContent(), /12 of 226 lines/);
  assert.ok((await section.boundingBox()).height < 2500);
  await section.locator("select[aria-label='cells show the']").selectOption("least");
  await page.waitForFunction(() => /shows the least/.test(document.querySelector("#sweep").textContent));
  await picture(page, "sweep-large");
  quiet(page);
  await page.close();
});

test("the numbers of a chosen point stand beside their names", async () => {
  strata("sweep", "lenet5", "--on", "l4,h200", "--batch", "32:512:x2", "--html", "s.html");
  const page = await open("s.html", { hash: "#point=3" });
  const section = await view(page, "sweep");
  const pairs = await section
    .locator(".facts > div")
    .evaluateAll((all) => all.map((each) => [each.children[0].tagName, each.children[1].tagName, each.children.length]));
  assert.ok(pairs.length > 5);
  for (const pair of pairs) assert.deepEqual(pair, ["DT", "DD", 2]);
  // The axis has the sizes that were asked for.
  const ticks = await texts(section.locator("figure").first().locator(".grid text"));
  for (const batch of ["32", "64", "128", "256", "512"]) assert.ok(ticks.includes(batch), `${batch} in ${ticks}`);
  const before = await stops(section);
  assert.ok(before <= 4, `${before} stops for Tab`);
  await section.locator("rect.heat[tabindex='0']").focus();
  const first = await focused(page);
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await focused(page), first);
  await page.keyboard.press("Enter");
  assert.match(page.url(), /point=\d/);
  quiet(page);
  await page.close();
});

test("a comparison begins with types, goes to rows, and opens both sides of a layer", async () => {
  strata("compare", measured(32), measured(128), "--json", "c.json", "--html", "c.html");
  const { by_type: types, rows } = json("c.json");
  const page = await open("c.html");
  const section = await view(page, "compare");
  const line = (name) => section.locator("tbody tr", { hasText: new RegExp(`^${name}`) }).first();
  const type = types.find((each) => each.name === "convolution");
  const cells = await texts(line("convolution").locator("td"));
  near(seconds(cells[1].replace(/ a sample$/, "").split(/(?<=s)(?=\d)/)[0]), type.a.time_s, "first");
  assert.match(cells.at(-1), /TFLOP\/s, [\d.]+ GB\/s, 4\.00 times the FLOP/, "what the second reached");
  assert.match(await section.locator(".lead").textContent(), /a sample takes/, "batches differ");
  // A type opens its rows; a search finds others; all can be reached.
  await line("convolution").click();
  assert.equal(await section.locator("input").evaluate((field) => field.value), "type:convolution");
  await section.locator("input").fill("");
  const button = section.locator("button.more");
  while (await button.isVisible()) await button.click();
  assert.equal(await section.locator("tbody tr").count(), rows.length);
  await section.locator("input").fill("bn1");
  await section.locator("th[data-key=ratio] button").click();
  const ratios = (await texts(section.locator("td[data-key=ratio]"))).map(parseFloat);
  assert.deepEqual(ratios, [...ratios].sort((a, b) => b - a));
  await section.locator("tbody tr").first().click();
  const detail = await page.locator(".detail").textContent();
  assert.ok(detail.includes("resnet50-b32-fp32") && detail.includes("resnet50-b128-fp32"), detail);
  assert.match(detail, /forward: time/);
  quiet(page);
  await page.close();
});

test("a table that scrolls makes only the rows that come into sight", async () => {
  const page = await open("r.html");
  const section = await view(page, "layers");
  const made = await page.evaluate(async () => {
    const scroller = document.querySelector("#layers .scroller");
    const body = scroller.querySelector(".body");
    let added = 0;
    new MutationObserver((changes) => changes.forEach((change) => (added += change.addedNodes.length))).observe(body, { childList: true });
    const frame = () => new Promise(requestAnimationFrame);
    for (let i = 1; i <= 20; i++) {
      scroller.scrollTop = i * 27;
      await frame();
      await frame();
    }
    return added;
  });
  assert.ok(made <= 24, `${made} rows for 20 that came`);
  const places = await section.locator(".body .row").evaluateAll((all) => all.map((row) => Number(row.dataset.at)));
  assert.deepEqual(places, [...places].sort((a, b) => a - b), "in their order");
  quiet(page);
  await page.close();
});

test("the keyboard reaches spots, tiles and layers, and a chart is one stop", async () => {
  const page = await open("r.html");
  for (const [id, mark, most] of [["roofline", ".spot", 4], ["time", ".tile", 1], ["network", ".node-group", 1]]) {
    const section = await view(page, id);
    assert.equal(await stops(section), most, id);
    await section.locator(`${mark}[tabindex='0']`).first().focus();
    const first = await focused(page);
    assert.ok(first.length > 3, `${id}: ${first}`);
    for (const key of ["ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
    assert.notEqual(await focused(page), first, id);
    assert.ok(await page.locator("#tip").isVisible(), `${id}: a tip`);
    await page.keyboard.press("Enter");
    assert.match(page.url(), /layer=/, id);
    await page.keyboard.press("Enter");
  }
  quiet(page);
  await page.close();
});

test("the network can be searched and zoomed, and says the shapes", async () => {
  strata("show", "bert_base", "--json", "b.json", "--html", "b.html");
  const page = await open("b.html");
  const section = await view(page, "network");
  const { layers } = json("b.json");
  const layer = layers.find((each) => each.name.includes("layer.3") && each.op === "linear");
  const names = await texts(section.locator(".node-group"));
  assert.ok(names.some((name) => /\b3\./.test(name)), "the number of the layer stays");
  assert.ok((await texts(section.locator(".shape"))).includes(layer.output_shape.join("×")));
  await section.locator("input[type=search]").fill("layer.3. linear");
  const found = layers.filter((each) => each.name.includes("layer.3.") && each.op === "linear").length;
  assert.equal(await section.locator(".node-group:not(.aside)").count(), found);
  const width = () => section.locator(".graph svg").evaluate((svg) => svg.getBoundingClientRect().width);
  const before = await width();
  await section.locator("button[aria-label=larger]").click();
  assert.ok((await width()) > 1.2 * before);
  quiet(page);
  await page.close();
});

test("a measured page names changes in the order of the terminal: TF32 first", async () => {
  strata("explain", measured(32), "--json", "e.json");
  strata("report", measured(32), "--out", "m.html");
  const own = json("e.json").what_ifs.filter((each) => each.by === "user" && each.gain_s > 0);
  assert.deepEqual(own.map((each) => each.change).slice(0, 2), ["tf32", "bf16"]);
  const page = await open("m.html");
  const shown = await texts(page.locator("#summary .gains .what"));
  assert.deepEqual(shown.slice(0, 2), ["TF32 for products", "bf16 instead"]);
  quiet(page);
  await page.close();
});

test("a recording shows what the terminal prints of it", async () => {
  strata("trace", `${root}examples/traces/event-sync.json`, "--json", "t.json", "--html", "t.html");
  const { processes, kernels } = json("t.json");
  const [process] = processes;
  assert.equal(kernels.length, process.launches);
  const page = await open("t.html");
  const advice = process.findings.filter((each) => each.cost_s > 0).map((each) => each.advice);
  assert.deepEqual(await texts(page.locator("#summary .gains .how")), advice.slice(0, 3), "what can be changed");
  const section = await view(page, "recording");
  const rows = (title) =>
    section.evaluate(
      (element, given) => {
        const heads = [...element.querySelectorAll("h3")].filter((head) => head.textContent.startsWith(given));
        return [...heads[0].nextElementSibling.querySelectorAll("tbody tr")].map((row) =>
          Object.fromEntries([...row.cells].map((cell) => [cell.dataset.key, cell.textContent.trim()])),
        );
      },
      title,
    );
  const shown = await rows("Kernels");
  assert.equal(shown.length, process.kernels.length);
  shown.forEach((row, i) => {
    near(seconds(row.time_s), process.kernels[i].time_s, row.name);
    assert.equal(Number(row.calls), process.kernels[i].calls);
    assert.equal(row.grid.split("×")[0], String(process.kernels[i].grid[0]));
  });
  assert.equal((await rows("Calls")).length, process.calls.length);
  assert.equal((await rows("Classes")).length, process.classes.length);
  const share = (100 * process.classes[0].time_s) / process.kernel_time_s;
  assert.equal((await rows("Classes"))[0].share, `${Math.round(share)} %`, "as the terminal has it");
  for (const cause of Object.keys(process.devices[0].idle_s).filter((each) => process.devices[0].idle_s[each] > 0))
    assert.ok((await section.textContent()).includes(`idle: ${cause}`), cause);
  // When each kernel ran is known, and findings have their cost and advice.
  const timeline = await view(page, "timeline");
  assert.ok(!(await timeline.textContent()).includes("does not say when"));
  const findings = await view(page, "findings");
  assert.equal(await findings.locator("[data-code]").count(), process.findings.length);
  assert.match(await findings.textContent(), /of the step/);
  assert.ok(sum(kernels, "time_s") > 0 && kernels.every((kernel) => kernel.begin_s >= 0));
  quiet(page);
  await page.close();
});

test("every roof of a machine has its name, and its colours are those of the figures", async () => {
  strata("machine", "show", "h200", "--json", "h.json", "--html", "h.html");
  const page = await open("h.html");
  const section = await view(page, "machine");
  const names = (await texts(section.locator(".roof-name"))).join("; ");
  for (const { dtype, unit } of json("h.json").peaks) assert.ok(names.includes(`${dtype} ${unit}`), `${dtype} ${unit}`);
  const palette = JSON.parse(readFileSync(`${root}web/src/palette.json`, "utf8"));
  for (const [scheme, colors] of [["light", palette.light], ["dark", palette.dark]]) {
    await page.emulateMedia({ colorScheme: scheme });
    const shown = await page.evaluate(() =>
      Array.from({ length: 16 }, (_, i) => getComputedStyle(document.documentElement).getPropertyValue(`--c${i}`).trim()),
    );
    assert.deepEqual(shown, colors);
  }
  quiet(page);
  await page.close();
});
