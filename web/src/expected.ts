// SPDX-License-Identifier: Apache-2.0
// What an iteration is expected to take in a framework: the time with its interval, what it is lost to, and whether it
// fits the memory.
import type { Card } from "./cards";
import { h, words } from "./dom";
import type { ExpectedTime, ProfileDocument } from "./schema";
import { format, percent } from "./units";

/// "35.0 ms to 48.1 ms".
export function interval(expected: ExpectedTime): string {
  const [low, high] = expected.interval_s;
  return `${format(low, "s")} to ${format(high, "s")}`;
}

/** How the times of kernels came from the machine that is named behind it. */
export function kernelsFrom(calibration: unknown): string {
  if (calibration === "calibrated") return "measured on";
  return calibration === "corrected" ? "corrected from" : "transferred from";
}

export function expectedCards(document: ProfileDocument, expected: ExpectedTime): Card[] {
  const from = kernelsFrom(expected.calibration);
  const isHostBound = expected.host_s > expected.busy_s;
  return [
    {
      label: "expected",
      value: format(expected.time_s, "s"),
      detail: `90 % interval ${interval(expected)}, ${expected.framework}${expected.evidence ? `; ${expected.evidence.text}` : ""}`,
    },
    { label: "samples per second", value: format(expected.samples_per_s, "count"), detail: `expected; kernels ${from} ${expected.calibrated_on}` },
    {
      label: document.machine?.kind === "cpu" ? "CPU busy" : "GPU busy",
      value: percent(expected.busy_s / expected.time_s),
      detail: isHostBound
        ? `host-bound${hostOf(expected)}: a larger batch or CUDA graphs help, a faster GPU hardly`
        : "of the time",
    },
    memoryCard(document, expected),
  ];
}

/// " on 16 virtual CPU cores, 1.5 times as slow".
function hostOf({ host }: ExpectedTime): string {
  if (!host) return "";
  return ` on ${host.title}${host.slower === 1 ? "" : `, ${format(host.slower, "count")} times as slow`}`;
}

/// What has to fit is what the framework allocates; the plan of the limit needs another amount.
function memoryCard(document: ProfileDocument, expected: ExpectedTime): Card {
  const there = document.machine?.memory_bytes;
  const of = typeof there === "number" ? ` of ${format(there, "capacity")}` : "";
  return {
    label: "memory",
    value: format(expected.memory_bytes, "capacity"),
    detail:
      expected.fits === false
        ? `out of memory: more than the ${of.slice(4)} there`
        : `peak${of}, as ${expected.framework} allocates`,
  };
}

/// What does not fit, and what would: above everything else.
export function outOfMemory(document: ProfileDocument): HTMLElement | null {
  const { expected } = document;
  if (!expected || expected.fits !== false) return null;
  const there = document.machine?.memory_bytes;
  const batch = expected.largest_batch;
  const largest =
    typeof batch !== "number" ? "" : batch > 0 ? ` The largest batch that fits is ${batch}.` : " No batch fits.";
  const changes = (expected.memory_changes ?? []).map(
    (each) => `${each.change} needs ${format(each.memory_bytes, "capacity")}${each.fits ? " and fits" : ""}`,
  );
  return h(
    "div",
    { class: "out-of-memory", role: "alert" },
    h(
      "p",
      { class: "lead" },
      `Out of memory: needs ${format(expected.memory_bytes, "capacity")}, has ${format(there, "capacity")}.${largest}`,
    ),
    changes.length > 0 && h("p", {}, ...words(`${changes.join("; ")}.`)),
  );
}
