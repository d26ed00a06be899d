// SPDX-License-Identifier: Apache-2.0
// node build.mjs FILE: everything in src/ and page.html becomes one HTML file without a reference to anything outside.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const output = process.argv[2] ?? "report_page.html";
const result = await build({
  entryPoints: ["src/main.ts"],
  bundle: true,
  minify: true,
  write: false,
  outdir: "out",
  format: "iife",
  target: ["chrome100", "firefox113", "safari16.4"],
  charset: "ascii",
  legalComments: "none",
  logLevel: "error",
});
const text = (ending) => result.outputFiles.find((file) => file.path.endsWith(ending)).text.trim();
const script = text(".js");
const sum = createHash("sha256").update(script).digest("base64");

// Only this script may run, and nothing may be fetched, whatever the data hold.
const policy = `default-src 'none'; script-src 'sha256-${sum}'; style-src 'unsafe-inline'; img-src data:`;
const page = (await readFile("page.html", "utf8"))
  .replace("<!--policy-->", () => policy)
  .replace("<!--style-->", () => text(".css"))
  .replace("<!--script-->", () => script);
await writeFile(output, page);
