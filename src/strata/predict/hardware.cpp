// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/hardware.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace strata {
namespace {

constexpr double most_bytes = 9e18;  // below 2^63

[[noreturn]] void fail_without_dtype(const Machine& machine, DType dtype) {
  std::vector<std::string_view> known;
  for (const Peak& peak : machine.peaks) {
    const std::string_view name = name_of(peak.dtype);
    if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
  }
  fail(ErrorKind::input, "{} has no rate for {}; it has: {} (or give --throughput)", machine.name,
       name_of(dtype), fmt::join(known, ", "));
}

double checked_rate(double rate, std::string_view what) {
  if (!std::isfinite(rate) || rate <= 0)
    fail(ErrorKind::usage, "{} must be positive, got {}", what, rate);
  return rate;
}

std::int64_t capacity_of(const Machine& machine) {
  const auto last = std::find_if(machine.memory.rbegin(), machine.memory.rend(),
                                 [](const MemoryLevel& level) { return level.is_on_chip; });
  if (last == machine.memory.rend())
    fail(ErrorKind::input, "{} has no on-chip memory; give --capacity", machine.name);
  const double bytes = last->capacity_bytes.value;
  if (!(bytes >= 1 && bytes <= most_bytes)) {
    fail(ErrorKind::input, "{}: a capacity of {} bytes of {} makes no sense", machine.name, bytes,
         last->name);
  }
  return static_cast<std::int64_t>(bytes);
}

double bandwidth_of(const Machine& machine) {
  const MemoryLevel* outer = machine.memory.empty() ? nullptr : &machine.memory.back();
  if (outer == nullptr || outer->is_on_chip || !outer->bandwidth_bytes_per_s) {
    fail(ErrorKind::input, "{} says no bandwidth of its outermost memory; give --bandwidth",
         machine.name);
  }
  return checked_rate(outer->bandwidth_bytes_per_s->value, machine.name + ": bandwidth");
}

}  // namespace

Hardware hardware_of(const Machine& machine, DType dtype, const HardwareOverrides& overrides) {
  Hardware hardware;
  hardware.capacity_bytes =
      overrides.capacity_bytes ? *overrides.capacity_bytes : capacity_of(machine);
  hardware.is_cache = !overrides.capacity_bytes && (machine.kind == "gpu" || machine.kind == "cpu");
  hardware.bytes_per_s = overrides.bytes_per_s ? checked_rate(*overrides.bytes_per_s, "--bandwidth")
                                               : bandwidth_of(machine);
  if (overrides.flop_per_s) {
    hardware.dense_flop_per_s = checked_rate(*overrides.flop_per_s, "--throughput");
    hardware.other_flop_per_s = hardware.dense_flop_per_s;
    return hardware;
  }
  const Peak* const matrix = find_peak(machine, dtype, ComputeUnit::matrix);
  const Peak* const own_lanes = find_peak(machine, dtype, ComputeUnit::vector);
  if (matrix == nullptr && own_lanes == nullptr) fail_without_dtype(machine, dtype);
  const Peak* const lanes =
      own_lanes != nullptr ? own_lanes : find_peak(machine, DType::fp32, ComputeUnit::vector);
  const Peak& dense = matrix != nullptr ? *matrix : *own_lanes;
  const Peak& other = lanes != nullptr ? *lanes : dense;
  const auto rate_of = [](const Peak& peak) {
    return RateOf{peak.dtype, peak.unit == ComputeUnit::matrix};
  };
  hardware.dense_of = rate_of(dense);
  hardware.other_of = rate_of(other);
  hardware.dense_flop_per_s = checked_rate(dense.flop_per_s.value, machine.name + ": rate");
  hardware.other_flop_per_s = checked_rate(other.flop_per_s.value, machine.name + ": rate");
  return hardware;
}

std::optional<double> outer_memory_bytes(const Machine& machine) {
  if (machine.memory.empty() || machine.memory.back().is_on_chip) return std::nullopt;
  return machine.memory.back().capacity_bytes.value;
}

}  // namespace strata
