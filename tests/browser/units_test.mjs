// SPDX-License-Identifier: Apache-2.0
// units_test.mjs UNITS: how the report page writes numbers. UNITS is web/src/units.ts as JavaScript.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const { duration, energy, format, formatTick, money, unitOf } = await import(pathToFileURL(process.argv[2]));

// Traffic counts in powers of 1000, capacities in powers of 1024.
assert.equal(format(0, "bytes"), "0 B");
assert.equal(format(512, "bytes"), "512 B");
assert.equal(format(1000, "bytes"), "1.00 kB");
assert.equal(format(98e6, "bytes"), "98.0 MB");
assert.equal(format(2 ** 27, "bytes"), "134 MB");
assert.equal(format(999.7e3, "bytes"), "1.00 MB");
assert.equal(format(1023, "capacity"), "1,023 B");
assert.equal(format(1024, "capacity"), "1.00 KiB");
assert.equal(format(2 ** 27, "capacity"), "128 MiB");
assert.equal(format(80 * 2 ** 30, "capacity"), "80.0 GiB");
assert.equal(format(616e9, "bytes/s"), "616 GB/s");
assert.equal(format(13.45e12, "flop/s"), "13.5 TFLOP/s");
assert.equal(formatTick(2 ** 25, "capacity"), "32 MiB");
assert.equal(formatTick(1e8, "bytes"), "100 MB");
assert.equal(formatTick(1e-10, "s"), "100 ps");
assert.equal(formatTick(1e-13, "s"), "100 fs");

// A training run, as the terminal says it.
assert.equal(duration(42), "42.0 s");
assert.equal(duration(7.5 * 3600), "7.50 hours");
assert.equal(duration(10.3 * 86400), "10.3 days");
assert.equal(duration(365 * 86400), "365 days");
assert.equal(money(9.16e6, "USD"), "$9.16 M");
assert.equal(money(169_712.3, "USD"), "$170 k");
assert.equal(money(5.2, "EUR"), "5.20 EUR");
assert.equal(money(0.0123, "USD"), "$0.012");
assert.equal(money(2, ""), "2.00");
assert.equal(energy(479), "479 kWh");
assert.equal(energy(2.63e6), "2.63 GWh");

// Which of both is in the name.
for (const key of ["capacity_bytes", "footprint_bytes", "peak_memory_bytes", "scratch_bytes", "memory.L2.capacity_bytes"])
  assert.equal(unitOf(key), "capacity", key);
for (const key of ["traffic_in_bytes", "parameter_bytes", "offered_bytes"]) assert.equal(unitOf(key), "bytes", key);
assert.equal(unitOf("memory.DRAM.bandwidth_bytes_per_s"), "bytes/s");
