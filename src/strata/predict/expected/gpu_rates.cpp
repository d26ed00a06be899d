// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/gpu_rates.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace strata {
namespace {

/// Share of the datasheet's bandwidth that long copies reach, by what memory is made of: about 0.87
/// on HBM2 and later, 0.76 on GDDR, which the sources of a machine's numbers name.
double reached_share(const MemoryLevel& memory) {
  if (memory.lasting) return memory.lasting->value;
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

/// An SM with 64 lanes for FP32 and four schedulers (Volta, Turing, A100) issues a multiply-add
/// every other clock and loads or address arithmetic in between; one with 128 lanes (other Ampere,
/// Ada, Hopper) or two schedulers (P100) issues them instead of a multiply-add. Fitted to the
/// V100's runs in data/truth/neusight-transformers.json, whose card has a lower clock than ours.
constexpr double free_issue_gain = 1.28;

double issue_gain(const Machine& machine) {
  const Peak* fp32 = find_peak(machine, DType::fp32, ComputeUnit::vector);
  const bool has_four_schedulers = find_peak(machine, DType::fp16, ComputeUnit::matrix) != nullptr;
  if (fp32 == nullptr || !machine.units || !has_four_schedulers) return 1;
  const double clock_hz = machine.clocks.boost_hz  ? machine.clocks.boost_hz->value
                          : machine.clocks.seen_hz ? machine.clocks.seen_hz->value
                                                   : 0;
  if (clock_hz <= 0) return 1;
  const double per_clock = fp32->flop_per_s.value / (machine.units->count.value * clock_hz);
  return per_clock < 192 ? free_issue_gain : 1;
}

/// FP32 multiply-adds per joule of the whole card: 70 GFLOP on 12 nm, fitted to the T4's runs in
/// the same set; the ratios of the other processes are assumed. Nothing: unknown.
std::optional<double> fp32_flop_per_joule(const Machine& machine) {
  if (machine.kind != "gpu" || !machine.power_w || !machine.process) return std::nullopt;
  constexpr double on_12nm = 70e9;
  constexpr struct {
    std::string_view node;
    double times;
  } nodes[] = {{"28nm", 0.35}, {"16nm", 0.85}, {"14nm", 0.9}, {"12nm", 1},  {"8nm", 1.8},
               {"7nm", 2.4},   {"6nm", 2.5},   {"5nm", 3.4},  {"4nm", 3.6}, {"3nm", 4.5}};
  for (const auto& one : nodes) {
    if (machine.process->node == one.node) return on_12nm * one.times;
  }
  return std::nullopt;
}

/// The machine h200 keeps up this share of its peak in 16 bits. The calibrations that ship were
/// measured on it, and their fits are relative to it; a machine that does not say what lasts is
/// taken to be like it.
constexpr double lasting_here = 0.79;

/// Kernels of matrix units reach so much, beside what they reach on that GPU.
double lasting_peak(const Machine& machine, DType dtype, double peak) {
  const Peak* found = find_peak(machine, dtype, ComputeUnit::matrix);
  if (found == nullptr || !found->lasting || found->flop_per_s.value != peak) return peak;
  return peak * found->lasting->value / lasting_here;
}

/// What products in FP32 sustain is less than the watts of a small card allow at its boost clock.
double sustained_fp32(const Machine& machine, double peak) {
  constexpr double reached = 0.77;  // of the peak, by large products
  const auto per_joule = fp32_flop_per_joule(machine);
  return per_joule ? std::min(peak, *per_joule * machine.power_w->value / reached) : peak;
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
  rates.issues_per_s = rates.units * rates.clock_hz * issue_gain(machine);
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
  for (const DType dtype : all_dtypes()) {
    const auto place = static_cast<std::size_t>(dtype);
    rates.kernel_flop_per_s[place] = lasting_peak(machine, dtype, peaks[place]);
  }
  rates.kernel_flop_per_s[static_cast<std::size_t>(DType::fp32)] =
      sustained_fp32(machine, fp32 * issue_gain(machine));
  return rates;
}

}  // namespace strata
