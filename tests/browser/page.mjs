// SPDX-License-Identifier: Apache-2.0
// A page of the browser and what is found in it, as tests speak of them: page.locator("#time .tile").first().click().
// What acts on one element waits until it is there, is alone, and is not covered.

const patience_ms = 10_000;
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/// In the page: the elements that a chain of selectors and positions leads to.
function found(steps) {
  let all = [document];
  for (const { css, text, at } of steps) {
    if (at !== undefined) all = all.slice(at, at + 1 || undefined);
    else all = [...new Set(all.flatMap((each) => [...each.querySelectorAll(css)]))];
    if (text) all = all.filter((each) => new RegExp(text).test(each.textContent.replace(/\s+/g, " ").trim()));
  }
  return all;
}

/// In the page: where an element is, once it has stayed there for two frames.
async function restingBox(element) {
  const frame = () => new Promise(requestAnimationFrame);
  for (let before = null; ; ) {
    const { x, y, width, height } = element.getBoundingClientRect();
    if (before === JSON.stringify([x, y, width, height])) return { x, y, width, height };
    before = JSON.stringify([x, y, width, height]);
    await frame();
    await frame();
  }
}

/// In the page: where to point at an element; a reason when that is not possible yet.
async function placeOf([element, other], restingBox) {
  if (!element || other) return { reason: element ? "there are several" : "it is not there" };
  const { left, top: above, right, bottom } = element.getBoundingClientRect();
  const isInside = left >= 0 && above >= 0 && right <= innerWidth && bottom <= innerHeight;
  if (!isInside) element.scrollIntoView({ behavior: "instant", block: "center", inline: "center" });
  const { x, y, width, height } = await restingBox(element);
  const middle = { x: x + width / 2, y: y + height / 2 };
  const top = document.elementFromPoint(middle.x, middle.y);
  const isFree = top !== null && (element.contains(top) || top.contains(element));
  return isFree ? middle : { reason: "something else is where it is" };
}

const keys = {
  ArrowDown: { code: "ArrowDown", windowsVirtualKeyCode: 40 },
  ArrowRight: { code: "ArrowRight", windowsVirtualKeyCode: 39 },
  Enter: { code: "Enter", windowsVirtualKeyCode: 13, text: "\r" },
  Escape: { code: "Escape", windowsVirtualKeyCode: 27 },
  ArrowRight: { code: "ArrowRight", windowsVirtualKeyCode: 39 },
  Tab: { code: "Tab", windowsVirtualKeyCode: 9 },
  4: { code: "Digit4", windowsVirtualKeyCode: 52, text: "4" },
  s: { code: "KeyS", windowsVirtualKeyCode: 83, text: "s" },
  End: { code: "End", windowsVirtualKeyCode: 35 },
  "+": { code: "Equal", windowsVirtualKeyCode: 187, text: "+" },
};

class Locator {
  constructor(page, steps) {
    this.page = page;
    this.steps = steps;
  }

  locator(css, { hasText } = {}) {
    const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const text = hasText === undefined ? "" : (hasText.source ?? escaped(hasText));
    return new Locator(this.page, [...this.steps, { css, text }]);
  }
  nth(at) {
    return new Locator(this.page, [...this.steps, { at }]);
  }
  first() {
    return this.nth(0);
  }
  last() {
    return this.nth(-1);
  }

  evaluateAll(work, given = null) {
    return this.page.run(`(${work})((${found})(${JSON.stringify(this.steps)}), ${JSON.stringify(given)})`);
  }
  async evaluate(work, given = null) {
    await this.#until(([element, other]) => element !== undefined && other === undefined, "one such element");
    return this.evaluateAll(`(all, given) => (${work})(all[0], given)`, given);
  }
  count() {
    return this.evaluateAll((all) => all.length);
  }
  allTextContents() {
    return this.evaluateAll((all) => all.map((each) => each.textContent));
  }
  textContent() {
    return this.evaluate((element) => element.textContent.replaceAll("\u00a0", " ")); // a number and its unit stay together
  }
  getAttribute(name) {
    return this.evaluate((element, given) => element.getAttribute(given), name);
  }
  boundingBox() {
    return this.evaluate(restingBox);
  }
  isVisible() {
    return this.evaluateAll((all) => all.some((each) => each.checkVisibility() && each.getClientRects().length > 0));
  }
  waitFor() {
    return this.#until(([element]) => element?.getClientRects().length > 0, "a visible one");
  }

  focus() {
    return this.evaluate((element) => element.focus());
  }
  async fill(text) {
    await this.focus();
    await this.evaluate((element, given) => {
      element.value = given;
      for (const type of ["input", "change"]) element.dispatchEvent(new Event(type, { bubbles: true }));
    }, text);
    await this.page.settle();
  }
  async selectOption(value) {
    const has = await this.evaluate((element, given) => [...element.options].some((each) => each.value === given), value);
    if (!has) throw new Error(`${this}: no option ${value}`);
    await this.fill(value);
  }
  async dispatchEvent(type, details) {
    await this.evaluate(
      (element, given) =>
        element.dispatchEvent(
          new PointerEvent(given.type, { bubbles: true, cancelable: true, composed: true, ...given.details }),
        ),
      { type, details },
    );
  }
  async hover() {
    let place;
    const start = Date.now();
    while ((place = await this.evaluateAll(`(all) => (${placeOf})(all, ${restingBox})`)).reason) {
      if (Date.now() - start > patience_ms) throw new Error(`${this}: ${place.reason}`);
      await later(20);
    }
    await this.page.mouse.move(place.x, place.y);
    return place;
  }
  async click() {
    const place = await this.hover();
    for (const type of ["mousePressed", "mouseReleased"])
      await this.page.ask("Input.dispatchMouseEvent", { type, ...place, button: "left", clickCount: 1 });
    await this.page.settle();
  }

  async #until(test, wanted) {
    const start = Date.now();
    while (!(await this.evaluateAll(test))) {
      if (Date.now() - start > patience_ms) throw new Error(`${this}: there is not ${wanted}`);
      await later(20);
    }
  }
  toString() {
    return this.steps.map(({ css, text, at }) => (at === undefined ? css + (text && ` /${text}/`) : `[${at}]`)).join(" ");
  }
}

/// Made by Page.open; what goes wrong in it is noted in `faults`.
export class Page {
  faults = [];
  #address = "";
  #downloads = [];
  #traced = [];
  #traceEnded = null;

  static async open(browser, { width, height, scheme }) {
    const page = new Page();
    const { browserContextId } = await browser.ask("Target.createBrowserContext");
    const { targetId } = await browser.ask("Target.createTarget", { url: "about:blank", browserContextId });
    const { sessionId } = await browser.ask("Target.attachToTarget", { targetId, flatten: true });
    page.ask = (method, params) => browser.ask(method, params, sessionId);
    page.close = () => browser.ask("Target.disposeBrowserContext", { browserContextId });
    browser.listen(sessionId, (method, params) => page.#hear(method, params));
    for (const part of ["Page", "Runtime", "Network", "Log"]) await page.ask(`${part}.enable`);
    await page.ask("Emulation.setFocusEmulationEnabled", { enabled: true });
    await page.ask("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await page.ask("Page.setDownloadBehavior", { behavior: "deny" });
    await page.emulateMedia({ colorScheme: scheme });
    return page;
  }

  #hear(method, params) {
    if (method === "Runtime.consoleAPICalled")
      this.faults.push(`console: ${params.args.map((each) => each.value ?? each.description).join(" ")}`);
    else if (method === "Log.entryAdded") this.faults.push(`console: ${params.entry.text}`);
    else if (method === "Runtime.exceptionThrown")
      this.faults.push(`error: ${params.exceptionDetails.exception?.description ?? params.exceptionDetails.text}`);
    else if (method === "Page.javascriptDialogOpening") {
      this.faults.push(`dialog: ${params.message}`);
      void this.ask("Page.handleJavaScriptDialog", { accept: false });
    } else if (method === "Network.requestWillBeSent") {
      const { url } = params.request;
      const isInside = ["file:", "data:,", "data:image/svg+xml;", "data:image/png;", "blob:"].some((each) => url.startsWith(each));
      if (!isInside) this.faults.push(`request: ${url}`);
    } else if (method === "Page.downloadWillBegin") this.#downloads.push(params.suggestedFilename);
    else if (method === "Tracing.dataCollected") this.#traced.push(...params.value);
    else if (method === "Tracing.tracingComplete") this.#traceEnded?.();
  }

  /// The longest task that some work causes in the page, in milliseconds of the clock and of its thread: others keep the
  /// computer busy, too.
  async longestTask(work) {
    this.#traced = [];
    const ended = new Promise((resolve) => (this.#traceEnded = resolve));
    const includedCategories = ["disabled-by-default-devtools.timeline"];
    await this.ask("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories } });
    await work();
    await this.ask("Tracing.end");
    await ended;
    const most = { clock_ms: 0, thread_ms: 0 };
    for (const { name, dur, tdur } of this.#traced) {
      if (!name.endsWith("RunTask") || dur === undefined) continue;
      most.clock_ms = Math.max(most.clock_ms, dur / 1000);
      most.thread_ms = Math.max(most.thread_ms, (tdur ?? dur) / 1000);
    }
    return most;
  }

  /// The value of an expression in the page.
  async run(expression) {
    const { result, exceptionDetails } = await this.ask("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }
  evaluate(work) {
    return this.run(`(${work})()`);
  }
  async waitForFunction(test) {
    const start = Date.now();
    while (!(await this.evaluate(test))) {
      if (Date.now() - start > patience_ms) throw new Error(`never true: ${test}`);
      await later(20);
    }
    await this.settle();
  }
  /// What an action has caused in the page is done when this answers.
  async settle() {
    this.#address = await this.run("location.href");
  }
  async goto(address) {
    await this.ask("Page.navigate", { url: address });
    await this.waitForFunction(() => document.querySelector("main") !== null);
  }
  url() {
    return this.#address;
  }
  title() {
    return this.run("document.title");
  }
  locator(css, options) {
    return new Locator(this, []).locator(css, options);
  }

  mouse = {
    move: async (x, y) => {
      await this.ask("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
      await this.settle();
    },
    /// Turns the wheel with Ctrl held.
    zoom: async (x, y, deltaY) => {
      await this.ask("Input.dispatchMouseEvent", { type: "mouseWheel", x, y, deltaX: 0, deltaY, modifiers: 2 });
      await this.settle();
    },
    /// Moves to the right with the button held, and Shift where that is asked for.
    drag: async (x, y, by, { shift = false } = {}) => {
      const modifiers = shift ? 8 : 0;
      const at = (type, place) =>
        this.ask("Input.dispatchMouseEvent", { type, x: place, y, button: "left", buttons: 1, clickCount: 1, modifiers });
      await at("mousePressed", x);
      for (let step = 1; step <= 4; step++) await at("mouseMoved", x + (by * step) / 4);
      await at("mouseReleased", x + by);
      await this.settle();
    },
  };
  keyboard = {
    press: async (key) => {
      const { text, ...rest } = keys[key];
      await this.ask("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", key, text, ...rest });
      await this.ask("Input.dispatchKeyEvent", { type: "keyUp", key, ...rest });
      await this.settle();
    },
  };

  emulateMedia({ media = "", colorScheme }) {
    const features = [{ name: "prefers-color-scheme", value: colorScheme }];
    return this.ask("Emulation.setEmulatedMedia", { media, features });
  }
  /// CPU seconds of the page's thread while something is done, whoever else uses the machine.
  async processorTime(work) {
    await this.ask("Performance.enable", { timeDomain: "threadTicks" });
    const spent = async () => {
      const { metrics } = await this.ask("Performance.getMetrics");
      return metrics.find(({ name }) => name === "TaskDuration").value;
    };
    const before = await spent();
    await work();
    return (await spent()) - before;
  }
  /// How many sheets of A4 the page takes on paper.
  async printedPages() {
    const { data } = await this.ask("Page.printToPDF", { paperWidth: 8.27, paperHeight: 11.69 });
    return Buffer.from(data, "base64").toString("latin1").match(/\/Type\s*\/Page[^s]/g).length;
  }
  async resize(width, height) {
    await this.ask("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
  }
  async back() {
    await this.run("history.back()");
    await later(100);
    await this.settle();
  }
  /// The name of the file that the page saves next.
  async savedFile() {
    const start = Date.now();
    while (this.#downloads.length === 0) {
      if (Date.now() - start > patience_ms) throw new Error("nothing was saved");
      await later(20);
    }
    return this.#downloads.shift();
  }
  async screenshot() {
    return Buffer.from((await this.ask("Page.captureScreenshot")).data, "base64");
  }
}
