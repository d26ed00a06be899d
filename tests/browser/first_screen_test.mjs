// SPDX-License-Identifier: Apache-2.0
// Every kind of page opens with its answer, a picture and a table on its first tab, and says what it is of; on a phone nothing
// runs over its edge.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { end, folder, json, open, picture, strata, view } from "./browser.mjs";
import { near, quiet, seconds, texts } from "./checks.mjs";

after(end);

const network = ["gpt2:layers=2", "--batch", "8"];
const cluster = [...network, "--on", "2x2xh200", "--dtype", "bf16", "--optimizer", "adam"];
const conv = ["conv", "--base", "2,12,4,3,1", "--sweep", "k=2:4", "--strategies", "direct,unroll,winograd2", "--samples", "1"];

/// Of each kind: what makes it, what its title names, and what else its first tab says.
const kinds = {
  prediction: { words: ["predict", "resnet18", "--on", "h200"], title: /ResNet-18/, says: /is expected to take/ },
  machines: {
    words: ["predict", "gpt2", "--batch", "64", "--on", "l4,h200,grace,a100-80gb,v100", "--price", "0.8,3.5,1,1.5,1", "--amp", "bf16"],
    title: /GPT-2 small, batch 64, bf16 autocast.* on 5 machines/,
    says: /is fastest on NVIDIA H200.*per million samples/,
  },
  strategies: { words: ["predict", ...cluster, "--parallel", "auto", "--tokens", "1G", "--price", "2"], title: /GPT-2/, says: /the fastest of [\d,]+ strategies/ },
  strategy: { words: ["predict", ...cluster, "--parallel", "dp=2,pp=2,micro=2"], title: /GPT-2/, says: /is expected to take/ },
  devices: { words: ["predict", ...network, "--on", "2xh200", "--devices", "1,2"], title: /GPT-2.*, optimizer momentum on/, says: /times as fast.*in pytorch-eager, kernels measured on h200/ },
  sweep: {
    words: ["sweep", "lenet5", "--on", "rtx-2080-ti", "--capacity", "1MiB:16MiB:x2", "--bandwidth", "300GB/s,600GB/s", "--pareto", "time,area_mm2", "--knee", "capacity=5%"],
    title: /Sweep of lenet5/,
    says: /Pareto front.*Knee of capacity/s,
  },
  machine: { words: ["machine", "show", "h200"], title: /H200/, says: /NVIDIA H200/ },
  difference: { words: ["machine", "diff", "v100", "h200"], title: /v100 and h200/, says: /numbers in both/, hasPicture: ".diff" },
  convolutions: { words: conv, title: /Convolutions/i, says: /convolutions were measured/ },
  networks: { words: ["list", "networks"], title: /What Strata brings/, says: /\d+ networks/, hasPicture: "" },
};

const made = new Set();
function make(kind) {
  if (!made.has(kind)) strata(...kinds[kind].words, "--html", `${kind}.html`);
  made.add(kind);
  return `${kind}.html`;
}

/// In the page: what of the first tab can be seen, and where it begins.
function firstTab(body, pictures) {
  const section = [...body.querySelectorAll("main > section")].find((each) => !each.hidden);
  const seen = (selector) =>
    selector === ""
      ? []
      : [...section.querySelectorAll(selector)].filter((each) => {
          const { width, height } = each.getBoundingClientRect();
          return width > 0 && height > 0 && each.checkVisibility();
        });
  return {
    tab: document.querySelector("[role=tab][aria-selected=true]").textContent,
    lead: seen(".lead")[0]?.textContent ?? "",
    leadTop: seen(".lead")[0]?.getBoundingClientRect().top ?? Infinity,
    pictures: seen(pictures).length,
    pictureTop: Math.min(...seen(pictures).map((each) => each.getBoundingClientRect().top)),
    rows: seen("tbody tr, .bar-row").length,
    text: section.textContent.replace(/\s+/g, " "),
  };
}

for (const [kind, { title, says, hasPicture = "figure svg, canvas, .lost-bar" }] of Object.entries(kinds))
  test(`a page of kind ${kind} opens with its answer, a picture and a table`, async () => {
    const page = await open(make(kind), { width: 1440, height: 900 });
    const first = await page.locator("body").evaluate(firstTab, hasPicture);
    assert.match(await page.title(), title);
    assert.ok(first.lead.length > 10 && first.leadTop < 300, `the answer stands first: ${first.lead}`);
    assert.match(first.text, says);
    if (hasPicture !== "") assert.ok(first.pictures > 0 && first.pictureTop < 900, `${first.pictures} pictures, the first at ${first.pictureTop}`);
    assert.ok(first.rows > 0, "a table");
    await picture(page, `first-${kind}`);
    quiet(page);
    await page.close();
    const phone = await open(make(kind), { width: 390, height: 844 });
    const width = await phone.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `${width} pixels wide on a phone of 390`);
    await picture(phone, `first-${kind}-390`);
    quiet(phone);
    await phone.close();
  });

test("the page of several machines has the numbers of its JSON, sorted, and the best named", async () => {
  make("machines");
  strata(...kinds.machines.words, "--json", "machines.json");
  const { machines, fastest, cheapest } = json("machines.json");
  const page = await open("machines.html", { width: 1440 });
  const rows = page.locator("#summary tbody tr");
  assert.deepEqual(await texts(page.locator("#summary tbody td[data-key=machine]")), machines.map(({ machine }) => machine));
  assert.equal(await rows.count(), machines.length);
  const shown = await texts(page.locator("#summary td[data-key=expected_s]"));
  machines.forEach(({ expected }, at) => expected && near(seconds(shown[at].replaceAll("\u00a0", " ")), expected.time_s, "expected"));
  const cards = await texts(page.locator("#summary .cards strong"));
  assert.equal(cards[0], fastest);
  assert.ok(cards.includes(cheapest));
  const costs = (await texts(page.locator("#summary td[data-key=cost_per_million_samples]"))).filter((text) => text !== "–");
  assert.ok(costs.length > 1 && costs.every((text) => /^\$\d/.test(text)), costs.join());
  const small = machines.filter(({ fits }) => fits === false).map(({ machine }) => machine);
  for (const machine of small) assert.match(await page.locator("#summary .missing").textContent(), new RegExp(`Out of memory:.*${machine}`));
  assert.equal(await page.locator("#summary .machine-bar.open").count() >= small.length, true);
  await page.locator("#summary th[data-key=cost_per_million_samples] button").click();
  await page.locator("#summary th[data-key=cost_per_million_samples] button").click();
  assert.equal((await texts(page.locator("#summary tbody td[data-key=machine]")))[0], machines.filter((one) => one.cost_per_million_samples).sort((a, b) => a.cost_per_million_samples - b.cost_per_million_samples)[0].machine);
  quiet(page);
  await page.close();
});

test("lists show values, not JSON, and no word is cut into letters", async () => {
  make("machines");
  const page = await open("machines.html", { width: 1440 });
  const section = await view(page, "lists");
  const text = await section.textContent();
  assert.ok(!/[{}"]/.test(text), text.slice(0, 300));
  const lines = await section.locator("td").evaluateAll((cells) =>
    cells.filter((cell) => ["yes", "no", "calibrated"].includes(cell.textContent)).map((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
    }),
  );
  assert.ok(lines.length > 0 && lines.every((count) => count === 1), `lines of words: ${lines}`);
  quiet(page);
  await page.close();
});

test("the page of many devices has what the run takes and costs, the next strategies, and advice to its end", async () => {
  make("strategies");
  strata(...kinds.strategies.words, "--json", "strategies.json");
  const { training, strategies } = json("strategies.json");
  const page = await open("strategies.html", { width: 1440 });
  const cards = Object.fromEntries(
    await page.locator("#summary .cards > div").evaluateAll((all) =>
      all.map((card) => [card.querySelector("dt").textContent, card.querySelector("strong").textContent.replaceAll("\u00a0", " ")]),
    ),
  );
  const amount = (text) => Number(text.replace(/[^0-9.]/g, "")) * (/ k/.test(text) ? 1e3 : / M/.test(text) ? 1e6 : 1);
  near(amount(cards["cost of the run"]), training.run.cost, "cost");
  near(amount(cards["device hours"]), training.run.device_hours, "device hours");
  assert.ok(cards["training run"] && cards["energy of the run"], Object.keys(cards).join());
  const tried = await texts(page.locator("#summary .first-rows tbody td:first-child"));
  assert.deepEqual(tried, strategies.filter(({ time_s }) => time_s !== undefined).slice(0, tried.length).map(({ strategy }) => strategy));
  const cut = await page.locator("#summary .how").evaluateAll((all) => all.filter((each) => each.scrollHeight > each.clientHeight + 1).length);
  assert.equal(cut, 0, "no advice ends with dots");
  quiet(page);
  await page.close();
});

test("the page of a sweep shows the front and the knee that were asked for", async () => {
  make("sweep");
  strata(...kinds.sweep.words, "--json", "answers.json");
  const { pareto, knees } = json("answers.json");
  const page = await open("sweep.html", { width: 1440 });
  const section = page.locator("#sweep");
  await section.locator("circle.on-front").first().waitFor();
  const points = pareto.fronts[0].points.map(({ point }) => point);
  const marked = await section.locator("circle.on-front").evaluateAll((all) => all.map((each) => Number(each.dataset.row)));
  assert.deepEqual([...marked].sort((a, b) => a - b), [...points].sort((a, b) => a - b));
  const [x, y] = await section.locator("select[aria-label='front of'], select[aria-label=and]").evaluateAll((all) => all.map((each) => each.value));
  assert.deepEqual([x, y], pareto.goals.map(({ column }) => column));
  const areas = await section.locator(".asked-front td[data-key=area_mm2]").evaluateAll((all) => all.map((each) => Number(each.dataset.value)));
  assert.deepEqual(areas, pareto.fronts[0].points.map(({ area_mm2 }) => area_mm2));
  const values = new Set(knees[0].knees.flatMap(({ value }) => value ?? []));
  assert.equal(await section.locator("path.knee").count(), values.size);
  await page.close();
});

test("on a phone a comparison shows difference and ratio, and no head is cut", async () => {
  for (const machine of ["l4", "h200"]) strata("predict", "resnet18", "--on", machine, "--json", `${machine}.json`);
  strata("compare", "l4.json", "h200.json", "--html", "compared.html");
  const page = await open("compared.html", { width: 390, height: 844 });
  const right = await page.locator("#compare td[data-key=difference_s], #compare td[data-key=ratio]").evaluateAll((all) => all.map((each) => each.getBoundingClientRect().right));
  assert.ok(right.length > 4 && right.every((each) => each <= 390), `up to ${Math.max(...right)} of 390 pixels`);
  await page.locator("header select").selectOption("1");
  const section = await view(page, "layers");
  const cut = await section.locator(".head .cell").evaluateAll((all) => all.filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.textContent));
  assert.deepEqual(cut, []);
  quiet(page);
  await page.close();
});

test("heads name how it is trained", async () => {
  const words = ["gpt2:layers=2", "--on", "h200,l4", "--batch", "8", "--amp", "bf16", "--optimizer", "adam", "--micro-batches", "2", "--recompute", "blocks", "--framework", "pytorch-compile"];
  strata("predict", ...words, "--html", "trained.html");
  const page = await open("trained.html");
  assert.match(await page.title(), /, batch 8, bf16 autocast, optimizer adam, 2 micro-batches of 4, recompute blocks, pytorch-compile on h200 and l4, expected/);
  await page.close();
});

test("a front of the limit is called so where there are expected times", async () => {
  strata("sweep", "resnet18", "--on", "h200", "--batch", "16:128:x2", "--amp", "bf16", "--pareto", "time,memory", "--html", "limits.html");
  const page = await open("limits.html");
  assert.match(await page.locator("#sweep .answers").textContent(), /Pareto front of least limit per sample and least memory/);
  assert.deepEqual((await texts(page.locator("#sweep select[aria-label='front of'] option[selected]"))), ["limit per sample"]);
  assert.ok((await texts(page.locator("#sweep .asked-front th"))).includes("limit"));
  await page.locator("#sweep circle.on-front").first().waitFor();
  // The extreme points, too, lie inside of the picture.
  const inside = await page.locator("#sweep circle.on-front, #sweep circle.far").evaluateAll((all) =>
    all.map((dot) => {
      const [width, height] = ["x2", "y2"].map((key) => Math.max(...[...dot.closest("svg").querySelectorAll(".grid line")].map((line) => Number(line.getAttribute(key)))));
      const [x, y] = ["cx", "cy"].map((key) => Number(dot.getAttribute(key)));
      return x > 5 && y > 5 && x < width - 5 && y < height - 5;
    }),
  );
  assert.ok(inside.length > 3 && inside.every(Boolean), inside.join());
  quiet(page);
  await page.close();
});

test("on a phone strategies and numbers of machines are told apart, and nothing of a row is cut", async () => {
  for (const [kind, css] of [["strategies", ".first-rows td"], ["difference", "table.machines td"]]) {
    const page = await open(make(kind), { width: 390, height: 844 });
    const seen = await page.locator(css).evaluateAll((all) =>
      all.filter((cell) => cell.checkVisibility()).map((cell) => ({ text: cell.textContent, right: cell.getBoundingClientRect().right, isCut: cell.scrollWidth > cell.clientWidth + 1 })),
    );
    assert.ok(seen.length > 10);
    assert.deepEqual(seen.filter(({ right, isCut }) => isCut || right > 390), [], kind);
    quiet(page);
    await page.close();
  }
});

test("on a phone bars have their whole names, and their shares are inside the page", async () => {
  const page = await open(make("prediction"), { width: 390, height: 844 });
  for (const id of ["summary", "time"]) {
    const section = await view(page, id);
    const cut = await section.locator(".bar-row > *").evaluateAll((all) => all.filter((each) => each.scrollWidth > each.clientWidth + 1 || each.getBoundingClientRect().right > 384).map((each) => each.textContent));
    assert.deepEqual(cut, [], id);
  }
  await page.close();
});

test("a table of machines by an earlier version still has its answer", async () => {
  const one = (machine, time_s, cost) => ({
    machine,
    limit_s: time_s / 2,
    expected: { time_s, interval_s: [0.9 * time_s, 1.1 * time_s], calibration: "calibrated" },
    samples_per_s: 1 / time_s,
    memory_bytes: 1e9,
    fits: true,
    price_per_hour: 1,
    currency: null,
    cost_per_million_samples: cost,
  });
  const document = { schema_version: 1, kind: "machine_choice", machines: [one("slow", 2, 1), one("fast", 1, 3)] };
  writeFileSync(join(folder, "earlier.json"), JSON.stringify(document));
  strata("report", "earlier.json", "-o", "earlier.html");
  const page = await open("earlier.html");
  assert.match(await page.locator("#summary .lead").textContent(), /fastest on fast: 1\.00 s .*2\.00 times as fast as the next, slow\. The cheapest is slow: 1\.00 per million/);
  quiet(page);
  await page.close();
});
