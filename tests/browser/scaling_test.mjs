// SPDX-License-Identifier: Apache-2.0
// The page of training on several numbers of devices: how much faster, where the time goes, the table, beside the JSON.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { end, folder, json, open, picture, strata } from "./browser.mjs";
import { near, quiet, seconds, texts } from "./checks.mjs";

after(end);

const network = ["gpt2:layers=4", "--on", "4xh200", "--devices", "1,2,4,6,8,16", "--batch", "32", "--dtype", "bf16", "--optimizer", "adam"];
strata("predict", ...network, "--price", "2", "--tokens", "10G", "--json", "s.json", "--html", "s.html");

const scale = { "": 1, k: 1e3, M: 1e6, G: 1e9 };
/// "39.3 k".
function count(text) {
  const [digits, unit = ""] = text.replaceAll("\u00a0", " ").split(" ");
  return Number(digits.replaceAll(",", "")) * scale[unit];
}
const plain = (text) => text.replaceAll("\u00a0", " ");
const column = async (page, key) => (await texts(page.locator(`#summary tbody td[data-key=${key}]`))).map(plain);
const answered = ({ rows }) => rows.filter(({ expected }) => expected);

test("the first screen says how much faster many devices are", async () => {
  const document = json("s.json");
  const rows = answered(document);
  const [first, last] = [rows[0], rows.at(-1)];
  const page = await open("s.html");
  const title = await page.locator("h1").textContent();
  for (const part of ["batch 32 in all", "bf16", `optimizer ${document.optimizer}`, "1 to 16 NVIDIA H200", "expected"]) assert.ok(title.includes(part), `${part} in ${title}`);
  assert.equal(await page.title(), title);
  const lead = await page.locator("#summary .lead").textContent();
  const [, ratio, ideal] = lead.match(/1 → 16 devices is ([\d.]+) times as fast, ([\d.]+) % of ideal/) ?? [];
  assert.ok(Math.abs(ratio / (last.samples_per_s / first.samples_per_s) - 1) < 0.06, lead);
  assert.ok(Math.abs(ideal / 100 - last.scaling_efficiency) < 0.006, lead);
  assert.match(lead, /90 % interval .*, in pytorch-eager, kernels (measured on|corrected from|transferred from) /);
  const cards = await texts(page.locator("#summary .cards dd strong"));
  near(count(cards[0]), last.tokens_per_s, "tokens per second");
  assert.equal(plain(cards[1]), `${Math.round(100 * last.scaling_efficiency)} %`);
  assert.ok(cards.some((card) => card.startsWith("$")), "what the run costs");
  assert.match(await page.locator("#summary .missing").textContent(), /6 devices: .*no whole nodes of 4/);
  await picture(page, "scaling");
  quiet(page);
  await page.close();
});

test("the chart has a mark, an interval and the ideal where the JSON has them", async () => {
  const rows = answered(json("s.json"));
  const page = await open("s.html");
  const figure = page.locator("#summary figure.chart");
  assert.equal(await figure.locator("circle.dot").count(), rows.length);
  assert.equal(await figure.locator("path.interval").count(), rows.length);
  // On axes of logarithms the distances are those of the numbers' logarithms; the ideal has the slope one in them.
  const at = await figure.locator("circle.dot").evaluateAll((dots) => dots.map((dot) => [Number(dot.getAttribute("cx")), Number(dot.getAttribute("cy"))]));
  const across = (at.at(-1)[0] - at[0][0]) / Math.log(rows.at(-1).devices / rows[0].devices);
  const up = (at[0][1] - at.at(-1)[1]) / Math.log(rows.at(-1).tokens_per_s / rows[0].tokens_per_s);
  rows.forEach((row, i) => {
    assert.ok(Math.abs(at[i][0] - at[0][0] - across * Math.log(row.devices / rows[0].devices)) < 0.6, `${row.devices} devices across`);
    assert.ok(Math.abs(at[0][1] - at[i][1] - up * Math.log(row.tokens_per_s / rows[0].tokens_per_s)) < 0.6, `${row.devices} devices up`);
  });
  const ideal = (await figure.locator("path.ideal").getAttribute("d")).match(/-?[\d.]+/g).map(Number);
  assert.ok(Math.abs((ideal[1] - ideal[3]) / up - Math.log(rows.at(-1).devices / rows[0].devices)) < 0.02, "the ideal grows as the devices do");
  await figure.locator("circle.dot").first().focus();
  await page.keyboard.press("End");
  assert.ok((await page.locator("#tip").textContent()).includes(rows.at(-1).strategy));
  quiet(page);
  await page.close();
});

test("each bar is divided as the time of its devices is", async () => {
  const rows = answered(json("s.json"));
  const page = await open("s.html");
  const bars = page.locator("#summary .bars .bar-row");
  assert.equal(await bars.count(), rows.length);
  for (const [i, { devices, time, expected }] of rows.entries()) {
    assert.match(await bars.nth(i).locator(".bar-name").textContent(), new RegExp(`^${devices} `));
    near(seconds(await bars.nth(i).locator(".bar-value").textContent()), expected.time_s, "expected");
    const widths = await bars.nth(i).locator("[data-part]").evaluateAll((all) => all.map((each) => [each.getAttribute("data-part"), parseFloat(each.style.width)]));
    const parts = Object.entries(time).filter(([, time_s]) => time_s > 0);
    assert.deepEqual(widths.map(([name]) => name), parts.map(([name]) => name));
    const all = parts.reduce((sum, [, time_s]) => sum + time_s, 0);
    parts.forEach(([name, time_s], part) => assert.ok(Math.abs(widths[part][1] - (100 * time_s) / all) < 0.01, `${name} of ${devices}`));
  }
  quiet(page);
  await page.close();
});

test("the table has a row for each number of devices, and says why one has no answer", async () => {
  const document = json("s.json");
  const page = await open("s.html");
  const lines = page.locator("#summary tbody tr");
  assert.equal(await lines.count(), document.rows.length);
  assert.deepEqual(await column(page, "devices"), document.rows.map(({ devices }) => String(devices)));
  const rows = answered(document);
  const shown = { expected_s: [], tokens_per_s: [], memory_bytes: [], run_s: [], cost: [], strategy: [] };
  for (const key of Object.keys(shown)) shown[key] = await column(page, key);
  rows.forEach((row, i) => {
    near(seconds(shown.expected_s[i]), row.expected.time_s, "expected");
    near(count(shown.tokens_per_s[i]), row.tokens_per_s, "tokens per second");
    near(parseFloat(shown.memory_bytes[i]) * 2 ** 30, row.memory_bytes, "memory");
    assert.equal(shown.strategy[i], row.strategy);
    near(count(shown.cost[i].slice(1)), row.training.run.cost, "cost");
  });
  const reasons = document.rows.filter(({ reason }) => reason !== null).map(({ reason }) => reason);
  assert.equal(reasons.length, 1);
  assert.deepEqual(await column(page, "reason"), reasons);
  await page.locator("#summary th[data-key=tokens_per_s] button").click();
  assert.equal((await column(page, "devices"))[0], String(rows.at(-1).devices));
  assert.ok(page.url().includes("scaling-sort=-tokens_per_s"));
  quiet(page);
  await page.close();
});

test("a stored document has the same page, on a phone and in the dark", async () => {
  strata("report", "s.json", "-o", "again.html");
  const [page, again] = [await open("s.html"), await open("again.html")];
  assert.equal(await again.locator("#summary .view").textContent(), await page.locator("#summary .view").textContent());
  await page.close();
  await again.close();
  const phone = await open("again.html", { width: 390, scheme: "dark" });
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  assert.equal(await phone.locator("#summary circle.dot").count(), answered(json("s.json")).length);
  await picture(phone, "scaling-phone-dark");
  quiet(phone);
  await phone.close();
});

test("images count in samples, a batch of each device is said so, and one answer needs no chart", async () => {
  strata("predict", "resnet18", "--on", "4xh200", "--devices", "2:8:x2", "--batch-per-device", "16", "--json", "r.json", "--html", "r.html");
  const page = await open("r.html");
  assert.ok((await page.locator("h1").textContent()).includes("batch 16 on each device"));
  const rates = await column(page, "samples_per_s");
  json("r.json").rows.forEach((row, i) => near(count(rates[i]), row.samples_per_s, "samples per second"));
  await page.close();
  strata("predict", "resnet18", "--on", "4xh200", "--devices", "4,6", "--html", "one.html");
  const one = await open("one.html");
  assert.equal(await one.locator("#summary figure.chart").count(), 0);
  assert.match(await one.locator("#summary p.lead").textContent(), /on 4 .* is expected to take/);
  quiet(one);
  await one.close();
});

test("where nothing fits the page says so first", async () => {
  strata("predict", "llama3_70b", "--on", "2xl4", "--devices", "1,2", "--batch", "2", "--json", "none.json", "--html", "none.html");
  const page = await open("none.html");
  const first = page.locator("#summary .view > *").first();
  assert.match(await first.textContent(), /No number of devices has an answer.*1 device: out of memory/);
  assert.deepEqual(await column(page, "reason"), json("none.json").rows.map(({ reason }) => reason));
  quiet(page);
  await page.close();
});

test("documents of strangers open, and what they say is only text", async () => {
  const head = { kind: "parallel_scaling", dims: {} };
  const whole = json("s.json");
  const evil = "<img src=x onerror=\"window.__pwn=1\">";
  const documents = [
    { ...head, rows: [] },
    { ...head, rows: [1, null, "x", [], {}, { devices: "8" }, { devices: -1 }] },
    { ...head, title: 1, dims: { batch: {} }, rows: [{ devices: 4 }, { devices: 8, expected: {} }, { devices: 2, expected: { time_s: 1, interval_s: [1] } }] },
    { ...head, assumptions: 3, rows: whole.rows.map(({ time, training, strategy, ...rest }) => rest) },
    { ...whole, rows: whole.rows.map((row) => ({ ...row, time: { a: "b", __proto__: 3 }, training: { run: [] } })) },
    { ...whole, rows: whole.rows.map((row) => ({ ...row, tokens_per_s: 1e300, expected: { time_s: 1e-300, interval_s: [1e-300, 1e300] } })) },
    { ...whole, title: evil, machine_title: evil, rows: whole.rows.map((row) => ({ ...row, strategy: evil, reason: evil, time: { [evil]: 1 } })) },
    { ...whole, rows: Array.from({ length: 5000 }, (_, i) => ({ ...whole.rows[0], devices: i + 1 })) },
  ];
  for (const [at, document] of documents.entries()) {
    writeFileSync(join(folder, `odd${at}.json`), JSON.stringify(document));
    strata("report", `odd${at}.json`, "-o", "odd.html");
    const page = await open("odd.html");
    assert.ok(await page.locator("#summary .view").isVisible(), `document ${at}`);
    assert.equal(await page.evaluate(() => window.__pwn), undefined);
    assert.equal(await page.locator("#page img").count(), 0);
    quiet(page);
    await page.close();
  }
});
