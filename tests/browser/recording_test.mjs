// SPDX-License-Identifier: Apache-2.0
// The page of a recording whose device waits most of the time and whose kernels overlap: its parts add up to the step, its
// bars stay where they belong, and a selection leaves no buttons behind.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { end, folder, json, open, picture, strata, view } from "./browser.mjs";
import { near, quiet, seconds, sum, texts } from "./checks.mjs";

after(end);

/// Steps as PyTorch's profiler writes them: a product of 10 ms, while whose last 4 another stream copies, a host that
/// computes, and 5 ms of communication.
function traceWith(host_ms) {
  const traceEvents = [];
  let [now, correlation] = [1_000_000, 0];
  const add = (cat, name, ts, dur, args = {}) => traceEvents.push({ ph: "X", cat, name, pid: 1, tid: 1, ts, dur, args });
  const launch = (ms, after, stream, name) => {
    correlation++;
    add("cuda_runtime", "cudaLaunchKernel", now - 10 + stream, 8, { correlation });
    add("kernel", name, now + 10 + 1000 * after, 1000 * ms, { correlation, device: 0, stream, grid: [1000, 1, 1], block: [256, 1, 1] });
  };
  for (let step = 0; step < 3; step++) {
    const start = now;
    launch(10, 0, 7, "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_tn_align4>");
    launch(4, 6, 20, "void at::native::vectorized_elementwise_kernel<4, Copy>");
    now += 10_000 + 1000 * host_ms;
    add("cuda_runtime", "cudaStreamSynchronize", now - 5000, 4000);
    launch(5, 0, 7, "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)");
    now += 6000;
    add("user_annotation", `ProfilerStep#${step}`, start - 50, now - start);
  }
  const device = { id: 0, name: "NVIDIA A100-SXM4-40GB", totalGlobalMem: 42297524224, numSms: 108 };
  return JSON.stringify({ schemaVersion: 1, deviceProperties: [device], traceEvents });
}

writeFileSync(join(folder, "before.json"), traceWith(600));
writeFileSync(join(folder, "after.json"), traceWith(20));
strata("trace", "before.json", "--json", "t.json", "--html", "t.html");

const shareOf = (text) => Number(text.replace(/[^\d.−-].*$/, "").replace("−", "-"));

/// "−4.00 ms" is less than nothing.
const signed = (text) => (text.startsWith("−") ? -seconds(text.slice(1)) : seconds(text));

/// What the page says of each type, without what is idle.
async function typesOn(page) {
  const [names, values] = [await texts(page.locator("#summary .types .bar-name")), await texts(page.locator("#summary .types .bar-value"))];
  return Object.fromEntries(names.map((name, at) => [name, signed(values[at])]).filter(([name]) => !name.startsWith("idle")));
}

/// In the page: bars that begin or end outside of what they stand in, and how much wider than the window the page is.
function barsOutside(bars) {
  const outside = bars.filter((bar) => {
    const [own, place] = [bar, bar.parentElement].map((each) => each.getBoundingClientRect());
    return own.left < place.left - 1 || own.right > place.right + 1;
  });
  return { bars: outside.length, wider: document.documentElement.scrollWidth - innerWidth };
}

test("the first screen says what the step took, and its parts add up to it", async () => {
  const { totals, idle } = json("t.json");
  const page = await open("t.html", { width: 1440 });
  const lead = await page.locator("#summary .lead").textContent();
  assert.match(lead, /^A step \(the median of 3\) of .* took 615 ms on .*\. A kernel ran 2\.4 % of that time\.$/);
  const cards = await texts(page.locator("#summary .cards dt"));
  assert.deepEqual(cards.slice(0, 3), ["time", "device busy", "kernels"]);
  const parts = await texts(page.locator("#summary .lost-parts li"));
  for (const { cause } of idle.filter((each) => each.time_s > 0.001 * totals.time_s))
    assert.ok(parts.some((part) => part.startsWith(`idle: ${cause}`)), `${cause}: ${parts}`);
  const numbers = await texts(page.locator("#summary .lost-parts .number"));
  const times = numbers.filter((_, at) => at % 2 === 0).map(seconds);
  near(times.reduce((all, time) => all + time, 0), totals.time_s, "parts of the step");
  const types = await texts(page.locator("#summary .types .bar-value"));
  near(types.map(signed).reduce((all, time) => all + time, 0), totals.time_s, "types and idle times");
  // As strata trace and strata compare say it: the time of kernels, and what of it was at the same time.
  assert.deepEqual(await typesOn(page), { gemm: 0.01, collective: 0.005, copy: 0.004, "at the same time": -0.004 });
  await picture(page, "recording-summary");
  quiet(page);
  await page.close();
});

test("shares of where it goes add up to the step, and no bar leaves its track", async () => {
  const { totals, layers } = json("t.json");
  near(sum(layers, "step_time_s"), totals.time_s - totals.gap_time_s, "rows share the time of kernels");
  near(sum(layers, "time_s"), totals.busy_time_s, "rows have the time of kernels");
  const page = await open("t.html", { hash: "#time", width: 1440 });
  const shares = await texts(page.locator("#time .bar-share"));
  near(shares.map(shareOf).reduce((all, share) => all + share, 0), 100, "shares");
  assert.deepEqual(await page.locator("#time .bar, #summary .bar").evaluateAll(barsOutside), { bars: 0, wider: 0 });
  await picture(page, "recording-time");
  const names = await texts(page.locator("#time .bar-name"));
  assert.ok(names.includes("at the same time"), names.join());
  // The part of each row of the step is another metric, of which nothing ran at the same time.
  await page.locator("#time select[aria-label=of]").selectOption("step_time_s");
  assert.ok(!(await texts(page.locator("#time .bar-name"))).includes("at the same time"));
  near((await texts(page.locator("#time .bar-share"))).map(shareOf).reduce((all, share) => all + share, 0), 100, "parts of the step");
  assert.deepEqual(await page.locator("#time .bar").evaluateAll(barsOutside), { bars: 0, wider: 0 });
  quiet(page);
  await page.close();
});

test("what is said of all layers is what their column adds up to", async () => {
  const { totals } = json("t.json");
  const page = await open("t.html", { hash: "#layers" });
  const times = await texts(page.locator("#layers .body .cell[data-key=time_s]"));
  const said = await page.locator("#layers .count").textContent();
  near(seconds(said.match(/together ([\d.]+ ms)/)[1]), times.map(seconds).reduce((all, time) => all + time, 0), "together");
  assert.match(said, /, 4\.00 ms of it at the same time; 600 ms of idle time belong to no row/);
  near(seconds(said.match(/together ([\d.]+ ms)/)[1]), totals.busy_time_s, "of all kernels");
  quiet(page);
  await page.close();
});

test("a row whose kernels are of several classes has its time by class", async () => {
  const document = json("t.json");
  const [first, second, ...rest] = document.layers;
  const both = { ...first, layer: "aten::convolution", op: "gemm", launches: 2 };
  for (const key of ["time_s", "step_time_s"]) both[key] = first[key] + second[key];
  for (const kernel of document.kernels) if ([first.layer, second.layer].includes(kernel.layer)) kernel.layer = both.layer;
  writeFileSync(join(folder, "several.json"), JSON.stringify({ ...document, layers: [both, ...rest] }));
  strata("report", "several.json", "-o", "several.html");
  const page = await open("several.html");
  assert.deepEqual(await typesOn(page), { gemm: 0.01, collective: 0.005, copy: 0.004, "at the same time": -0.004 });
  await view(page, "time");
  const [names, values] = [await texts(page.locator("#time .bar-name")), await texts(page.locator("#time .bar-value"))];
  for (const [name, time_s] of [["gemm", 0.01], ["copy", 0.004]]) near(seconds(values[names.indexOf(name)]), time_s, name);
  quiet(page);
  await page.close();
});

test("kernels with long names leave their numbers in sight", async () => {
  const document = json("t.json");
  const long = (name) => `void ${"at::native::".repeat(20)}${name}`;
  for (const kernel of document.kernels) [kernel.name, kernel.layer] = [long(kernel.name), long(kernel.layer)];
  for (const kernel of document.processes[0].kernels) kernel.name = long(kernel.name);
  for (const row of document.layers) row.layer = long(row.layer);
  writeFileSync(join(folder, "long.json"), JSON.stringify(document));
  strata("report", "long.json", "-o", "long.html");
  const page = await open("long.html", { hash: "#kernels", width: 1440 });
  const right = await page.locator("#kernels td[data-key=share]").evaluateAll((all) => all.map((each) => each.getBoundingClientRect().right));
  assert.ok(right.length > 2 && right.every((each) => each < 1440), right.join());
  assert.equal(await page.locator("#kernels td[data-key=kernel] bdi").first().getAttribute("title"), document.kernels[0].name);
  quiet(page);
  await page.close();
});

test("a selection on the timeline has one button, and none when it is gone", async () => {
  const page = await open("t.html", { hash: "#timeline" });
  const buttons = () => page.locator("#timeline .saves").count();
  const before = await buttons();
  const box = await page.locator("#timeline canvas").first().boundingBox();
  for (const from of [200, 300, 400]) await page.mouse.drag(box.x + from, box.y + 20, 300, { shift: true });
  assert.equal(await page.locator("#timeline table.region").count(), 1);
  assert.equal(await buttons(), before + 1);
  await page.locator("#timeline .controls button", { hasText: "clear" }).click();
  assert.equal(await page.locator("#timeline table.region").count(), 0);
  assert.equal(await buttons(), before);
  quiet(page);
  await page.close();
});

test("a comparison of recordings is one of their steps, with idle times by cause", async () => {
  strata("compare", "before.json", "after.json", "--json", "c.json", "--html", "c.html");
  const { totals } = json("c.json");
  const page = await open("c.html");
  const section = await view(page, "compare");
  assert.match(await section.locator(".lead").textContent(), /takes 35\.0 ms where .* takes 615 ms/);
  near(totals.ratio, 35 / 615, "ratio");
  const names = await texts(section.locator("tbody td[data-key=name]"));
  for (const name of ["idle: host", "idle: sync", "at the same time"]) assert.ok(names.includes(name), names.join());
  quiet(page);
  await page.close();
});

test("findings of the recording stand first in its report", async () => {
  strata("report", "t.json", "-o", "r.html");
  const page = await open("r.html");
  const found = json("t.json").processes[0].findings;
  const section = await view(page, "findings");
  const codes = await section.locator("[data-code]").evaluateAll((all) => all.map((each) => each.dataset.code));
  assert.deepEqual(codes.slice(0, found.length), found.map((each) => each.code));
  assert.match(await section.locator(".worth").first().textContent(), /of the step/);
  quiet(page);
  await page.close();
});
