// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/ceilings/cpu/bench.hpp"
#include "strata/measure/ceilings/cpu/kernels.hpp"

#include <cstdint>
#include <memory>
#include <vector>

/// The memory that the bandwidth loops run over: for each thread a part that it has touched first,
/// so that the pages lie in the memory nearest to it.
namespace strata::cpu {

/// What one thread runs over, again and again.
struct BandwidthPlan {
  AccessMix mix = AccessMix::read;
  Store store = Store::cached;
  Prefetch prefetch = Prefetch::none;
  bool is_plain_stream = false;   ///< the triad as the STREAM benchmark writes it
  std::int64_t slice = 0;         ///< doubles of each array in one pass
  std::int64_t slices = 1;        ///< passes until it comes to the first again
  std::int64_t array_offset = 0;  ///< doubles from one array to the next

  std::int64_t doubles() const { return slice * slices; }  ///< of one array
};

std::int64_t arrays_of(AccessMix mix);

class BandwidthMemory {
 public:
  /// So many bytes for each thread. Errors (environment): no memory.
  BandwidthMemory(const Bench& bench, std::int64_t bytes_per_thread);
  ~BandwidthMemory();
  BandwidthMemory(const BandwidthMemory&) = delete;
  BandwidthMemory& operator=(const BandwidthMemory&) = delete;

  /// For each thread; the arrays of a mix divide it.
  std::int64_t bytes() const { return doubles_ * 8; }

  /// The arrays of one thread take `set_bytes` together, or a little less. Long arrays are cut into
  /// slices, one for each pass: a pass stays short, and no line is read again before all others.
  BandwidthPlan plan(AccessMix mix, Store store, std::int64_t set_bytes) const;
  /// Runs over the thread's own part, or over another's.
  Bench::Work work(const BandwidthPlan& plan) { return work_on(plan, {}); }
  Bench::Work work_on(const BandwidthPlan& plan, std::vector<int> owner_of_worker);
  /// Bytes that the kernels name in one pass of one thread.
  static double bytes_per_pass(const BandwidthPlan& plan);

  /// Runs one slice and compares every element with the closed form; what is wrong is an error
  /// (internal).
  void check(const Bench& bench, const BandwidthPlan& plan, int active);

 private:
  BandwidthLoop slice_of(const BandwidthPlan& plan, int owner, std::int64_t slice) const;

  struct alignas(128) Progress {
    std::int64_t next_slice = 0;
    double sum = 0;  ///< what was read, so that reading cannot be left out
  };
  std::int64_t doubles_ = 0;
  std::size_t region_bytes_ = 0;
  std::vector<double*> regions_;
  std::vector<Progress> progress_;
};

}  // namespace strata::cpu
