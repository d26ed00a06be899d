// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/measure/ceilings/cpu/cpu_ceilings.hpp"
#include "strata/measure/ceilings/cpu/kernels.hpp"
#include "strata/measure/ceilings/cpu/low_precision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace strata::cpu {
namespace {

/// The numbers of every thread, small integers, far enough apart for no two to share a line.
class FmaNumbers {
 public:
  FmaNumbers(DType dtype, LaneUse use, int threads)
      : elements_(fma_elements(dtype, use)),
        bytes_(static_cast<std::size_t>(elements_ * bytes_per_element(dtype))),
        start_(bytes_),
        out_(static_cast<std::size_t>(threads), std::vector<unsigned char>(bytes_ + 256)) {
    for (std::int64_t i = 0; i < elements_; ++i) {
      const auto small = static_cast<double>(i % 5 + 1);
      const auto single = static_cast<float>(small);
      const std::size_t size = bytes_ / static_cast<std::size_t>(elements_);
      std::memcpy(start_.data() + static_cast<std::size_t>(i) * size,
                  dtype == DType::fp64 ? static_cast<const void*>(&small) : &single, size);
    }
  }
  const void* start() const { return start_.data(); }
  void* out(int worker) { return out_[static_cast<std::size_t>(worker)].data(); }
  bool is_as_at_start(int worker) const {
    return std::memcmp(start_.data(), out_[static_cast<std::size_t>(worker)].data(), bytes_) == 0;
  }
  std::int64_t elements() const { return elements_; }

 private:
  std::int64_t elements_;
  std::size_t bytes_;
  std::vector<unsigned char> start_;
  std::vector<std::vector<unsigned char>> out_;
};

constexpr std::int64_t double_steps_per_pass = 256;

Sourced fma_rate(const Bench& bench, DType dtype, LaneUse use, int active, std::string method) {
  FmaNumbers numbers(dtype, use, active);
  const Timing timing = bench.time(
      [&](int worker, std::int64_t passes) {
        run_fma(dtype, use, passes * double_steps_per_pass, numbers.start(), numbers.out(worker));
      },
      active);
  for (int worker = 0; worker < active; ++worker) {
    STRATA_CHECK(numbers.is_as_at_start(worker),
                 "the multiply-adds left another result than their closed form");
  }
  const double flop_per_step = 2;
  const double flop = flop_per_step * 2 * static_cast<double>(double_steps_per_pass) *
                      static_cast<double>(numbers.elements()) * active;
  return rate_of(flop, timing, std::move(method));
}

/// Cores × FLOP per clock × the clock seen, where the last two are known.
void compare_with_clock(int cores, Peak& peak) {
  Measurement& evidence = *peak.flop_per_s.evidence;
  if (!evidence.clock_hz) return;
  peak.clock_hz = Sourced{*evidence.clock_hz,
                          "counted: additions that take one clock each, right after each sample"};
  if (!peak.flop_per_clock) return;
  const double flop = peak.flop_per_clock->value;
  evidence.share = PeakShare{peak.flop_per_s.value / (cores * flop * *evidence.clock_hz),
                             fmt::format("{} cores x {:.0f} FLOP x {:.0f} MHz seen", cores, flop,
                                         *evidence.clock_hz * 1e-6)};
}

/// What the multiply-add units of the core could do, where a table has them.
void set_flop_per_clock(const CpuUnderTest& tested, Peak& peak) {
  const auto units = fma_units_of(tested.core);
  const VectorUnit vectors = vector_unit();
  if (!units || !vectors.has_fma) {
    peak.flop_per_s.evidence->notes.push_back(
        vectors.has_fma ? "peak not known: how many multiply-add units this core has is in no table"
                        : "peak not known: these instructions have no multiply-add");
    return;
  }
  const auto bits = static_cast<std::int64_t>(units->bits_per_clock(vectors.bits));
  const auto flop = static_cast<double>(2 * bits / (8 * bytes_per_element(peak.dtype)));
  peak.flop_per_clock =
      Sourced{flop, fmt::format("{}: {} multiply-add units, {} bits per clock; {}",
                                units->architecture, units->units, bits, units->source)};
}

Peak peak_of(const Bench& bench, const CpuUnderTest& tested, DType dtype, const Say& say) {
  const VectorUnit vectors = vector_unit();
  say(fmt::format("{} multiply-adds, one lane", name_of(dtype)));
  const double scalar = fma_rate(bench, dtype, LaneUse::one, 1, "").value;
  say(fmt::format("{} multiply-adds, one core", name_of(dtype)));
  const double one_core = fma_rate(bench, dtype, LaneUse::all, 1, "").value;
  say(fmt::format("{} multiply-adds, all cores", name_of(dtype)));
  const int threads = bench.threads();
  Peak peak{dtype, ComputeUnit::vector,
            fma_rate(bench, dtype, LaneUse::all, threads,
                     fmt::format("chains of multiply-adds in registers of {} bits ({}, {}), one "
                                 "thread on each of {} cores; the median",
                                 vectors.bits, vectors.name, vectors.chosen_by, threads))};
  peak.flop_per_s.evidence->notes.push_back(fmt::format(
      "{:.1f} times one core, {}; with one lane of it {}", peak.flop_per_s.value / one_core,
      format_flop_per_s(one_core, 4), format_flop_per_s(scalar, 4)));
  set_flop_per_clock(tested, peak);
  compare_with_clock(threads, peak);
  return peak;
}

/// Whether each thread's numbers were right, far enough apart for no two to share a line.
struct alignas(128) Verdict {
  bool is_right = true;
};

Sourced low_precision_rate(const Bench& bench, const LowPrecisionLoop& loop, int active,
                           std::string method) {
  constexpr std::int64_t rounds_per_pass = 64;
  std::vector<Verdict> verdicts(static_cast<std::size_t>(active));
  const Timing timing = bench.time(
      [&](int worker, std::int64_t passes) {
        verdicts[static_cast<std::size_t>(worker)].is_right &= loop.run(passes * rounds_per_pass);
      },
      active);
  for (const Verdict& verdict : verdicts) {
    STRATA_CHECK(verdict.is_right, "multiply-adds left another result than their closed form");
  }
  return rate_of(static_cast<double>(loop.flop_per_round * rounds_per_pass * active), timing,
                 std::move(method));
}

Peak peak_of(const Bench& bench, const LowPrecisionLoop& loop) {
  const int threads = bench.threads();
  const double one_core = low_precision_rate(bench, loop, 1, "").value;
  Peak peak{loop.dtype, loop.unit,
            low_precision_rate(bench, loop, threads,
                               fmt::format("multiply-adds in registers with {}, one thread on each "
                                           "of {} cores; the median",
                                           loop.instructions, threads))};
  peak.flop_per_s.evidence->notes.push_back(
      fmt::format("one core {}", format_flop_per_s(one_core, 4)));
  if (loop.flop_per_clock)
    peak.flop_per_clock =
        Sourced{static_cast<double>(*loop.flop_per_clock), std::string(loop.source)};
  compare_with_clock(threads, peak);
  return peak;
}

void warn_of_absent_types(const Machine& machine, std::vector<std::string>& warnings) {
  std::vector<std::string_view> absent;
  for (const DType dtype : {DType::fp16, DType::bf16, DType::int8}) {
    const bool is_there = find_peak(machine, dtype, ComputeUnit::vector) != nullptr ||
                          find_peak(machine, dtype, ComputeUnit::matrix) != nullptr;
    if (!is_there) absent.push_back(name_of(dtype));
  }
  if (absent.empty()) return;
  warnings.push_back(fmt::format(
      "no rate for {}: this CPU has no multiply-adds of that type, or none that this version has a "
      "loop for (AVX512-FP16, AVX512-BF16, AMX)",
      fmt::join(absent, ", ")));
}

std::vector<Peak> all_peaks(const Bench& bench, const CpuUnderTest& tested, const Say& say) {
  std::vector<Peak> peaks;
  for (const DType dtype : {DType::fp64, DType::fp32})
    peaks.push_back(peak_of(bench, tested, dtype, say));
  for (const LowPrecisionLoop& loop : low_precision_loops()) {
    say(fmt::format("{} multiply-adds, {}", name_of(loop.dtype), name_of(loop.unit)));
    peaks.push_back(peak_of(bench, loop));
  }
  return peaks;
}

}  // namespace

void measure_arithmetic(const Bench& bench, const CpuUnderTest& tested, const Say& say,
                        Machine& machine) {
  machine.peaks = all_peaks(bench, tested, say);
  warn_of_absent_types(machine, machine.measured->warnings);
}

void measure_arithmetic_again(const Bench& bench, const CpuUnderTest& tested, const Say& say,
                              Machine& machine) {
  if (bench.options().is_quick) return;
  std::vector<Peak> again = all_peaks(bench, tested, say);
  for (std::size_t i = 0; i < again.size(); ++i) {
    const double first = machine.peaks[i].flop_per_s.value;
    const double second = again[i].flop_per_s.value;
    if (second > first) machine.peaks[i] = std::move(again[i]);
    machine.peaks[i].flop_per_s.evidence->notes.push_back(
        fmt::format("the better of two rounds, before and after memory was measured; the other {}",
                    format_flop_per_s(std::min(first, second), 4)));
  }
}

}  // namespace strata::cpu
