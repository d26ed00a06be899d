// SPDX-License-Identifier: Apache-2.0
// Pages of training on many devices: the answer, the ranks over time, stages, strategies, beside what the JSON says.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { end, folder, json, open, picture, strata, view } from "./browser.mjs";
import { near, quiet, seconds, texts } from "./checks.mjs";

after(end);

const network = ["gpt2:layers=4", "--on", "2x4xh200", "--batch", "32", "--dtype", "bf16", "--optimizer", "adam"];
const staged = "dp=2,pp=4,micro=8,recompute=full,zero=1";
strata("predict", ...network, "--parallel", staged, "--json", "staged.json", "--html", "staged.html");
strata("predict", ...network, "--parallel", "auto", "--json", "auto.json", "--html", "auto.html");

const partsOf = ({ time, time_names }) => Object.entries(time).map(([key, time_s]) => [time_names[key], time_s]);

test("the summary says how long it takes, what it goes to, what it holds, and what to change", async () => {
  const document = json("staged.json");
  const page = await open("staged.html");
  const title = await page.locator("h1").textContent();
  for (const part of ["batch 32", "bf16", "optimizer adam on 8 NVIDIA H200", "(2 x 4)", document.strategy.text, "expected"])
    assert.ok(title.includes(part), `${part} in ${title}`);
  assert.equal(await page.title(), title);
  const cards = await texts(page.locator("#summary .cards dd strong"));
  near(seconds(cards[0]), document.expected.time_s, "expected");
  // The parts of the bar add up to the iteration.
  const lost = page.locator("#summary .lost").first();
  const shown = await texts(lost.locator(".lost-parts li"));
  let sum = 0;
  for (const [name, time_s] of partsOf(document)) {
    if (time_s <= 0.0005 * document.expected.time_s) continue;
    const line = shown.find((each) => each.startsWith(name));
    assert.ok(line, `${name} is in the bar`);
    near(seconds(line.slice(name.length).trim().replaceAll("\u00a0", " ").split(/\s+/).slice(0, 2).join(" ")), time_s, name);
    sum += time_s;
  }
  assert.ok(Math.abs(sum / document.expected.time_s - 1) < 0.01);
  const widths = await lost.locator(".lost-bar span").evaluateAll((all) => all.reduce((total, each) => total + parseFloat(each.style.width), 0));
  assert.ok(Math.abs(widths - (100 * sum) / document.expected.time_s) < 0.01, `${widths} % wide`);
  const memory = page.locator("#summary .memory-bar");
  assert.match(await memory.locator("h3").textContent(), /Memory of the fullest rank \(stage \d\)/);
  assert.equal(await memory.locator(".lost-parts li").count(), 5);
  const explained = json("explained.json");
  const gains = await texts(page.locator("#summary .gains .gain"));
  const own = explained.what_ifs.filter(({ by, gain_s }) => by === "user" && gain_s > 0);
  assert.equal(gains.length, Math.min(3, own.length));
  // Shown in whole percent.
  assert.ok(Math.abs(Number(gains[0].replace(/[^0-9.]/g, "")) - 100 * own[0].gain_share) <= 0.51, `the first gain: ${gains[0]}`);
  assert.ok(await page.locator("#summary .strip canvas").isVisible());
  await picture(page, "parallel-summary");
  quiet(page);
  await page.close();
});
strata("explain", ...network, "--parallel", staged, "--json", "explained.json");

/// In the page: of each lane of the timeline, the share of its area that has each of some colours.
function coloursOf(canvas, { lanes, colours }) {
  const [left, right, height, inset] = [98, 14, 34, 5];
  const width = canvas.width - left - right;
  const { data } = canvas.getContext("2d").getImageData(left, 0, width, lanes * height);
  const wanted = colours.map((colour) => {
    const value = getComputedStyle(document.documentElement).getPropertyValue(colour).trim();
    return [1, 3, 5].map((at) => parseInt(value.slice(at, at + 2), 16));
  });
  return Array.from({ length: lanes }, (_, lane) =>
    wanted.map((colour) => {
      let count = 0;
      for (let y = lane * height + inset; y < (lane + 1) * height - inset; y++)
        for (let x = 0; x < width; x++)
          if (colour.every((each, at) => Math.abs(data[4 * (y * width + x) + at] - each) < 4)) count++;
      return count / (width * (height - 2 * inset));
    }),
  );
}

/// Seconds of a key in a part of the iteration, from the document.
function secondsIn({ timeline }, stage, key, [from, to]) {
  const lane = timeline.lanes.find((each) => each.stage === stage && each.stream === "rank");
  const number = timeline.keys.indexOf(key);
  let sum = 0;
  lane.start_s.forEach((start, i) => {
    if (lane.key[i] === number) sum += Math.max(0, Math.min(lane.end_s[i], to) - Math.max(start, from));
  });
  return sum;
}

test("each stage is painted as long as it computes and waits, at every zoom", async () => {
  const document = json("staged.json");
  const end_s = document.timeline.end_s;
  for (const span of ["", "0.2-0.45"]) {
    const [from, to] = (span === "" ? [0, 1] : span.split("-").map(Number)).map((each) => each * end_s);
    const page = await open("staged.html", { hash: `#timeline${span === "" ? "" : `&span=${span}`}`, width: 1500 });
    const keys = { "--bubble": "bubble", "--c3": "backward", "--c5": "forward" };
    const colours = Object.keys(keys);
    const lanes = document.timeline.lanes.length;
    const shares = await page.locator("#timeline canvas").first().evaluate(coloursOf, { lanes, colours });
    document.timeline.lanes.forEach(({ stage, stream }, lane) => {
      if (stream !== "rank") return;
      colours.forEach((colour, at) => {
        const exact = secondsIn(document, stage, keys[colour], [from, to]) / (to - from);
        const painted = shares[lane][at];
        // Names and edges of slices are drawn on top: a name that fills its slice covers a fifth of it.
        assert.ok(painted <= exact + 0.02 && painted >= 0.75 * exact - 0.02, `${keys[colour]} of stage ${stage}, ${span || "all"}: ${painted} painted, ${exact} is true`);
      });
    });
    await picture(page, `parallel-timeline${span}`);
    quiet(page);
    await page.close();
  }
});

test("stages are a table that sorts and saves", async () => {
  const document = json("staged.json");
  const page = await open("staged.html", { hash: "#stages" });
  const section = page.locator("#stages");
  assert.equal(await section.locator("tbody tr").count(), document.stages.length);
  const bubbles = await texts(section.locator("td[data-key=bubble_s]"));
  document.stages.forEach((stage, at) => near(seconds(bubbles[at].replaceAll("\u00a0", " ")), stage.time.bubble_s, `bubble of stage ${at}`));
  await section.locator("th[data-key=memory_bytes] button").click();
  const order = await texts(section.locator("td[data-key=stage]"));
  const byMemory = [...document.stages].sort((a, b) => b.memory.total_bytes - a.memory.total_bytes).map(({ stage }) => String(stage));
  assert.deepEqual(order, byMemory);
  assert.equal(await section.locator(".saves button").count(), 1); // CSV
  quiet(page);
  await page.close();
});

test("strategies show the front, and why the others lose", async () => {
  const document = json("auto.json");
  const page = await open("auto.html");
  assert.ok((await page.locator("h1").textContent()).includes(`the fastest of ${document.strategies.length.toLocaleString("en-US")} strategies`));
  const section = await view(page, "strategies");
  assert.equal(await section.locator("circle.on-front").count(), document.pareto.length);
  const rows = document.strategies.length;
  assert.ok((await section.locator(".count").textContent()).includes(rows.toLocaleString("en-US")));
  const first = await texts(section.locator("tbody tr").first().locator("td"));
  assert.equal(first[0], document.strategies[0].strategy);
  near(seconds(first[1].replaceAll("\u00a0", " ")), document.strategies[0].time_s, "the fastest");
  assert.equal((await texts(section.locator("tbody tr").nth(1).locator("td[data-key=why_it_loses]")))[0], document.strategies[1].why_it_loses);
  await section.locator("input[type=search]").fill("tp=2");
  const found = await texts(section.locator("td[data-key=strategy]"));
  assert.ok(found.length > 0 && found.every((each) => each.includes("tp=2")));
  await section.locator("th[data-key=memory_bytes] button").click();
  const memories = document.strategies.filter(({ strategy }) => strategy.includes("tp=2")).map(({ memory_bytes }) => memory_bytes);
  const largest = (await texts(section.locator("td[data-key=memory_bytes]")))[0].replaceAll("\u00a0", " ");
  const unit = { MiB: 2 ** 20, GiB: 2 ** 30 }[largest.split(" ")[1]];
  near(Number(largest.split(" ")[0].replace(",", "")) * unit, Math.max(...memories), "the largest memory");
  await section.locator("circle.on-front").first().focus();
  await page.keyboard.press("ArrowRight");
  assert.ok(await page.locator("#tip").isVisible());
  await picture(page, "parallel-strategies");
  quiet(page);
  await page.close();
});

test("out of memory stands first, and a stored document has the same page", async () => {
  strata("predict", "llama3_8b:layers=8", "--on", "4xl4", "--batch", "4", "--optimizer", "adam", "--parallel", "dp=4", "--json", "oom.json");
  strata("report", "oom.json", "-o", "oom.html");
  const page = await open("oom.html");
  const first = await page.locator("#summary .view > *").first().textContent();
  assert.match(first, /Out of memory: the fullest rank needs [\d.]+ GiB, a device has [\d.]+ GiB/);
  assert.equal(await page.locator("#summary .device-end").count(), 1);
  quiet(page);
  await page.close();
  strata("report", "auto.json", "-o", "again.html");
  const again = await open("again.html");
  assert.equal(await again.locator("#tab-strategies").count(), 1);
  quiet(again);
  await again.close();
});

test("where nothing fits the page says what the leanest needs", async () => {
  strata("predict", "llama3_70b", "--on", "2xl4", "--batch", "2", "--parallel", "auto", "--html", "none.html", "--json", "none.json");
  const least = Math.min(...json("none.json").strategies.map(({ memory_bytes }) => memory_bytes)) / 2 ** 30;
  const page = await open("none.html");
  const text = await page.locator("#summary .out-of-memory").textContent();
  near(Number(text.match(/needs ([\d.,]+) GiB/)[1].replace(",", "")), least, "the leanest");
  quiet(page);
  await page.close();
});

test("documents that lack what is expected of them still open", async () => {
  const head = { strategies: [1, 2], stages: [1], cluster: {}, dims: {} };
  const whole = json("staged.json");
  const documents = [
    { kind: "parallel_choice", ...head },
    { kind: "parallel_prediction", ...head, expected: {} },
    { ...whole, timeline: { lanes: [{}] } },
    { ...whole, timeline: {} },
  ];
  for (const [at, document] of documents.entries()) {
    writeFileSync(join(folder, `lacking${at}.json`), JSON.stringify(document));
    strata("report", `lacking${at}.json`, "-o", "lacking.html");
    const page = await open("lacking.html");
    assert.ok(await page.locator("#summary").isVisible(), `document ${at}`);
    await page.close();
  }
});

test("names of strangers are only text", async () => {
  const document = json("staged.json");
  document.title = "<img src=x onerror=\"window.__pwn=1\">";
  document.stages[0].layers = "</td><script>window.__pwn=1</script>";
  document.cluster.machine_title = "<b>GPU";
  document.time_names.bubble_s = "<i>bubble";
  document.timeline.names[0] = "</canvas><script>window.__pwn=1</script>";
  writeFileSync(join(folder, "hostile.json"), JSON.stringify(document));
  strata("report", "hostile.json", "-o", "hostile.html");
  const page = await open("hostile.html");
  for (const id of ["stages", "timeline"]) await view(page, id);
  assert.equal(await page.evaluate(() => window.__pwn), undefined);
  assert.equal(await page.locator("#page img").count(), 0);
  assert.ok((await page.locator("h1").textContent()).includes("<img src=x"));
  assert.ok(readFileSync(join(folder, "hostile.html"), "utf8").includes("Content-Security-Policy"));
  quiet(page);
  await page.close();
});
