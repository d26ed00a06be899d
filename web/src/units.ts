// SPDX-License-Identifier: Apache-2.0
// Base units become what people read: the only place where that happens. Units mean what SI and
// IEC say, as everywhere in Strata: traffic, tensors and rates in powers of 1000 (MB, GB/s), what a chip or a device
// holds, and what is compared with that, in powers of 1024 (MiB, GiB).

export type Unit =
  "s" | "bytes" | "capacity" | "bytes/s" | "flop" | "flop/s" | "flop/byte" | "share" | "ratio" | "mm2" | "count";

/// Names of bytes that lie in a memory rather than move; is_capacity_name in base/units.cpp has the same list.
function isCapacity(key: string): boolean {
  return /capacity|footprint|memory|occupied|scratch|granularity/.test(key.slice(key.lastIndexOf(".") + 1));
}

/// The unit is in the name of a key: "stall_time_s", "bandwidth_bytes_per_s".
export function unitOf(key: string): Unit {
  if (key.endsWith("bytes_per_s")) return "bytes/s";
  if (key.endsWith("flop_per_s")) return "flop/s";
  if (key.endsWith("flop_per_byte")) return "flop/byte";
  if (key.endsWith("mm2")) return "mm2";
  if (key.endsWith("samples_per_s")) return "count";
  if (key.endsWith("_s")) return "s";
  if (key.endsWith("bytes")) return isCapacity(key) ? "capacity" : "bytes";
  if (key.endsWith("flop")) return "flop";
  if (key.endsWith("share") || key === "utilisation") return "share";
  if (key.endsWith("ratio") || key.startsWith("distance")) return "ratio";
  return "count";
}

const thousands = ["", " k", " M", " G", " T", " P", " E"];
const binary = [" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"];

/// Three digits that count: 0.0512, 5.12, 51.2, 512, 5,120.
export function digits(value: number, count = 3): string {
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(count))))); // 0.9999 is written as 1.00
  const decimals = Math.max(0, count - 1 - size);
  if (decimals > 9) return value.toExponential(count - 1);
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function scaled(value: number, base: number, names: readonly string[]): string {
  let step = 0;
  let rest = Math.abs(value);
  // 999.6 would be written as 1,000.
  while (rest >= base * 0.9995 && step < names.length - 1) {
    rest /= base;
    step++;
  }
  return (value < 0 ? "−" : "") + digits(rest) + (names[step] ?? "");
}

function seconds(value: number): string {
  const size = Math.abs(value);
  const sign = value < 0 ? "−" : "";
  if (size === 0) return "0 s";
  if (size < 0.9995e-12) return `${sign === "" ? "< " : "> −"}1 ps`; // what rounding leaves
  if (size >= 0.9995) return `${sign}${digits(size)} s`;
  if (size >= 0.9995e-3) return `${sign}${digits(size * 1e3)} ms`;
  if (size >= 0.9995e-6) return `${sign}${digits(size * 1e6)} µs`;
  if (size >= 0.9995e-9) return `${sign}${digits(size * 1e9)} ns`;
  return `${sign}${digits(size * 1e12)} ps`;
}

/// A power of ten on an axis: "1 ms", "0.1 FLOP/B", without digits that say nothing.
export function formatTick(value: number, unit: Unit): string {
  if (unit === "s" && value > 0 && value < 0.9995e-12) return `${Number((value * 1e15).toPrecision(3))} fs`;
  return format(value, unit)
    .replace(/(\d)\.0+(?=\D|$)/, "$1")
    .replace(/(\.\d*?[1-9])0+(?=\D|$)/, "$1");
}

export function percent(share: number): string {
  const value = share * 100;
  if (value === 0) return "0 %";
  if (Math.abs(value) < 0.01) return value < 0 ? "> −0.01 %" : "< 0.01 %";
  return `${Math.abs(value) < 9.995 ? value.toFixed(Math.abs(value) < 0.995 ? 2 : 1) : Math.round(value)} %`.replace(
    "-",
    "−",
  );
}

export function whole(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

export function format(value: number | null | undefined, unit: Unit): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  switch (unit) {
    case "s":
      return seconds(value);
    case "bytes":
      return Math.abs(value) < 1000 ? `${digits(value)} B` : `${scaled(value, 1000, thousands)}B`;
    case "capacity":
      return Math.abs(value) < 1024 ? `${digits(value)} B` : scaled(value, 1024, binary);
    case "bytes/s":
      return `${scaled(value, 1000, thousands)}${Math.abs(value) < 1000 ? " " : ""}B/s`;
    case "flop":
      return `${scaled(value, 1000, thousands)}${Math.abs(value) < 1000 ? " " : ""}FLOP`;
    case "flop/s":
      return `${scaled(value, 1000, thousands)}${Math.abs(value) < 1000 ? " " : ""}FLOP/s`;
    case "flop/byte":
      return `${digits(value)} FLOP/B`;
    case "share":
      return percent(value);
    case "ratio":
      return `${digits(value)}×`;
    case "mm2":
      return `${digits(value)} mm²`;
    case "count":
      return Number.isInteger(value) && Math.abs(value) < 1e6 ? whole(value) : scaled(value, 1000, thousands);
  }
}

/// Of a training run: "93.1 days", "7.50 hours", "42.0 s".
export function duration(value: number): string {
  const hours = value / 3600;
  const days = hours / 24;
  if (days >= 2) return `${days < 100 ? digits(days) : whole(days)} days`;
  return hours >= 2 ? `${digits(hours)} hours` : seconds(value);
}

/// "$9.16 M", "5.20 EUR".
export function money(amount: number, currency: string): string {
  const number =
    amount >= 999.5 ? scaled(amount, 1000, thousands) : amount >= 0.1 ? amount.toFixed(2) : String(Number(amount.toPrecision(2)));
  return currency === "USD" ? `$${number}` : currency === "" ? number : `${number} ${currency}`;
}

/// "479 kWh", "2.63 GWh".
export function energy(kwh: number): string {
  return kwh >= 999.5 ? `${scaled(kwh * 1e3, 1000, thousands)}Wh` : `${digits(kwh)} kWh`;
}

const labels = new Map([
  ["time_s", "time"],
  ["step_time_s", "part of the step"],
  ["flop", "FLOP"],
  ["traffic_in_bytes", "bytes in"],
  ["traffic_out_bytes", "bytes out"],
  ["moved_in_bytes", "bytes in meanwhile"],
  ["moved_out_bytes", "bytes out meanwhile"],
  ["samples_per_s", "samples per second"],
  ["area_mm2", "area at 5 nm"],
  ["area_16nm_mm2", "area at 16 nm"],
]);

/// "stall_time_s" → "stall time": the unit stands beside the number.
export function labelOf(key: string): string {
  return (
    labels.get(key) ??
    key
      .replace(/_(bytes_per_s|flop_per_s)$/, "")
      .replace(/_(s|bytes|mm2)$/, "")
      .replaceAll("_", " ")
      .replace(/\bflop\b/, "FLOP")
  );
}
