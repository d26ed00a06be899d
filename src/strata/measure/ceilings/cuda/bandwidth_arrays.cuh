// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/ceilings/cuda/bench.cuh"
#include "strata/measure/ceilings/cuda/kernels.cuh"

#include <cstdint>

namespace strata::cuda {

/// A tile loop that lasts some milliseconds.
struct TileLoopRun {
  TileLoop loop;
  double moved = 0;  ///< bytes of one launch
  Bench::Enqueue enqueue;
};

/// Three arrays of random data for the bandwidth kernels.
class BandwidthArrays {
 public:
  /// `bytes` of each, a multiple of stream_block_bytes.
  BandwidthArrays(const Bench& bench, std::int64_t bytes);

  std::int64_t bytes() const { return bytes_; }
  Arrays all() const;
  /// Makes what is written visible.
  void poison() const { out_.poison(0xA5); }

  /// Arrays that are `set` bytes together, rounded to tiles.
  TileLoopRun plan(const Bench& bench, AccessMix mix, Caching caching, std::int64_t set) const;

  /// Errors (internal) when the last kernel left anything but its result in the first `bytes`.
  void check_result(const Bench& bench, AccessMix mix, std::int64_t bytes) const;
  /// Poisons, loops and checks; what read only reads is checked by the tests.
  void check_loop(const Bench& bench, AccessMix mix, const TileLoopRun& run) const;

 private:
  std::int64_t bytes_;
  DeviceBuffer out_, a_, b_, checksums_, mismatches_;
};

}  // namespace strata::cuda
