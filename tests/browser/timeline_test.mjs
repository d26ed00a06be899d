// SPDX-License-Identifier: Apache-2.0
// The timeline is true at every zoom, and cheap to point at; tabs, addresses, keys and paper.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { inflateSync } from "node:zlib";
import { end, folder, json, open, picture, strata, view } from "./browser.mjs";
import { near, quiet, seconds, texts } from "./checks.mjs";

after(end);

strata("predict", "gnmt", "--html", "gnmt.html");
strata("predict", "resnet50", "--json", "resnet.json", "--html", "resnet.html");

/// In the page: of each lane of the timeline, the share of its area that is painted.
function paintedShares(canvas) {
  const [left, right, lane, inset] = [98, 14, 34, 5];
  const lanes = Math.round((canvas.height - 26 - 84) / lane);
  const width = canvas.width - left - right;
  const { data } = canvas.getContext("2d").getImageData(left, 0, width, lanes * lane);
  return Array.from({ length: lanes }, (_, at) => {
    let sum = 0;
    for (let y = at * lane + inset; y < (at + 1) * lane - inset; y++)
      for (let x = 0; x < width; x++) sum += data[4 * (y * width + x) + 3];
    return sum / 255 / (width * (lane - 2 * inset));
  });
}

/// The data that the page holds, read as the page reads them.
function timelineIn(file) {
  const packed = readFileSync(join(folder, file), "utf8").match(/<script id="data" type="application\/zlib;base64">([^<]*)/)[1];
  return JSON.parse(inflateSync(Buffer.from(packed, "base64"))).parts[0].timeline;
}

function busyShare(track, from, to) {
  let sum = 0;
  track.start_s.forEach((start, i) => {
    const [end, busy] = [track.end_s[i], track.busy_s[i]];
    if (end <= start) return;
    sum += (busy * Math.max(0, Math.min(end, to) - Math.max(start, from))) / (end - start);
  });
  return sum / (to - from);
}

test("what is painted of a lane is its busy share, at every zoom", async () => {
  const timeline = timelineIn("gnmt.html");
  for (const span of ["", "0.1-0.18", "0.30000-0.30100"]) {
    const [from, to] = span === "" ? [0, 1] : span.split("-").map(Number);
    const page = await open("gnmt.html", { hash: `#timeline${span === "" ? "" : `&span=${span}`}` });
    const shares = await page.locator("#timeline canvas").first().evaluate(paintedShares);
    ["compute", "stalls", "in", "out"].forEach((track, at) => {
      const exact = busyShare(timeline[track], from * timeline.end_s, to * timeline.end_s);
      const shown = shares[at + 1]; // the first lane says what is forward and backward
      assert.ok(Math.abs(shown - exact) <= 0.015, `${track} of ${span || "all"}: ${shown} painted, ${exact} is true`);
    });
    quiet(page);
    await page.close();
  }
});

test("pointing at a long timeline draws only marks", async () => {
  const page = await open("gnmt.html", { hash: "#timeline" });
  const moves = 30;
  const spent = await page.processorTime(() =>
    page.locator("#timeline canvas").first().evaluate(async (canvas, count) => {
      const box = canvas.getBoundingClientRect();
      for (let i = 0; i < count; i++) {
        const at = { clientX: box.left + 120 + i * 30, clientY: box.top + 51, bubbles: true };
        canvas.dispatchEvent(new PointerEvent("pointermove", at));
        await new Promise(requestAnimationFrame);
      }
    }, moves),
  );
  assert.ok(spent / moves <= 0.016, `a move took ${(1e3 * spent) / moves} ms`);
  quiet(page);
  await page.close();
});

test("Ctrl and wheel never zoom the page, and the tip follows the zoom", async () => {
  const page = await open("resnet.html", { hash: "#timeline" });
  const canvas = page.locator("#timeline canvas").first();
  const isPrevented = (deltaY) =>
    canvas.evaluate((element, given) => {
      const event = new WheelEvent("wheel", { deltaY: given, ctrlKey: true, cancelable: true, bubbles: true });
      element.dispatchEvent(event);
      return event.defaultPrevented;
    }, deltaY);
  assert.ok(await isPrevented(500), "at the widest");
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + 600, box.y + 51);
  const before = await page.locator("#tip").textContent();
  for (let i = 0; i < 40; i++) assert.ok(await isPrevented(-500));
  await page.waitForFunction(() => location.hash.includes("span="));
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  assert.notEqual(await page.locator("#tip").textContent(), before);
  quiet(page);
  await page.close();
});

test("a part of the timeline is summed up by type", async () => {
  const page = await open("resnet.html", { hash: "#timeline" });
  const box = await page.locator("#timeline canvas").first().boundingBox();
  await page.mouse.drag(box.x + 300, box.y + 51, 400, { shift: true });
  const rows = page.locator("#timeline table.region tbody tr");
  const [from, to] = new URLSearchParams(page.url().split("#timeline&")[1]).get("region").split("-").map(Number);
  const timeline = timelineIn("resnet.html");
  const cells = await texts(rows.first().locator("td"));
  near(
    seconds(cells[1]),
    busyShare(timeline.compute, from * timeline.end_s, to * timeline.end_s) * (to - from) * timeline.end_s,
    "busy time of the part",
  );
  assert.match(cells[4], /convolution [\d.]+ [mµ]s/);
  const bytes = (await texts(rows.nth(2).locator("td")))[3];
  assert.match(bytes, /[GM]B$/);
  assert.ok((await page.locator("#timeline .legend").first().textContent()).includes("convolution"));
  await picture(page, "timeline-region");
  // The memory below shows the same time at the same place.
  await page.locator("#timeline table.region ~ p button").first().click();
  const left = await page.locator("#timeline svg .grid line").first().evaluate((line) => line.getBoundingClientRect().left);
  assert.ok(left >= box.x + 97, `the chart begins at ${left - box.x}`);
  quiet(page);
  await page.close();
});

test("more streams than are drawn are counted", async () => {
  const kernels = Array.from({ length: 40 }, (_, i) => ({ name: `k${i}`, layer: "a", pass: "forward", begin_s: i * 1e-6, time_s: 1e-3 }));
  const layers = [{ layer: "a", pass: "forward", op: "convolution", time_s: 1e-3, flop: 1, launches: 40 }];
  writeFileSync(
    join(folder, "streams.json"),
    JSON.stringify({ schema_version: 1, kind: "measurement", evidence: "measured", model: { name: "net" }, totals: { time_s: 1.04e-3 }, layers, kernels }),
  );
  strata("report", "streams.json", "-o", "streams.html");
  const page = await open("streams.html", { hash: "#timeline" });
  assert.match(await page.locator("#timeline").textContent(), /24 more, at the same time as 16 others, are not drawn/);
  quiet(page);
  await page.close();
});

test("an address opens its view, and Back returns to the one before", async () => {
  const page = await open("resnet.html", { hash: "#timeline" });
  assert.equal(await page.locator("#tab-timeline").getAttribute("aria-selected"), "true");
  assert.ok(await page.locator("#timeline canvas").first().isVisible());
  assert.ok(!(await page.locator("#summary").isVisible()));
  await page.locator("#tab-layers").click();
  assert.ok(page.url().endsWith("#layers"));
  await page.back();
  assert.ok(page.url().endsWith("#timeline"), page.url());
  assert.ok(await page.locator("#timeline canvas").first().isVisible());
  await page.keyboard.press("4"); // the fourth view
  assert.equal(await page.locator("[role=tab]").nth(3).getAttribute("aria-selected"), "true");
  await page.locator("[role=tab][aria-selected=true]").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.locator("[role=tab]").nth(4).getAttribute("aria-selected"), "true");
  assert.equal(await page.locator("[role=tab][tabindex='0']").count(), 1);
  quiet(page);
  await page.close();
});

test("Escape closes the box of a layer, and a resized window shows the same view", async () => {
  const page = await open("resnet.html", { hash: "#memory&layer=layer1.0.conv1" });
  assert.ok(await page.locator("aside.detail").isVisible());
  await page.keyboard.press("Escape");
  assert.ok(!(await page.locator("aside.detail").isVisible()));
  await page.resize(1000, 900);
  await page.waitForFunction(() => document.querySelector("#memory svg")?.clientWidth < 1000);
  assert.ok(await page.locator("#memory svg").isVisible());
  assert.ok(page.url().includes("#memory"));
  await page.locator("#memory svg").focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await page.locator("#tip").textContent(), /weights/);
  quiet(page);
  await page.close();
});

test("a name that is written from right to left turns no number around", async () => {
  const document = json("resnet.json");
  document.model.title = "net \u202Etfel";
  writeFileSync(join(folder, "bidi.json"), JSON.stringify(document));
  strata("report", "bidi.json", "-o", "bidi.html");
  const page = await open("bidi.html");
  for (const place of ["h1", "#summary .lead"]) {
    const outside = await page.locator(place).evaluate((element) => {
      const copy = element.cloneNode(true);
      for (const name of copy.querySelectorAll("bdi")) name.remove();
      return copy.textContent;
    });
    assert.ok(!outside.includes("\u202E"), `${place}: the name is isolated`);
    assert.ok(/32/.test(outside) && outside.includes("fp32"), `${place}: the numbers are not inside`);
  }
  quiet(page);
  await page.close();
});

test("ResNet-50 prints on six pages at most, and no word of a table is broken", async () => {
  const page = await open("resnet.html");
  const count = await page.printedPages();
  assert.ok(count <= 6, `${count} pages`);
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const wraps = await page
    .locator("table.small td")
    .evaluateAll((cells) => new Set(cells.map((cell) => getComputedStyle(cell).overflowWrap)).has("anywhere"));
  assert.equal(wraps, false);
  assert.equal(await page.locator("#network").isVisible(), false);
  quiet(page);
  await page.close();
});

test("titles name the thing: sweeps, rooflines and comparisons of three", async () => {
  for (const batch of ["1", "2", "4"]) strata("predict", "lenet5", "--batch", batch, "--json", `l${batch}.json`);
  strata("compare", "l1.json", "l2.json", "l4.json", "--html", "three.html");
  strata("roofline", "l1.json", "--html", "roof.html");
  strata("sweep", "lenet5", "--on", "rtx-2080-ti", "--capacity", "1MB:2MB:1MB", "--csv", "s.csv", "--html", "s.html");
  const wanted = { "three.html": /batch 1, fp32.*l1.*batch 2, fp32.*l2.*batch 4, fp32.*l4.*compared/, "roof.html": /lenet5.*predicted.* on NVIDIA H100/i, "s.html": /Sweep of lenet5.*capacity/ };
  for (const [file, pattern] of Object.entries(wanted)) {
    const page = await open(file);
    assert.match(await page.locator("h1").textContent(), pattern);
    assert.match(await page.title(), pattern);
    quiet(page);
    await page.close();
  }
});
