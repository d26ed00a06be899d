// SPDX-License-Identifier: Apache-2.0
// The kernels behind the bandwidths do what they say: their results are computed again on the host.
#include "strata/measure/ceilings/cuda/bandwidth_arrays.cuh"
#include "strata/measure/ceilings/cuda/kernels.cuh"
#include "strata/measure/ceilings/tile_step.hpp"
#include "tests/device/on_device.hpp"

#include <cmath>
#include <cstring>
#include <numeric>

namespace strata::test {
namespace {

using cuda::DeviceBuffer;

constexpr AccessMix all_mixes[] = {AccessMix::read, AccessMix::write, AccessMix::copy,
                                   AccessMix::triad};
constexpr std::uint32_t seed = 1;  // that of CeilingOptions
constexpr std::int64_t array_bytes = 3 * cuda::stream_block_bytes;

class Bandwidth : public OnDevice {
 protected:
  static float as_float(std::uint32_t word) {
    float number = 0;
    std::memcpy(&number, &word, sizeof number);
    return number;
  }
  static std::uint32_t a_word(std::int64_t index) {
    return cuda::pattern_word(static_cast<std::uint64_t>(index), seed + 1);
  }
  /// What each mix leaves in word `index` of the result.
  static std::uint32_t expected_word(AccessMix mix, std::int64_t index) {
    if (mix == AccessMix::write) return cuda::pattern_word(static_cast<std::uint64_t>(index), seed);
    if (mix == AccessMix::copy) return a_word(index);
    const float b = as_float(cuda::pattern_word(static_cast<std::uint64_t>(index), seed + 2));
    const float sum = std::fmaf(3, b, as_float(a_word(index)));
    std::uint32_t word = 0;
    std::memcpy(&word, &sum, sizeof word);
    return word;
  }
  void expect_result(AccessMix mix, const cuda::BandwidthArrays& arrays, std::int64_t bytes) const {
    const auto words = on_host<std::uint32_t>(arrays.all().out, bytes / 4);
    for (std::int64_t i = 0; i < bytes / 4; ++i)
      ASSERT_EQ(words[static_cast<std::size_t>(i)], expected_word(mix, i))
          << name_of(mix) << " word " << i;
  }
};

TEST_F(Bandwidth, streaming_kernels_touch_every_word) {
  const cuda::BandwidthArrays arrays(bench(), array_bytes);
  for (const AccessMix mix : all_mixes) {
    arrays.poison();
    stream_once(mix, arrays.all(), array_bytes, seed, stream());
    if (mix != AccessMix::read) {
      expect_result(mix, arrays, array_bytes);
      continue;
    }
    const std::int64_t count = array_bytes / cuda::stream_warp_bytes;
    const auto sums = on_host<std::uint32_t>(arrays.all().checksums, count);
    constexpr std::int64_t words = cuda::stream_warp_bytes / 4;
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint32_t expected = 0;
      for (std::int64_t k = 0; k < words; ++k) expected ^= a_word(i * words + k);
      ASSERT_EQ(sums[static_cast<std::size_t>(i)], expected) << "checksum " << i;
    }
  }
}

TEST_F(Bandwidth, the_check_on_the_device_sees_a_single_wrong_item) {
  const cuda::BandwidthArrays arrays(bench(), array_bytes);
  for (const AccessMix mix : all_mixes) {
    stream_once(mix, arrays.all(), array_bytes, seed, stream());
    arrays.check_result(bench(), mix, array_bytes);
    const bool is_read = mix == AccessMix::read;
    void* last = is_read ? static_cast<void*>(arrays.all().checksums)
                         : static_cast<char*>(arrays.all().out) + array_bytes - 16;
    STRATA_CUDA_CALL(cudaMemset(last, 0, 4));
    STRATA_CUDA_CALL(cudaDeviceSynchronize());
    EXPECT_THROW(arrays.check_result(bench(), mix, array_bytes), Error) << name_of(mix);
  }
}

TEST_F(Bandwidth, tile_loops_visit_the_tiles_they_say) {
  const cuda::BandwidthArrays arrays(bench(), std::int64_t{64} * cuda::loop_tile_bytes);
  for (const std::int64_t tiles : {1, 2, 3, 7, 64}) {
    for (const cuda::Caching caching : {cuda::Caching::all_levels, cuda::Caching::shared_level}) {
      cuda::TileLoop plan{.tiles = tiles, .passes = 11, .blocks = 5};
      plan.step = tile_step(tiles, plan.blocks);
      loop_over_tiles(AccessMix::read, caching, arrays.all(), plan, seed, stream());
      const auto sums =
          on_host<std::uint32_t>(arrays.all().checksums, plan.blocks * cuda::loop_warps_per_block);
      for (int block = 0; block < plan.blocks; ++block) {
        std::uint32_t seen = 0, expected = 0;
        for (int warp = 0; warp < cuda::loop_warps_per_block; ++warp)
          seen ^= sums[static_cast<std::size_t>(block * cuda::loop_warps_per_block + warp)];
        constexpr std::int64_t words = cuda::loop_tile_bytes / 4;
        for (std::int64_t pass = 0; pass < plan.passes; ++pass) {
          const std::int64_t tile = (block + pass * plan.step) % tiles;
          for (std::int64_t k = 0; k < words; ++k) expected ^= a_word(tile * words + k);
        }
        ASSERT_EQ(seen, expected) << tiles << " tiles, block " << block;
      }
    }
  }
}

TEST_F(Bandwidth, tile_loops_write_every_tile) {
  const cuda::BandwidthArrays arrays(bench(), std::int64_t{64} * cuda::loop_tile_bytes);
  for (const AccessMix mix : {AccessMix::write, AccessMix::copy, AccessMix::triad}) {
    const double arrays_of_mix = cuda::moved_bytes(mix, 1);
    const auto set = static_cast<std::int64_t>(arrays_of_mix) * 32 * cuda::loop_tile_bytes;
    const cuda::TileLoopRun run = arrays.plan(bench(), mix, cuda::Caching::shared_level, set);
    EXPECT_EQ(run.loop.tiles, 32);
    arrays.poison();
    run.enqueue(stream());
    expect_result(mix, arrays, run.loop.tiles * cuda::loop_tile_bytes);
    // Not a byte beyond.
    const auto words = on_host<std::uint32_t>(arrays.all().out, arrays.bytes() / 4);
    EXPECT_EQ(words[static_cast<std::size_t>(run.loop.tiles * cuda::loop_tile_bytes / 4)],
              0xA5A5A5A5u);
  }
}

TEST_F(Bandwidth, shared_memory_is_read_whole_in_every_pass) {
  constexpr int blocks = 3;
  const DeviceBuffer sums(blocks * cuda::shared_threads_per_block * sizeof(std::uint32_t));
  for (const std::int64_t passes : {1, 2, 3, 8}) {
    cuda::read_shared(sums.get<std::uint32_t>(), blocks, passes, seed, stream());
    const auto words = on_host<std::uint32_t>(sums.get(), blocks * cuda::shared_threads_per_block);
    std::uint32_t all = 0;  // of one pass over the tile
    for (std::int64_t i = 0; i < cuda::shared_tile_bytes / 4; ++i)
      all ^= cuda::pattern_word(static_cast<std::uint64_t>(i), seed);
    for (int block = 0; block < blocks; ++block) {
      const auto first = words.begin() + block * cuda::shared_threads_per_block;
      const std::uint32_t seen =
          std::accumulate(first, first + cuda::shared_threads_per_block, 0u,
                          [](std::uint32_t x, std::uint32_t y) { return x ^ y; });
      EXPECT_EQ(seen, passes % 2 == 1 ? all : 0u) << passes << " passes";
    }
  }
}

}  // namespace
}  // namespace strata::test
