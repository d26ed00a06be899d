// SPDX-License-Identifier: Apache-2.0
// The page of a prediction, in a real browser: what they show is what the JSON says, views are linked, nothing is
// fetched, nothing is complained about, and names are only ever text.
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, test } from "node:test";
import { end, folder, json, open, picture, strata, view } from "./browser.mjs";
import { near, quiet, seconds, sum, texts } from "./checks.mjs";

after(end);

const machine = ["--on", "rtx-2080-ti", "--capacity", "128MiB"];
strata("predict", "resnet50", ...machine, "--json", "large.json", "--html", "large.html");
strata("predict", "resnet50", "--on", "rtx-2080-ti", "--capacity", "64MiB", "--json", "small.json");
strata("explain", "large.json", "--json", "explained.json");
const profile = json("large.json");
const measuredFile = fileURLToPath(
  new URL("../../data/profiles/nvidia-h200/training/resnet50-b32-fp32.json", import.meta.url),
);
const cells = (page, row, key) =>
  page.locator(`#layers .body .row`).nth(row).locator(`[data-key=${key}]`).textContent();

test("a page of ResNet-50 is small and opens in a second", async () => {
  assert.ok(statSync(join(folder, "large.html")).size < 2e6);
  const times = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    const page = await open("large.html");
    times.push(page.shown_ms);
    quiet(page);
    await page.close();
  }
  assert.ok(Math.min(...times) < 1000, `shown after ${times.join(", ")} ms`);
});

test("the summary says what the JSON says", async () => {
  const page = await open("large.html");
  const lead = await page.locator("#summary .lead").textContent();
  assert.match(lead, /ResNet-50 \(batch 32, fp32\)/);
  const title = await page.locator("h1").textContent();
  assert.equal(title, "ResNet-50, batch 32, fp32 on NVIDIA GeForce RTX 2080 Ti, predicted");
  assert.equal(await page.title(), title);
  const cards = await page
    .locator("#summary .cards > div")
    .evaluateAll((all) =>
      Object.fromEntries(
        all.map((card) => [card.querySelector("dt").textContent, card.querySelector("strong").textContent]),
      ),
    );
  const { expected } = profile;
  near(seconds(cards.expected), expected.time_s, "expected time");
  near(seconds(cards.limit), profile.totals.time_s, "limit");
  near(parseFloat(cards["samples per second"]), expected.samples_per_s, "samples per second");
  assert.ok(Math.abs(parseFloat(cards["GPU busy"]) - (100 * expected.busy_s) / expected.time_s) <= 0.5);
  near(parseFloat(cards.memory) * 2 ** 30, expected.memory_bytes, "memory");
  const widths = await page
    .locator("#summary .lost-bar > span")
    .evaluateAll((all) => all.map((piece) => parseFloat(piece.style.width)));
  near(
    widths.reduce((all, each) => all + each, 0),
    100,
    "what it is lost to, and the arithmetic",
  );
  near(widths[0], (100 * expected.arithmetic_s) / expected.time_s, "arithmetic");
  assert.equal(await page.locator("#summary .out-of-memory").count(), 0);
  near(seconds(cards["lower bound"]), profile.bounds.time_s, "bound");
  near(
    parseFloat(cards.traffic) * 1e9,
    profile.totals.traffic_in_bytes + profile.totals.traffic_out_bytes,
    "traffic",
  );
  const { what_ifs } = json("explained.json");
  const own = what_ifs.filter((each) => each.by === "user" && each.is_expected && each.gain_s > 0);
  const gains = (await texts(page.locator("#summary .gains .gain"))).map((text) => parseFloat(text.replace(/^.*−/, "")));
  assert.equal(gains.length, 3);
  assert.deepEqual(
    gains.slice(0, own.length).map(Math.round),
    own
      .map((each) => 100 * each.gain_share) // in the order of strata explain
      .slice(0, 3)
      .map((each) => Math.round(Number(each.toPrecision(2)))),
  );
  const chips = await texts(page.locator("#summary .chips li"));
  assert.ok(chips.length > 0 && chips.every((text) => /on-chip|bandwidth|arithmetic|^on /.test(text)), chips.join("; "));
  await picture(page, "summary");
  quiet(page);
  await page.close();
});

test("there is one total: the bar, the types and the rest add up to the iteration", async () => {
  strata("report", measuredFile, "-o", "measured.html");
  const measured = JSON.parse(readFileSync(measuredFile, "utf8"));
  for (const [file, total] of [
    ["large.html", profile.expected.time_s],
    ["measured.html", measured.totals.time_s],
  ]) {
    const page = await open(file);
    near(seconds(await page.locator("#summary .cards strong").first().textContent()), total, "headline");
    const parts = (await texts(page.locator("#summary .lost-parts .number:not(.dim)"))).map(seconds);
    near(parts.reduce((all, each) => all + each, 0), total, "the bar");
    const types = (await texts(page.locator("#summary .types .bar-value"))).map(seconds);
    near(types.reduce((all, each) => all + each, 0), total, "the types");
    const shares = (await texts(page.locator("#summary .types .bar-share"))).map(parseFloat);
    assert.ok(Math.abs(shares.reduce((all, each) => all + each, 0) - 100) < 2, shares.join(" "));
    await view(page, "time");
    const bars = (await texts(page.locator("#time .bar-value"))).map(seconds);
    near(bars.reduce((all, each) => all + each, 0), total, "the bars");
    quiet(page);
    await page.close();
  }
});

test("the first screen answers: bar, types, changes and the strip are in one window", async () => {
  for (const file of ["large.html", "measured.html"]) {
    const page = await open(file, { width: 1440, height: 900 });
    for (const part of [".lost-bar", ".types", ".gains", ".strip canvas"]) {
      const { y, height } = await page.locator(`#summary ${part}`).boundingBox();
      assert.ok(y > 0 && y + height <= 900, `${part} of ${file} ends at ${y + height}`);
    }
    await page.resize(390, 844);
    await page.waitForFunction(() => document.querySelector("#summary .strip canvas")?.clientWidth < 390);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    quiet(page);
    await page.close();
  }
});

test("what does not fit is said before everything else", async () => {
  strata("predict", "resnet18", "--batch", "4096", "--on", "l4", "--json", "oom.json", "--html", "oom.html");
  const { expected } = json("oom.json");
  assert.equal(expected.fits, false);
  const page = await open("oom.html");
  const text = await page.locator("#summary .view > *").first().textContent();
  assert.ok(text.startsWith("Out of memory"), text);
  assert.ok(text.includes(`The largest batch that fits is ${expected.largest_batch}.`), text);
  for (const { change } of expected.memory_changes) assert.ok(text.includes(change), change);
  await picture(page, "out-of-memory");
  quiet(page);
  await page.close();
});

test("rows have the expected time beside the limit", async () => {
  const page = await open("large.html");
  await view(page, "layers");
  const first = profile.layers[0];
  near(seconds(await cells(page, 0, "expected_s")), first.expected.busy_s, "expected time of a row");
  near(seconds(await cells(page, 0, "time_s")), first.time_s, "limit of a row");
  assert.equal(await page.locator("#layers .head [data-key=time_s]").textContent(), "limit");
  // The transfers of a limit overlap with other rows: no row is at a distance from its roof, above or below.
  assert.equal(await page.locator("#layers .head [data-key=distance]").count(), 0);
  assert.match(await page.locator("#layers .count").textContent(), /of launches and host belong to no row; in the order of the run/);
  quiet(page);
  await page.close();
});

test("the table sorts, filters, groups and adds up", async () => {
  const page = await open("large.html");
  await view(page, "layers");
  const slowest = [...profile.layers].sort((a, b) => b.time_s - a.time_s)[0];
  assert.match(await page.locator("#layers .count").textContent(), /a click on a heading sorts/);
  await page.locator("#layers .head [data-key=time_s] button").click();
  assert.doesNotMatch(await page.locator("#layers .count").textContent(), /heading sorts/);
  near(seconds(await cells(page, 0, "time_s")), slowest.time_s, "slowest row");
  await page.locator("#layers .head [data-key=time_s] button").click();
  assert.equal(
    await page.locator("#layers [data-key=time_s][aria-sort]").getAttribute("aria-sort"),
    "ascending",
  );

  await page.locator("#layers input[type=search]").fill("relu pass:backward");
  const relus = profile.layers.filter(
    (row) => row.pass === "backward" && `${row.layer} ${row.op} ${row.block}`.includes("relu"),
  );
  assert.ok(
    (await page.locator("#layers .count").textContent()).startsWith(
      `${relus.length} of ${profile.layers.length} rows`,
    ),
  );
  near(
    seconds((await page.locator("#layers .count").textContent()).match(/together ([^;]*)/)[1]),
    sum(
      relus.map((row) => row.expected),
      "busy_s",
    ),
    "sum of found rows",
  );

  await page.locator("#layers input[type=search]").fill("");
  await page.locator("#layers select[aria-label='group by']").selectOption("op");
  await page.locator("#layers .head [data-key=time_s] button").click();
  await page.locator("#layers .head [data-key=time_s] button").click();
  const groups = await page.locator("#layers .body .row.group").count();
  assert.equal(groups, new Set(profile.layers.map((row) => row.op)).size);
  near(seconds(await cells(page, 0, "time_s")), profile.by_type[0].time_s, "longest type");
  await page.locator("#layers .body .row.group").first().click();
  assert.ok((await page.locator("#layers .body .row.inside").count()) > 0);
  await picture(page, "table");

  await page.locator("#layers .columns summary").click();
  await page.locator("#layers .choices label", { hasText: /^launches$/ }).click();
  assert.equal(await page.locator("#layers .head [data-key=launches]").count(), 1);
  quiet(page);
  await page.close();
});

test("a measured row has the roof of its JSON, and shares are of the iteration", async () => {
  // A machine so slow that rows are near its roofs, and whose bandwidth differs with the mix of reading and writing.
  strata("machine", "show", "grace", "--json", "slow.json");
  const slow = json("slow.json");
  const memory = slow.memory.at(-1);
  memory.bandwidth_bytes_per_s = { value: 1e7, source: "made up" };
  memory.mixes = [
    { mix: "read", bytes_per_s: 1e7, source: "made up" },
    { mix: "write", bytes_per_s: 5e6, source: "made up" },
  ];
  writeFileSync(join(folder, "slow.json"), JSON.stringify(slow));
  strata(
    "measure",
    "lenet5",
    "--batch",
    "2",
    "--iterations",
    "1",
    "--on",
    "./slow.json",
    "--json",
    "m.json",
    "--html",
    "m.html",
  );
  const measured = json("m.json");
  const page = await open("m.html");
  await view(page, "layers");
  for (const [at, row] of measured.layers.slice(0, 12).entries())
    near(parseFloat(await cells(page, at, "distance")), row.time_s / row.roof_time_s, `${row.layer} from the roof`);
  const share = parseFloat(await cells(page, 0, "time_share"));
  assert.ok(Math.abs(share - (100 * measured.layers[0].time_s) / measured.totals.time_s) <= 0.6, `${share} %`);
  quiet(page);
  await page.close();
});

test("a layer that is pointed at or chosen is marked everywhere, and the address keeps it", async () => {
  const page = await open("large.html", { height: 3600 });
  for (const id of ["layers", "time", "timeline", "roofline", "network"]) await view(page, id);
  await view(page, "time");
  const tile = page.locator("#time .tile").first();
  await tile.hover();
  assert.ok((await page.locator("#roofline circle.hot").count()) >= 4);
  assert.equal(await page.locator("#network rect.hot").count(), 1);
  await tile.click();
  const layer = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("layer");
  assert.ok(
    profile.layers.some((row) => row.layer === layer),
    layer,
  );
  assert.equal(await page.locator("aside.detail strong").textContent(), layer);
  await view(page, "layers");
  await page.waitForFunction(() => document.querySelector("#layers .row.chosen") !== null);
  await picture(page, "linked");
  const hash = new URL(page.url()).hash.replace("layers", "time");
  quiet(page);
  await page.close();

  const again = await open("large.html", { hash });
  await view(again, "time");
  assert.equal(await again.locator("aside.detail strong").textContent(), layer);
  assert.equal(await again.locator("#time .tile.chosen").count(), 1);
  await again.locator("aside.detail .close").click();
  assert.ok(!again.url().includes("layer="));
  quiet(again);
  await again.close();
});

test("everything can be reached with the keyboard", async () => {
  const page = await open("large.html");
  await view(page, "layers");
  await page.locator("#layers .scroller").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("aside.detail strong").textContent(), profile.layers[2].layer);
  await page.keyboard.press("End");
  await page
    .locator("#layers .body .row", { hasText: profile.layers.at(-1).layer })
    .first()
    .waitFor();
  await view(page, "timeline");
  await page.locator("#timeline canvas").first().focus();
  await page.keyboard.press("+");
  await page.waitForFunction(() => location.hash.includes("span="));
  quiet(page);
  await page.close();
});

test("the timeline is drawn, zooms, and names what is waited for", async () => {
  const page = await open("large.html");
  await view(page, "timeline");
  const canvas = page.locator("#timeline canvas").first();
  const colors = await canvas.evaluate((element) => {
    const { data } = element.getContext("2d").getImageData(0, 0, element.width, element.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  assert.ok(colors > 5, `${colors} colours`);
  await page.locator("#timeline button", { hasText: "+" }).click();
  await page.waitForFunction(() => location.hash.includes("span="));
  await page.locator("#timeline button", { hasText: "all" }).click();
  await page.waitForFunction(() => !location.hash.includes("span="));
  const box = await canvas.boundingBox();
  await page.mouse.zoom(box.x + 400, box.y + 51, -500);
  await page.waitForFunction(() => location.hash.includes("span="));
  const span = () => new URLSearchParams(new URL(page.url()).hash.slice(1)).get("span").split("-").map(Number);
  const [from, to] = span();
  near(to - from, 0.5, "a turn of the wheel shows half");
  await page.mouse.drag(box.x + 400, box.y + 51, -200);
  const [movedFrom, movedTo] = span();
  assert.ok(movedFrom > from, "dragging to the left shows what is later");
  near(movedTo - movedFrom, to - from, "dragging keeps the length");
  assert.ok(!page.url().includes("layer="), "the end of a drag chooses nothing");
  await page.locator("#timeline button", { hasText: "all" }).click();
  await page.mouse.move(box.x + 100, box.y + 51);
  assert.equal(
    await page.locator("#tip strong").textContent(),
    `${profile.layers[0].layer} ${profile.layers[0].pass}`,
  );
  quiet(page);
  await page.close();
});

test("profiles of a swept parameter are joined in all four rooflines", async () => {
  strata(
    "roofline",
    "large.json",
    "small.json",
    "--by",
    "type",
    "--label",
    "capacity=128",
    "--label",
    "capacity=64",
    "--html",
    "tracks.html",
    "--json",
    "tracks.json",
  );
  const rows = json("tracks.json").profiles.map((series) => series.rows);
  const joined = rows[0].filter(
    (row) =>
      row.flop > 0 && row.bytes > 0 && rows[1].some((other) => other.name === row.name && other.bytes > 0),
  ).length;
  const page = await open("tracks.html");
  const section = await view(page, "roofline");
  for (let at = 0; at < 4; at++)
    assert.equal(await section.locator("figure").nth(at).locator("path.track").count(), joined);
  quiet(page);
  await page.close();
});

test("memory over time has its peak and the largest tensors there", async () => {
  const page = await open("large.html");
  const section = await view(page, "memory");
  const [limit, allocated] = await texts(section.locator(".roof-name"));
  near(parseFloat(limit.replace("the limit needs ", "")) * 2 ** 30, profile.totals.footprint_bytes, "limit");
  near(parseFloat(allocated.replace("pytorch-eager allocates ", "")) * 2 ** 30, profile.expected.memory_bytes, "memory");
  const said = await section.locator("p").first().textContent();
  assert.match(said, /^pytorch-eager allocates [\d.]+ GiB at its peak: that has to fit/);
  const sizes = (await texts(section.locator("tbody td:nth-child(3)"))).map(parseFloat);
  assert.equal(sizes.length, 50);
  await section.locator("tbody tr").first().hover();
  await picture(page, "memory");
  quiet(page);
  await page.close();
});

test("rooflines have a symbol for every row that has a place", async () => {
  strata("roofline", "large.json", "--json", "roofs.json");
  const rows = json("roofs.json").profiles[0].rows;
  const page = await open("large.html");
  const section = await view(page, "roofline");
  const figures = section.locator("figure");
  assert.equal(await figures.count(), 4);
  const placed = rows.filter((row) => row.flop > 0 && row.bytes > 0).length;
  assert.equal(await figures.nth(1).locator("circle").count(), placed);
  const one = rows.find((row) => row.name === "conv1 forward");
  await figures
    .nth(1)
    .locator("circle[data-name='conv1 forward']")
    .dispatchEvent("pointermove", { clientX: 300, clientY: 300 });
  const tip = await page.locator("#tip").textContent();
  assert.ok(tip.includes(one.bound) && tip.includes("conv1 forward"), tip);
  await section.locator("select[aria-label='colour by']").selectOption("bound");
  assert.deepEqual(
    new Set(await texts(section.locator(".legend li"))),
    new Set(rows.map((row) => row.bound)),
  );
  await picture(page, "rooflines");
  quiet(page);
  await page.close();
});
