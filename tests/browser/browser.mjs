// SPDX-License-Identifier: Apache-2.0
// A browser for tests: opens pages that strata wrote, and notes everything that they should not do.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { DevTools } from "./devtools.mjs";
import { Page } from "./page.mjs";

const { STRATA, STRATA_WITHOUT_LIBRARIES, CHROMIUM, STRATA_SCREENSHOTS } = process.env;

export const folder = mkdtempSync(join(tmpdir(), "strata-browser-"));
const browser = new DevTools(CHROMIUM, folder);

function run(program, words) {
  return execFileSync(program, words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/// Runs the program in the folder of the tests; gives what it printed.
export function strata(...words) {
  return run(STRATA, words);
}

/// The same as built without the optional libraries; null where the tests have none such.
export const strataWithoutLibraries = STRATA_WITHOUT_LIBRARIES
  ? (...words) => run(STRATA_WITHOUT_LIBRARIES, words)
  : null;

export function json(file) {
  return JSON.parse(readFileSync(join(folder, file), "utf8"));
}

/// Opens a page and waits until it is shown. What goes wrong in it is in `page.faults`.
export async function open(file, { hash = "", width = 1300, height = 900, scheme = "light" } = {}) {
  const page = await Page.open(browser, { width, height, scheme });
  await page.goto(pathToFileURL(join(folder, file)).href + hash);
  page.shown_ms = await page.evaluate(() => performance.getEntriesByName("strata-shown")[0].startTime);
  return page;
}

/// Opens the tab of a view, which is made then.
export async function view(page, id) {
  await page.locator(`#tab-${id}`).evaluate((tab) => tab.click());
  const section = page.locator(`#${id}`);
  await section.locator(".view > *").first().waitFor();
  return section;
}

export async function picture(page, name) {
  if (STRATA_SCREENSHOTS) writeFileSync(join(STRATA_SCREENSHOTS, `${name}.png`), await page.screenshot());
}

export async function end() {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
