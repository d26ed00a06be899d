// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cuda/bandwidth_arrays.cuh"

#include "strata/base/error.hpp"
#include "strata/measure/ceilings/tile_step.hpp"

#include <algorithm>
#include <cmath>

namespace strata::cuda {
namespace {

constexpr double loop_s = 2e-3;  // long against the launch, so that its ends do not count

std::size_t checksum_bytes(const Bench& bench, std::int64_t bytes) {
  const std::int64_t streamed = bytes / stream_warp_bytes;
  const std::int64_t resident =
      std::int64_t{bench.device().sm_count} * 8 * shared_threads_per_block;
  return static_cast<std::size_t>(std::max(streamed, resident)) * sizeof(std::uint32_t);
}

}  // namespace

BandwidthArrays::BandwidthArrays(const Bench& bench, std::int64_t bytes)
    : bytes_(bytes),
      out_(static_cast<std::size_t>(bytes)),
      a_(static_cast<std::size_t>(bytes)),
      b_(static_cast<std::size_t>(bytes)),
      checksums_(checksum_bytes(bench, bytes)),
      mismatches_(sizeof(unsigned long long)) {
  STRATA_CHECK(bytes > 0 && bytes % stream_block_bytes == 0, "kernels have no remainder loop");
  fill_pattern(a_.get(), bytes, bench.options().seed + 1, bench.stream());
  fill_pattern(b_.get(), bytes, bench.options().seed + 2, bench.stream());
  poison();
  bench.synchronize();
}

Arrays BandwidthArrays::all() const {
  return {out_.get(), a_.get(), b_.get(), checksums_.get<std::uint32_t>()};
}

TileLoopRun BandwidthArrays::plan(const Bench& bench, AccessMix mix, Caching caching,
                                  std::int64_t set) const {
  const double arrays = moved_bytes(mix, 1);
  TileLoopRun run;
  run.loop.tiles = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(static_cast<double>(set) / arrays) / loop_tile_bytes, 1,
      bytes_ / loop_tile_bytes);
  run.loop.blocks = bench.device().sm_count * loop_blocks_per_sm;
  run.loop.step = tile_step(run.loop.tiles, run.loop.blocks);
  const auto enqueue_with = [&](std::int64_t passes) -> Bench::Enqueue {
    TileLoop plan = run.loop;
    plan.passes = passes;
    return [=, this, seed = bench.options().seed](cudaStream_t stream) {
      strata::cuda::loop_over_tiles(mix, caching, all(), plan, seed, stream);
    };
  };
  // Every tile at least once, and then for as long as a sample needs.
  const std::int64_t once = run.loop.tiles / run.loop.blocks + 1;
  const std::int64_t tried = std::max<std::int64_t>(64, once);
  const double tried_s = bench.glance(enqueue_with(tried));
  const double wanted = std::ceil(static_cast<double>(tried) * loop_s / tried_s);
  run.loop.passes = std::max(once, static_cast<std::int64_t>(wanted));
  run.enqueue = enqueue_with(run.loop.passes);
  run.moved = moved_bytes(mix, static_cast<double>(loop_tile_bytes)) * run.loop.blocks *
              static_cast<double>(run.loop.passes);
  return run;
}

void BandwidthArrays::check_result(const Bench& bench, AccessMix mix, std::int64_t bytes) const {
  STRATA_CUDA_CALL(cudaMemsetAsync(mismatches_.get(), 0, mismatches_.bytes(), bench.stream()));
  count_mismatches(mix, all(), bytes, bench.options().seed, mismatches_.get<unsigned long long>(),
                   bench.stream());
  unsigned long long wrong = 0;
  STRATA_CUDA_CALL(cudaMemcpyAsync(&wrong, mismatches_.get(), sizeof wrong, cudaMemcpyDeviceToHost,
                                   bench.stream()));
  bench.synchronize();
  if (wrong != 0) {
    fail(ErrorKind::internal, "the bandwidth kernel for {} left {} wrong items on {}", name_of(mix),
         wrong, bench.device().name);
  }
}

void BandwidthArrays::check_loop(const Bench& bench, AccessMix mix, const TileLoopRun& run) const {
  if (mix == AccessMix::read) return;
  poison();
  run.enqueue(bench.stream());
  // Blocks cover every tile only when they make enough passes; plan() sees to that.
  check_result(bench, mix, run.loop.tiles * loop_tile_bytes);
}

}  // namespace strata::cuda
