// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/measure/ceilings/cuda/ceilings.cuh"
#include "strata/measure/ceilings/cuda/kernels.cuh"
#include "strata/measure/ceilings/gpu_rates.hpp"

#include <fmt/format.h>

#include <vector>

namespace strata::cuda {
namespace {

constexpr int blocks_per_sm = 8;  // of 256 threads: as many as an SM holds

/// An even number of steps x ← 7 - x leaves every number where it was, exactly, and lets every bit
/// of the arithmetic switch meanwhile.
void check_result_of(const Bench& bench, const FmaRun& run, const DeviceBuffer& start,
                     const DeviceBuffer& out) {
  std::vector<unsigned char> before(start.bytes()), after(out.bytes());
  out.poison(0xFF);
  run_fma(run, start.get(), out.get(), bench.stream());
  bench.synchronize();
  STRATA_CUDA_CALL(cudaMemcpy(before.data(), start.get(), before.size(), cudaMemcpyDeviceToHost));
  STRATA_CUDA_CALL(cudaMemcpy(after.data(), out.get(), after.size(), cudaMemcpyDeviceToHost));
  STRATA_CHECK(before == after, "the multiply-adds left another result than their closed form");
}

Peak peak_of_lanes(const Bench& bench, DType dtype) {
  FmaRun run{.dtype = dtype, .blocks = bench.device().sm_count * blocks_per_sm, .rounds = 2048};
  if (dtype == DType::fp64) run.rounds = 256;  // on many GPUs 1/64 of the rate
  const auto bytes = static_cast<std::size_t>(fma_elements(run) * bytes_per_element(dtype));
  const DeviceBuffer start(bytes), out(bytes);
  fill_small_integers(start.get(), fma_elements(run), dtype, bench.options().seed, bench.stream());
  check_result_of(bench, run, start, out);
  const Timing timing =
      bench.time([&](cudaStream_t stream) { run_fma(run, start.get(), out.get(), stream); });
  const bool is_packed = dtype == DType::fp16 || dtype == DType::bf16;
  Peak peak{dtype, ComputeUnit::vector,
            rate_of(fma_flop(run), timing,
                    fmt::format("{} chains of multiply-adds per thread in registers{}, {} threads "
                                "per SM; the median",
                                fma_chains, is_packed ? ", packed in pairs" : "",
                                blocks_per_sm * fma_threads_per_block))};
  compare_with_documents(bench.device(), peak);
  return peak;
}

}  // namespace

void compare_with_documents(const DeviceInfo& device, Peak& peak) {
  Measurement& evidence = *peak.flop_per_s.evidence;
  const double rate = peak.flop_per_s.value;
  const auto per_clock = flop_per_clock_of_sm(device.major, device.minor, peak.dtype, peak.unit);
  if (per_clock) peak.flop_per_clock = Sourced{*per_clock, std::string(source_of_sm_rates)};
  if (evidence.clock_hz) peak.clock_hz = Sourced{*evidence.clock_hz, "NVML, while it ran"};
  if (per_clock && evidence.clock_hz) {
    const double arithmetic = *per_clock * device.sm_count * *evidence.clock_hz;
    evidence.share = PeakShare{rate / arithmetic,
                               fmt::format("{} SM x {:.0f} FLOP x {:.0f} MHz seen", device.sm_count,
                                           *per_clock, *evidence.clock_hz * 1e-6)};
  }
  const Machine* datasheet = datasheet_of(device.name);
  const Peak* promised =
      datasheet == nullptr ? nullptr : find_peak(*datasheet, peak.dtype, peak.unit);
  if (promised == nullptr) return;
  evidence.notes.push_back(fmt::format("{:.1f} % of the datasheet's {}",
                                       100 * rate / promised->flop_per_s.value,
                                       format_flop_per_s(promised->flop_per_s.value, 4)));
  if (!evidence.share) {
    evidence.share =
        PeakShare{rate / promised->flop_per_s.value,
                  fmt::format("datasheet: {}", format_flop_per_s(promised->flop_per_s.value, 4))};
  }
}

void measure_lanes(const Bench& bench, const Say& say, Machine& machine) {
  for (const DType dtype : {DType::fp64, DType::fp32, DType::fp16, DType::bf16}) {
    say(fmt::format("{} on the lanes", name_of(dtype)));
    if (dtype == DType::bf16 && bench.device().major < 8) {
      machine.measured->warnings.push_back(fmt::format(
          "bf16 on the lanes: {} has no such instruction (compute capability {}.{}, from 8.0 on)",
          bench.device().name, bench.device().major, bench.device().minor));
      continue;
    }
    machine.peaks.push_back(peak_of_lanes(bench, dtype));
  }
}

}  // namespace strata::cuda
