// SPDX-License-Identifier: Apache-2.0
// Pages of documents that are no profiles, and what profiles carry besides: findings, comparisons, machines, studies,
// lists, and the kernels of a measured iteration.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, test } from "node:test";
import { end, folder, json, open, picture, strata, view } from "./browser.mjs";
import { near, quiet, seconds, texts } from "./checks.mjs";

after(end);

/// What a column of a table that sorts shows.
const column = (section, key) => texts(section.locator(`tbody td[data-key=${key}]`));

const machine = ["--on", "rtx-2080-ti"];
strata("predict", "alexnet", ...machine, "--json", "a.json");
strata("predict", "alexnet", ...machine, "--batch", "64", "--json", "b.json");

test("findings have evidence, cost, advice and what-ifs", async () => {
  strata("explain", "a.json", "--json", "e.json", "--html", "e.html");
  const { findings, what_ifs } = json("e.json");
  const page = await open("e.html", { scheme: "dark" });
  const section = await view(page, "findings");
  const items = section.locator("ol.findings > li");
  assert.equal(await items.count(), findings.length);
  for (const [at, finding] of findings.entries()) {
    const item = items.nth(at);
    assert.equal(await item.getAttribute("data-code"), finding.code);
    const text = await item.textContent();
    assert.ok(text.includes(finding.what) && text.includes(finding.advice), finding.code);
    assert.equal(await item.locator("dl.evidence > div").count(), finding.evidence.length);
    for (const { change } of finding.what_ifs) assert.ok(text.includes(change), change);
  }
  const times = await texts(section.locator("table.what-if-table tbody td:nth-child(2)"));
  what_ifs.forEach(({ time_s }, at) => time_s !== null && near(seconds(times[at]), time_s, "time with a change"));
  // A prediction that is made again has what happens when, although its file does not say.
  await view(page, "memory");
  await view(page, "network");
  assert.ok(!(await page.locator("#timeline").textContent()).includes("end to end"));
  await picture(page, "findings-dark");
  quiet(page);
  await page.close();
});

test("a comparison shows the differences that its JSON has, and both profiles behind it", async () => {
  strata("compare", "a.json", "b.json", "--json", "c.json", "--html", "c.html");
  const { rows, totals } = json("c.json");
  const page = await open("c.html");
  assert.equal(await page.locator("[role=tab][aria-selected=true]").textContent(), "Compare", "the table is the answer");
  await view(page, "summary");
  const cards = await texts(page.locator("#summary .cards strong"));
  near(parseFloat(cards[0]), totals.ratio, "ratio");
  const section = await view(page, "compare");
  const types = new Set(rows.map((row) => row.op));
  const shownTypes = await texts(section.locator("tbody tr td[data-key=name]"));
  assert.deepEqual(new Set(shownTypes.filter((name) => name !== "between kernels")), types, "by type first");
  const most = Math.max(...rows.map((row) => Math.abs(row.difference_s)));
  await section.locator("select[aria-label=by]").selectOption("row");
  const first = await texts(section.locator("tbody tr").first().locator("td"));
  near(seconds(first[4].replace(/^[+−]/, "")), most, "largest difference");
  await section.locator("select[aria-label=by]").selectOption("block");
  assert.ok(page.url().includes("cmpby=block"));
  assert.equal(await section.locator("tbody tr").count(), new Set(rows.map((row) => row.block)).size);
  await page.locator("header select").selectOption("2");
  await view(page, "summary");
  near(
    seconds(await page.locator("#summary .cards strong").first().textContent()),
    json("b.json").expected.time_s,
    "time of the second",
  );
  quiet(page);
  await page.close();
  strata("report", "c.json", "e.json", "-o", "stored.html");
  const stored = await open("stored.html");
  await view(stored, "compare");
  await stored.locator("header select").selectOption("1");
  await view(stored, "findings");
  quiet(stored);
  await stored.close();
});

test("a machine has a roof for every peak and every number with its source", async () => {
  strata("machine", "show", "h200", "--json", "h200.json", "--html", "h200.html");
  const { peaks, memory } = json("h200.json");
  const page = await open("h200.html", { width: 800 });
  const section = await view(page, "machine");
  assert.equal(await section.locator("path.roof").count(), peaks.length);
  assert.equal(
    await section.locator("path.line").count(),
    memory.filter((level) => level.bandwidth_bytes_per_s).length,
  );
  const lines = await texts(section.locator("table.numbers tbody tr"));
  for (const peak of peaks)
    assert.ok(lines.some((line) => line.includes(`peaks, ${peak.dtype} ${peak.unit}`) && line.includes(peak.source.slice(0, 40))));
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  quiet(page);
  await page.close();
  strata("machine", "diff", "v100", "h200", "--json", "d.json", "--html", "d.html");
  const diff = await open("d.html");
  const rows = await (await view(diff, "machines")).locator("tbody tr").count();
  assert.equal(rows, json("d.json").numbers.length);
  assert.equal(await diff.locator("header option").count(), 3);
  quiet(diff);
  await diff.close();
});

test("several machines that are stored are the same page again", async () => {
  strata("predict", "resnet18", "--on", "h200,l40s", "--price", "3,1", "--json", "mc.json", "--html", "mc.html");
  const { machines } = json("mc.json");
  strata("report", "mc.json", "-o", "stored_mc.html");
  for (const file of ["mc.html", "stored_mc.html"]) {
    const page = await open(file);
    assert.equal(await page.locator("#summary tbody tr").count(), machines.length);
    assert.equal(await (await view(page, "lists")).locator("tbody tr").count(), machines.length);
    quiet(page);
    await page.close();
  }
});

test("a study has its verdicts and its figures", async () => {
  strata("reproduce", "roofline", "--json", "r.json", "--html", "r.html");
  const { findings } = json("r.json");
  const page = await open("r.html");
  const section = await view(page, "study-roofline");
  assert.equal(await section.locator("tbody tr").count(), findings.length);
  await section.locator("select").selectOption("does_not_hold");
  const failed = findings.filter((each) => each.verdict === "does_not_hold");
  assert.deepEqual(
    await column(section, "what"),
    failed.map((each) => each.what),
  );
  await section.locator("th[data-key=what] button").click();
  assert.ok(page.url().includes("sort-roofline=what"));
  assert.deepEqual(
    await column(section, "what"),
    failed.map((each) => each.what).sort((a, b) => a.localeCompare(b)),
  );
  const figures = section;
  assert.ok((await figures.locator("figure.paper").count()) >= 9);
  await figures.locator("img").first().evaluate((image) => image.decode());
  assert.ok((await figures.locator("img").first().evaluate((image) => image.naturalWidth)) > 300);
  await figures.locator("figure.paper button").first().click();
  assert.match(await page.savedFile(), /^roofline-.*\.csv$/);
  await picture(page, "study");
  quiet(page);
  await page.close();
});

test("several studies begin with a table of how many statements hold, which leads to each", async () => {
  const verdicts = ["holds", "holds", "does_not_hold", "not_judged", "not_printed"];
  const study = (name) => ({ name, title: `Title of ${name}`, published: "2001, paper", basis: "measured on it", rule: "as it says" });
  const counts = { claims: 2, statements: 4, printed: 3, held: 2, not_held: 1, not_judged: 1 };
  const measured = { measured_on: "a device", measured_held: 0, measured_not_held: 1, measured_not_judged: 3, by_neither: 1 };
  const apart = [{ why: "kernels of ours", claims: 1, statements: 1, printed: 1, held: 1, not_held: 0, not_judged: 0 }];
  const findings = ["first", "second"].flatMap((name) =>
    verdicts.map((verdict, at) => ({
      study: name,
      observation: String(at),
      network: "net",
      what: `statement ${at} of ${name}`,
      printed: verdict === "not_printed" ? "" : "1",
      found: "2",
      is_printed: at < 3,
      holds: at < 2,
      verdict,
      rule: "holds above 1",
      reason: `because ${at}`,
      note: `holds above 1; because ${at}`,
    })),
  );
  writeFileSync(
    join(folder, "all.json"),
    JSON.stringify({
      schema_version: 1,
      kind: "reproduction",
      studies: [
        { ...study("first"), ...counts },
        { ...study("second"), ...counts, ...measured, apart },
        { name: "third", reason: "no results ship" },
      ],
      findings,
      provenance: { strata_version: "0", command: "strata reproduce all" },
    }),
  );
  strata("report", "all.json", "-o", "all.html");
  const page = await open("all.html", { width: 500 });
  const rows = (await view(page, "summary")).locator("table.studies tbody tr");
  const lines = [];
  for (let at = 0; at < (await rows.count()); ++at) lines.push((await texts(rows.nth(at).locator("td"))).slice(0, 5));
  assert.deepEqual(lines, [
    ["first", "4", "2", "1", "1"],
    ["second", "4", "2", "1", "1"],
    ["second", "4", "0", "1", "3"],
    ["third", "–", "–", "–", "–"],
  ]);
  assert.match(await page.locator("#summary .lead").textContent(), /^4 of 8 published statements hold in 3 studies/);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await picture(page, "studies-narrow");
  await page.locator("table.studies a").nth(1).click();
  const second = page.locator("#study-second");
  await second.locator("tbody tr").first().waitFor();
  assert.deepEqual(await texts(second.locator("p.counts")), [
    "2 claims in 4 rows: as predicted 2 yes, 1 no, 1 cannot be judged; as measured on a device 0 yes, 1 no, 3 cannot be judged; by neither 1.",
    "Apart, 1 claim in 1 row: 1 yes, 0 no, 0 cannot be judged (kernels of ours).",
  ]);
  assert.equal(await second.locator("tbody tr").count(), verdicts.length);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "second");
  assert.deepEqual(await column(second, "reason"), verdicts.map((_, at) => `because ${at}`));
  assert.equal((await column(second, "verdict"))[3], "cannot be judged");
  quiet(page);
  await page.close();
});

test("what a paper prints is drawn into the figures", async () => {
  strata("reproduce", "capture", "--html", "printed.html");
  const page = await open("printed.html", { scheme: "dark" });
  const section = await view(page, "study-capture");
  // Counts and the first figure come before the rows.
  assert.match(await section.locator("p.counts").textContent(), /^\d+ claims in \d+ rows: \d+ yes, \d+ no, \d+ cannot be judged\.$/);
  assert.ok(
    await section.evaluate(
      (each) => each.querySelector("figure.paper").compareDocumentPosition(each.querySelector("table")) & Node.DOCUMENT_POSITION_FOLLOWING,
    ),
  );
  const image = section.locator("figure[data-figure=capture-launches] img");
  const source = decodeURIComponent(await image.getAttribute("src"));
  assert.ok(source.includes("printed in the paper</text>"), "in the legend");
  await image.evaluate((each) => each.scrollIntoView());
  await picture(page, "printed-dark");
  quiet(page);
  await page.close();
});

test("lists can be searched", async () => {
  strata("list", "networks", "--json", "l.json", "--html", "l.html");
  const { networks } = json("l.json");
  const page = await open("l.html");
  const section = await view(page, "lists");
  assert.equal(await section.locator("tbody tr").count(), networks.length);
  await section.locator("input").fill("resnet");
  const expected = networks.filter((each) => JSON.stringify(each).toLowerCase().includes("resnet")).length;
  const shown = await section.locator("tbody tr").count();
  assert.ok(shown > 0 && shown <= expected, `${shown} of ${expected}`);
  assert.ok(page.url().includes("find=resnet"));
  quiet(page);
  await page.close();
});

test("counters and kernels are tables that sort, and a chosen layer has its own kernels", async () => {
  const file = fileURLToPath(
    new URL("../../data/profiles/nvidia-h200/training/alexnet_caffe-b32-fp32.json", import.meta.url),
  );
  const { layers, kernels, counters: counted } = JSON.parse(readFileSync(file, "utf8"));
  strata("report", file, "-o", "counted.html");
  const page = await open("counted.html", { width: 1500 });
  const counters = await view(page, "counters");
  const longest = [...layers].sort((a, b) => b.time_s - a.time_s);
  assert.equal((await column(counters, "layer")).length, layers.length);
  assert.equal((await column(counters, "layer"))[0], longest[0].layer);
  const occupancy = parseFloat((await column(counters, "occupancy"))[0]); // per cent, whole from ten on
  assert.ok(Math.abs(occupancy - 100 * longest[0].counters.occupancy) <= 0.5, `occupancy ${occupancy}`);
  await picture(page, "counters");
  await counters.locator("th[data-key=dram_read_bytes] button").click();
  assert.ok(page.url().includes("countersort=-dram_read_bytes"));
  const most = [...layers].sort((a, b) => b.counters.dram_read_bytes - a.counters.dram_read_bytes)[0];
  assert.equal((await column(counters, "layer"))[0], most.layer);
  assert.equal((await column(counters, "pass"))[0], most.pass);
  await counters.locator("select").selectOption("stalls");
  const stalls = counted.columns.filter(({ key }) => /^stall_|_per_issue$/.test(key)).length;
  assert.equal(await counters.locator("thead th").count(), 4 + stalls);
  await counters.locator("select").selectOption("all");
  assert.equal(await counters.locator("thead th").count(), 4 + counted.columns.length);

  const table = await view(page, "kernels");
  const different = new Set(kernels.map(({ name, layer, pass }) => JSON.stringify([name, layer, pass])));
  assert.equal((await column(table, "kernel")).length, different.size);
  await view(page, "counters");
  await counters.locator("tbody tr").first().click();
  await view(page, "kernels");
  const own = kernels.filter(({ layer }) => layer === most.layer);
  assert.deepEqual(new Set(await column(table, "layer")), new Set([most.layer]));
  const launches = (await column(table, "calls")).map(Number);
  assert.equal(
    launches.reduce((all, each) => all + each, 0),
    own.length,
  );
  await table.locator("th[data-key=pass] button").click();
  const passes = await column(table, "pass");
  assert.deepEqual(passes, [...passes].sort());
  await picture(page, "kernels");
  quiet(page);
  await page.close();
});

test("rooflines show what was counted closed and the definition open", async () => {
  const page = await open("counted.html");
  const section = await view(page, "roofline");
  for (const at of [0, 1]) {
    const figure = section.locator("figure").nth(at);
    const closed = await figure.locator("circle.spot:not(.open)").count();
    assert.ok(closed > 0);
    assert.equal(await figure.locator("circle.spot.open").count(), closed);
  }
  assert.match(await section.textContent(), /closed as counted, open by definition/);
  await picture(page, "counted-roofline");
  quiet(page);
  await page.close();
});

test("kernels of a measured iteration are shown when they ran", async () => {
  const kernel = (name, begin_s, time_s) => ({ name, layer: "a", pass: "forward", begin_s, time_s });
  const row = { layer: "a", pass: "forward", op: "relu", time_s: 0.003, flop: 10, launches: 3 };
  writeFileSync(
    join(folder, "k.json"),
    JSON.stringify({
      schema_version: 1,
      kind: "measurement",
      evidence: "measured",
      model: { name: "net" },
      layers: [{ ...row, traffic_in_bytes: 1, traffic_out_bytes: 1 }],
      kernels: [kernel("<b>first", 1, 0.001), kernel("second", 1.002, 0.001), kernel("beside", 1.0025, 0.001)],
    }),
  );
  strata("report", "k.json", "-o", "k.html");
  const page = await open("k.html");
  const kernels = await view(page, "kernels"); // made before what is below it is measured
  assert.equal(await kernels.locator("tbody tr").count(), 3);
  const section = await view(page, "timeline");
  assert.match(await section.textContent(), /3 kernels of one iteration.* 1\.00 ms together, none ran/);
  const box = await section.locator("canvas").first().boundingBox();
  await page.mouse.move(box.x + 104, box.y + 17);
  assert.equal(await page.locator("#tip strong").textContent(), "<b>first");
  assert.equal(Math.round((box.height - 26) / 34), 3); // kernels, those beside them, gaps
  quiet(page);
  await page.close();
});
