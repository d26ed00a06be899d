// SPDX-License-Identifier: Apache-2.0
// Pages of all other results: sweeps, convolutions, comparisons, networks; with hostile names, without times, and with
// very many rows.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { end, folder, json, open, picture, strata, strataWithoutLibraries, view } from "./browser.mjs";
import { near, quiet, seconds, texts } from "./checks.mjs";

after(end);

strata(
  "predict",
  "resnet50",
  "--on",
  "rtx-2080-ti",
  "--capacity",
  "128MiB",
  "--json",
  "large.json",
  "--html",
  "large.html",
);
strata("predict", "resnet50", "--on", "rtx-2080-ti", "--capacity", "64MiB", "--json", "small.json");
const profile = json("large.json");

/// Rows that nothing beats in both goals, one by one.
function frontByForce(points, lessOf, moreOf) {
  return points.filter(
    (a) =>
      !points.some(
        (b) =>
          b[lessOf] <= a[lessOf] &&
          b[moreOf] >= a[moreOf] &&
          (b[lessOf] < a[lessOf] || b[moreOf] > a[moreOf]),
      ),
  );
}

test("a sweep shows its lines, its map, its front, and the chosen point", async () => {
  strata(
    "sweep",
    "alexnet",
    "lenet5",
    "--on",
    "rtx-2080-ti",
    "--capacity",
    "24MiB:104MiB:8MiB",
    "--batch",
    "16,32",
    "--csv",
    "points.csv",
    "--html",
    "sweep.html",
  );
  const [head, ...lines] = readFileSync(join(folder, "points.csv"), "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split(","));
  const points = lines.map((line) =>
    Object.fromEntries(
      head.map((key, i) => [key, isNaN(line[i]) || line[i] === "" ? line[i] : Number(line[i])]),
    ),
  );
  const page = await open("sweep.html");
  const section = await view(page, "sweep");
  await section.locator("path.line").nth(4 + 2 - 1).waitFor(); // lines first, then fronts, in slices of time
  assert.equal(await section.locator("path.line").count(), 4 + 2);
  assert.equal(await section.locator("rect.heat").count(), 2 * 11); // two batches of one network
  await section.locator("select[aria-label=network]").selectOption("lenet5");
  assert.equal(await section.locator("path.line").count(), 2 + 2);
  const fronts = ["alexnet", "lenet5"].flatMap((model) =>
    frontByForce(
      points.filter((point) => point.model === model),
      "capacity_bytes",
      "samples_per_s",
    ),
  );
  const shown = await section
    .locator("circle.on-front")
    .evaluateAll((dots) => dots.map((dot) => Number(dot.dataset.row)));
  const speeds = (rows) =>
    new Set(rows.map((point) => `${point.model} ${point.capacity_bytes} ${point.samples_per_s}`));
  assert.deepEqual(speeds(shown.map((row) => points[row])), speeds(fronts));
  const dot = section.locator("circle.on-front").last();
  await dot.click();
  const row = points[Number(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("point"))];
  near(seconds(await section.locator("dd[data-key=time_s]").textContent()), row.time_s, "time of the point");
  await picture(page, "sweep");
  quiet(page);
  await page.close();
});

test("points of a sweep that are out of memory are hollow and on no front", async () => {
  strata(
    "sweep",
    "resnet50",
    "--on",
    "l4,h200",
    "--batch",
    "64:1024:x2",
    "--no-limit",
    "--jsonl",
    "memory.jsonl",
    "--html",
    "memory.html",
  );
  const points = readFileSync(join(folder, "memory.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter((line) => "expected_s" in line);
  const tooLarge = points.filter((point) => point.fits === 0);
  assert.ok(tooLarge.length > 0 && tooLarge.length < points.length);
  const page = await open("memory.html");
  const section = await view(page, "sweep");
  const rowsOf = (which) =>
    section.locator(which).evaluateAll((all) => all.map((each) => Number(each.dataset.row)).sort((a, b) => a - b));
  const expected = points.flatMap((point, row) => (point.fits === 0 ? [row] : []));
  assert.deepEqual(await rowsOf("circle.dot.hollow"), expected);
  assert.deepEqual(await rowsOf("rect.heat.hollow"), expected);
  assert.deepEqual(await rowsOf("circle.hollow:not(.dot)"), expected);
  for (const row of await rowsOf("circle.on-front")) assert.ok(!expected.includes(row));
  assert.ok((await texts(section.locator(".legend li"))).includes("out of memory"));
  await section.locator("circle.dot.hollow").first().hover();
  assert.match(await page.locator("#tip").textContent(), /out of memory/);
  quiet(page);
  await page.close();
});

test("convolutions show the fastest of each point and why others are missing", async () => {
  strata(
    "conv",
    "--base",
    "2,12,4,3,1",
    "--sweep",
    "k=2:4",
    "--strategies",
    "direct,unroll,winograd2",
    "--samples",
    "1",
    "--json",
    "conv.json",
  );
  const results = json("conv.json");
  strata("report", "conv.json", "-o", "conv.html");
  const page = await open("conv.html");
  const section = await view(page, "convolutions");
  const shown = await texts(section.locator("td.best"));
  const { fastest } = results.advice[0]; // on a busy machine some points are not clear
  const clear = results.series[0].points.filter((_, at) => fastest[at].is_clear);
  assert.equal(shown.length, clear.length);
  clear.forEach((point, at) => {
    const own = results.cells.filter(
      (cell) => cell.time_s !== undefined && JSON.stringify(cell.shape) === JSON.stringify(point.shape),
    );
    near(seconds(shown[at]), Math.min(...own.map((cell) => cell.time_s)), `fastest at ${point.label}`);
  });
  const refused = results.cells.find((cell) => cell.reason !== undefined);
  assert.ok(
    (await section.locator("details li").allTextContents()).some((line) => line.includes(refused.reason)),
    refused.reason,
  );
  quiet(page);
  await page.close();
});

test("convolutions of a busy machine say so and mark no winner", async () => {
  strata("conv", "--base", "2,12,4,3,1", "--sweep", "k=2:4", "--strategies", "direct,unroll", "--json", "quiet.json");
  const results = json("quiet.json");
  for (const cell of results.cells) {
    if (cell.time_s === undefined) continue;
    cell.samples_s = [0.001, 0.004, 0.016];
    cell.others_share = 0.85;
  }
  writeFileSync(join(folder, "busy-samples.json"), JSON.stringify(results));
  strata("conv", "--from", "busy-samples.json", "--json", "busy.json", "--html", "busy.html");
  const page = await open("busy.html");
  const section = await view(page, "convolutions");
  assert.equal(await section.locator("td.best").count(), 0);
  const shown = await texts(page.locator("p.note"));
  assert.equal(new Set(shown).size, shown.length, "each warning once");
  const notes = (await texts(section.locator("p.note"))).join(" ").replaceAll("\u00a0", " ");
  assert.equal(notes.match(/scatter by more than/g).length, 1);
  assert.match(notes, /other programs had 85 % of the time/);
  assert.match(notes, /scatter by more than ± 10 %/);
  assert.match((await texts(section.locator("p.advice"))).join(" "), /no advice/);
  assert.match((await texts(section.locator("td.n"))).join(" "), /4\.00 ms ± 188 %/);
  quiet(page);
  await page.close();
});

test("two profiles are compared, the largest difference first", async () => {
  strata("report", "large.json", "small.json", "-o", "both.html");
  const other = json("small.json");
  const times = new Map();
  for (const [side, document] of [profile, other].entries())
    for (const row of document.layers) {
      const key = `${row.layer} ${row.pass}${row.op === "gradient_sum" ? " sum" : ""}`; // apart, as both results have them
      const pair = times.get(key) ?? [0, 0];
      pair[side] += row.time_s;
      times.set(key, pair);
    }
  const [name, [first, second]] = [...times].sort(
    (a, b) => Math.abs(b[1][1] - b[1][0]) - Math.abs(a[1][1] - a[1][0]),
  )[0];
  const page = await open("both.html", { width: 800 });
  const section = await view(page, "compare");
  // On-chip memory changes the limit, and nothing of what PyTorch is expected to take.
  near(
    seconds((await section.locator(".lead").textContent()).match(/takes ([\d.]+ m?s)/)[1]),
    other.expected.time_s,
    "expected time of the second",
  );
  await section.locator("select[aria-label=times]").selectOption("limit");
  await section.locator("select[aria-label=by]").selectOption("row");
  const top = await texts(section.locator("tbody tr").first().locator("td"));
  near(seconds(top[4].replace(/^[+−]/, "")), Math.abs(second - first), "largest difference");
  assert.ok(times.has(`${top[0]} ${top[1]}`), `${top[0]} ${top[1]}: ${name}`);
  await page.locator("header select").selectOption("1");
  await view(page, "summary");
  near(
    seconds(await page.locator("#summary .cards strong").first().textContent()),
    other.expected.time_s,
    "time of the other",
  );
  await picture(page, "compare-800");
  quiet(page);
  await page.close();
});

/// A profile of two layers, as another program might write it.
function written(file, rows) {
  writeFileSync(
    join(folder, file),
    JSON.stringify({
      schema_version: 1,
      kind: "measurement",
      evidence: "measured",
      model: { name: "net", dtype: "fp32" },
      machine: { name: "h100-sxm" },
      layers: rows,
    }),
  );
}

test("a backward pass in two parts is compared with one in one part", async () => {
  const row = (layer, pass, time_s) => ({
    layer,
    pass,
    op: "convolution",
    time_s,
    flop: 1000,
    traffic_in_bytes: 10,
    traffic_out_bytes: 10,
    launches: 1,
  });
  written("parts.json", [
    row("a", "forward", 0.001),
    row("a", "backward_input", 0.002),
    row("a", "backward_weight", 0.003),
  ]);
  written("whole.json", [
    row("a", "forward", 0.001),
    row("a", "backward", 0.009),
    row("b", "forward", 0.0005),
  ]);
  strata("report", "parts.json", "whole.json", "-o", "parts.html");
  const page = await open("parts.html");
  const section = await view(page, "compare");
  await section.locator("select[aria-label=by]").selectOption("row");
  const lines = await section
    .locator("tbody tr")
    .evaluateAll((rows) =>
      rows.map((each) => [...each.querySelectorAll("td")].slice(0, 6).map((cell) => cell.textContent)),
    );
  assert.deepEqual(lines, [
    ["a", "backward", "5.00 ms", "9.00 ms", "+4.00 ms", "1.80×"],
    ["b", "forward", "–", "500 µs", "+500 µs", "only second"],
    ["a", "forward", "1.00 ms", "1.00 ms", "0 s", "1.00×"],
  ]);
  quiet(page);
  await page.close();
});

test("what rounding leaves is no difference", async () => {
  const row = (layer, time_s) => ({ layer, pass: "forward", op: "relu", time_s, flop: 1, traffic_in_bytes: 1, traffic_out_bytes: 1, launches: 1 });
  written("sums.json", [row("a", 0.1 + 0.2), row("b", 1e-3)]);
  written("other_sums.json", [row("a", 0.3), row("b", 1e-3 + 1e-8)]);
  strata("report", "sums.json", "other_sums.json", "-o", "sums.html");
  const page = await open("sums.html");
  const section = await view(page, "compare");
  await section.locator("select[aria-label=by]").selectOption("row");
  assert.deepEqual(await texts(section.locator("tbody td[data-key=difference_s]")), ["+10.0 ns", "0 s"]);
  quiet(page);
  await page.close();
});

test("a profile without times shows what it has", async () => {
  written("counts.json", [
    {
      layer: "a",
      pass: "forward",
      op: "relu",
      flop: 100,
      traffic_in_bytes: 8,
      traffic_out_bytes: 8,
      launches: 1,
      l2_hit_share: 0.5,
    },
    {
      layer: "b",
      pass: "forward",
      op: "add",
      flop: 300,
      traffic_in_bytes: 8,
      traffic_out_bytes: 8,
      launches: 1,
      l2_hit_share: 0.25,
    },
  ]);
  strata("report", "counts.json", "-o", "counts.html");
  const page = await open("counts.html");
  assert.match(await page.locator("#summary .lead").textContent(), /They say no times/);
  await view(page, "layers");
  assert.equal(await page.locator("#timeline").count(), 0);
  const section = await view(page, "roofline");
  assert.equal(await section.locator("figure").count(), 1); // of the four, only complexity needs no time
  assert.equal(await section.locator("circle").count(), 2);
  await view(page, "time");
  assert.deepEqual(await texts(page.locator("#time .bar-value")), ["300 FLOP", "100 FLOP"]);
  quiet(page);
  await page.close();
});

const hostile = [
  "<img src=x onerror=alert(1)>",
  "</script><script>alert(2)</script>",
  "\"'><b>bold</b>&amp;",
  "שלום \u202Eright to left",
  "long".repeat(900),
  "__proto__",
  "<!--",
];

test("hostile names are shown as text", async () => {
  const rows = hostile.map((layer, i) => ({
    ...profile.layers[0],
    layer,
    block: hostile[(i + 1) % hostile.length],
    op: hostile[(i + 2) % hostile.length],
    cause: layer,
  }));
  const stalls = [{ value: hostile[0], kind: hostile[1], wait_s: 1e-3, steps: 2 }];
  writeFileSync(
    join(folder, "hostile.json"),
    JSON.stringify({ ...profile, model: { ...profile.model, title: hostile[1] }, stalls, layers: rows }),
  );
  strata("report", "hostile.json", "-o", "hostile.html", "--title", hostile[1]);
  const page = await open("hostile.html", { hash: `#layer=${encodeURIComponent(hostile[0])}&find=` });
  for (const id of ["layers", "time", "timeline", "roofline"]) await view(page, id);
  assert.equal(await page.locator("h1").textContent(), hostile[1]);
  assert.equal(await page.title(), hostile[1]);
  assert.equal(await page.locator("aside.detail strong").textContent(), hostile[0]);
  assert.equal(await page.locator("img, b, script:not([src]):not(:last-of-type)").count(), 0);
  const names = await texts(page.locator("#layers .body .row .cell:first-child"));
  assert.equal(names.length, hostile.length);
  for (const name of hostile.filter((each) => each.length < 40)) assert.ok(names.includes(name), name);
  assert.ok(
    await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
    "nothing is wider than the window",
  );
  await picture(page, "hostile");
  quiet(page);
  await page.close();
});

test(
  "a build without zlib writes the same page with plain data",
  { skip: strataWithoutLibraries === null },
  async () => {
    strataWithoutLibraries("report", "hostile.json", "-o", "plain-data.html");
    assert.ok(
      readFileSync(join(folder, "plain-data.html"), "utf8").includes('id="data" type="application/json"'),
    );
    const page = await open("plain-data.html");
    await view(page, "layers");
    assert.equal(await page.locator("#layers .body .row").count(), hostile.length);
    assert.equal(await page.locator("img, b").count(), 0);
    quiet(page);
    await page.close();
  },
);

/// What a step of scrolling takes when the machine is not busy with others.
async function scrollTime(page) {
  return page.evaluate(async () => {
    const scroller = document.querySelector("#layers .scroller");
    const times = [];
    for (let i = 1; i <= 16; i++) {
      scroller.scrollTop = (scroller.scrollHeight * i) / 16;
      // The table is drawn in the next frame, between what is asked for before it and after it.
      let start;
      requestAnimationFrame(() => (start = performance.now()));
      scroller.dispatchEvent(new Event("scroll"));
      await new Promise(requestAnimationFrame);
      times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[2];
  });
}

test("100,000 rows scroll, sort and filter at once", async () => {
  const layers = Array.from({ length: 100_000 }, (_, i) => ({
    layer: `layer${i}`,
    pass: "forward",
    op: `op${i % 7}`,
    block: `block${i % 500}`,
    class: "other",
    time_s: 1e-6 * ((i * 7919) % 100_003),
    flop: 1000 + i,
    traffic_in_bytes: i,
    traffic_out_bytes: 1,
    launches: 1,
  }));
  writeFileSync(
    join(folder, "many.json"),
    JSON.stringify({
      schema_version: 1,
      kind: "measurement",
      evidence: "measured",
      model: { name: "many" },
      layers,
    }),
  );
  strata("report", "many.json", "-o", "many.html");
  const page = await open("many.html");
  await view(page, "layers");
  assert.ok((await page.locator("#layers .body .row").count()) < 60);
  const few = await open("large.html");
  await view(few, "layers");
  const [usual, least] = [await scrollTime(page), await scrollTime(few)];
  assert.ok(usual < 4 * least, `a step of scrolling took ${usual} ms; of few rows, ${least} ms`);
  await few.close();
  assert.ok((await texts(page.locator("#layers .body .row .cell:first-child"))).includes("layer99999"));
  await page.locator("#layers input[type=search]").fill("layer99998");
  assert.equal(await page.locator("#layers .body .row").count(), 1);
  for (const id of ["time", "timeline"]) await view(page, id);
  assert.ok((await page.locator("#time .tile").count()) < 2000);
  await view(page, "summary");
  assert.match(
    await page.locator("#summary .note").textContent(),
    /no findings and no rooflines: the profile names no machine/,
  );
  quiet(page);
  await page.close();
});

test("a network alone, dark, narrow and on paper", async () => {
  strata("show", "resnet50", "--html", "network.html", "--json", "network.json");
  const page = await open("network.html", { width: 800, scheme: "dark" });
  const section = await view(page, "network");
  const { layers, totals } = json("network.json");
  assert.equal(await section.locator("rect.node").count(), layers.length);
  const edges = layers.flatMap((layer) =>
    layer.inputs.filter((input) => layers.some((other) => other.name === input)),
  );
  assert.equal(await section.locator("path.edge").count(), edges.length);
  assert.ok(
    (await page.locator("#summary .cards").textContent()).includes(
      `${(totals.parameters / 1e6).toFixed(1)} M`,
    ),
  );
  await picture(page, "network-dark-800");
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal(await page.locator(".tabs").isVisible(), false);
  assert.ok((await page.locator("#layers .body .row").count()) >= 80);
  quiet(page);
  await page.close();
});
