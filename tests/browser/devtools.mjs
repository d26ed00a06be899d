// SPDX-License-Identifier: Apache-2.0
// A Chromium of the distribution, driven by the DevTools protocol over two pipes: JSON messages, each ended by a zero.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const quietly = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--hide-scrollbars",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-background-timer-throttling",
  "--disable-backgrounding-occluded-windows",
  "--disable-renderer-backgrounding",
  "--disable-component-update",
  "--disable-sync",
];

export class DevTools {
  #process;
  #answers = new Map(); // by number of the question
  #listeners = new Map(); // by session
  #asked = 0;
  #rest = "";

  constructor(program, folder) {
    this.#process = spawn(
      program,
      [...quietly, "--remote-debugging-pipe", `--user-data-dir=${join(folder, "browser")}`, "about:blank"],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
    );
    this.#process.stdio[4].setEncoding("utf8").on("data", (text) => this.#read(text));
    this.#process.on("exit", () => {
      for (const { reject } of this.#answers.values()) reject(new Error("the browser has ended"));
    });
  }

  #read(text) {
    const messages = (this.#rest + text).split("\0");
    this.#rest = messages.pop();
    for (const message of messages.map((each) => JSON.parse(each))) {
      const { id, method, params, sessionId, result, error } = message;
      if (id === undefined) {
        this.#listeners.get(sessionId)?.(method, params);
        continue;
      }
      const { resolve, reject } = this.#answers.get(id);
      this.#answers.delete(id);
      if (error) reject(new Error(error.message));
      else resolve(result);
    }
  }

  /// Asks the browser, or one page of it; gives the answer.
  ask(method, params = {}, sessionId = undefined) {
    const id = ++this.#asked;
    const answer = new Promise((resolve, reject) => this.#answers.set(id, { resolve, reject }));
    this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return answer;
  }

  /// Calls with the name and the content of every event of a session; of the browser itself without one.
  listen(sessionId, listener) {
    this.#listeners.set(sessionId, listener);
  }

  async close() {
    const ended = once(this.#process, "exit");
    await this.ask("Browser.close").catch(() => {});
    await ended;
  }
}
