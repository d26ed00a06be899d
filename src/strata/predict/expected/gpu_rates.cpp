// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/gpu_rates.hpp"

#include "strata/base/error.hpp"

#include <algorithm>

namespace strata {
namespace {

/// Share of the datasheet's bandwidth that long copies reach, by what memory is made of: about 0.87
/// on HBM2 and later, 0.76 on GDDR, which the sources of a machine's numbers name.
double reached_share(const MemoryLevel& memory) {
  const auto names_gddr = [](const std::string& text) {
    return text.find("GDDR") != std::string::npos;
  };
  const bool is_gddr =
      names_gddr(memory.name) || names_gddr(memory.capacity_bytes.source) ||
      (memory.bandwidth_bytes_per_s && names_gddr(memory.bandwidth_bytes_per_s->source));
  return is_gddr ? 0.76 : 0.87;
}

double peak_of(const Machine& machine, DType dtype) {
  double best = 0;
  for (const ComputeUnit unit : {ComputeUnit::vector, ComputeUnit::matrix}) {
    // fp32 is not multiplied on matrix units, whatever the data sheet calls TF32.
    if (unit == ComputeUnit::matrix && dtype == DType::fp32) continue;
    if (const Peak* peak = find_peak(machine, dtype, unit))
      best = std::max(best, peak->flop_per_s.value);
  }
  return best;
}

}  // namespace

GpuRates gpu_rates(const Machine& machine) {
  GpuRates rates;
  const auto lacks = [&](std::string_view what) {
    fail(ErrorKind::input, "machine '{}' lacks {}, without which there is no expected time",
         machine.name, what);
  };
  if (!machine.units) lacks("units (how many SMs)");
  rates.units = machine.units->count.value;
  if (machine.clocks.boost_hz)
    rates.clock_hz = machine.clocks.boost_hz->value;
  else if (machine.clocks.seen_hz)
    rates.clock_hz = machine.clocks.seen_hz->value;
  else
    lacks("clocks.boost_hz");
  const MemoryLevel* memory = off_chip(machine);
  if (memory == nullptr || !memory->bandwidth_bytes_per_s) lacks("the bandwidth of its memory");
  rates.bytes_per_s =
      memory->bandwidth_bytes_per_s->value * (machine.measured ? 1.0 : reached_share(*memory));
  if (const MemoryLevel* cache = last_on_chip(machine))
    rates.l2_bytes = cache->capacity_bytes.value;
  const double fp32 = peak_of(machine, DType::fp32);
  if (fp32 <= 0) lacks("an fp32 peak");
  for (const DType dtype : all_dtypes())
    rates.matrix_flop_per_s[static_cast<std::size_t>(dtype)] = peak_of(machine, dtype);
  auto& peaks = rates.matrix_flop_per_s;
  const auto at = [&](DType dtype) -> double& { return peaks[static_cast<std::size_t>(dtype)]; };
  if (at(DType::fp16) <= 0) at(DType::fp16) = std::max(at(DType::bf16), fp32);
  // What has no units of its own is computed in fp32.
  for (double& peak : peaks) {
    if (peak <= 0) peak = fp32;
  }
  return rates;
}

}  // namespace strata
