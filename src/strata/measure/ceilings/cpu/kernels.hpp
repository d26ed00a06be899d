// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/cpu/vector_unit.hpp"
#include "strata/machine/machine.hpp"

#include <cstdint>
#include <string>

/// The loops whose speed is a ceiling, in the widest vector instructions that this CPU has: chosen
/// at run time with Highway, or whatever the compiler's baseline is in a build without it.
namespace strata::cpu {

enum class LaneUse : std::uint8_t { one, all };

/// How many numbers run_fma holds in registers.
std::int64_t fma_elements(DType dtype, LaneUse use);
/// Each number of `start` away from where it is and back (x - 7 + 7, or 7 - (7 - x)),
/// `double_steps` times as multiply-adds in registers, and the results to `out`: those of `start`,
/// exactly, when they are small integers. fp32 or fp64. FLOP: 2 for each number and step.
void run_fma(DType dtype, LaneUse use, std::int64_t double_steps, const void* start, void* out);

/// Ordinary stores, or non-temporal (streaming) stores, which bypass the caches.
enum class Store : std::uint8_t { cached, non_temporal };
/// Whether this CPU has non-temporal stores.
bool has_non_temporal_stores();
/// Whether the loop prefetches into the last cache: the hardware prefetcher of some processors does
/// not reach the bandwidth of the memory.
enum class Prefetch : std::uint8_t { none, ahead };
/// Whether the loops of this build can prefetch.
bool can_prefetch();

/// One pass over arrays of `count` doubles: read Σa, write a = 3, copy a = b, triad a = b + 3 c.
struct BandwidthLoop {
  AccessMix mix = AccessMix::read;
  Store store = Store::cached;
  double* a = nullptr;  ///< arrays begin at multiples of 64 bytes
  const double* b = nullptr;
  const double* c = nullptr;
  std::int64_t count = 0;  ///< a multiple of loop_granule
  Prefetch prefetch = Prefetch::none;
};
inline constexpr std::int64_t loop_granule = 256;
inline constexpr double triad_factor = 3;

/// Runs the loop `passes` times. Returns the sum of all passes for read, otherwise 0.
double run_bandwidth_loop(const BandwidthLoop& loop, std::int64_t passes);

/// a = b + 3 c as the STREAM benchmark writes it: plain C++, compiled like any loop with the same
/// flags.
void stream_triad(double* a, const double* b, const double* c, std::int64_t count);

/// `rounds` × 64 additions of integers, each needing the result of the one before: as many clocks,
/// on every CPU that adds in one.
std::uint64_t add_in_a_chain(std::int64_t rounds, std::uint64_t step);
inline constexpr std::int64_t adds_per_round = 64;

}  // namespace strata::cpu
