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

/// Whether stores may leave their lines in the caches, or go around them.
enum class Store : std::uint8_t { cached, past_caches };
/// Whether stores that go around the caches exist.
bool has_stores_past_caches();
/// Whether lines are asked for some way ahead, into the last cache: some processors do not ask for
/// as many by themselves as memory could give.
enum class Asking : std::uint8_t { none, ahead };
/// Whether walks of this build can.
bool can_ask_ahead();

/// One walk over arrays of `count` doubles: read Σa, write a = 3, copy a = b, triad a = b + 3 c.
struct Walk {
  AccessMix mix = AccessMix::read;
  Store store = Store::cached;
  double* a = nullptr;  ///< arrays begin at multiples of 64 bytes
  const double* b = nullptr;
  const double* c = nullptr;
  std::int64_t count = 0;  ///< a multiple of walk_granule
  Asking asking = Asking::none;
};
inline constexpr std::int64_t walk_granule = 256;
inline constexpr double walk_factor = 3;

/// The walk `passes` times; of read the sum of all passes, otherwise 0.
double run_walk(const Walk& walk, std::int64_t passes);

/// a = b + 3 c as the STREAM benchmark writes it: plain C++, for the compiler to make of it what it
/// makes of anybody's loop with the same flags.
void stream_triad(double* a, const double* b, const double* c, std::int64_t count);

/// `rounds` × 64 additions of integers, each needing the result of the one before: as many clocks,
/// on every CPU that adds in one.
std::uint64_t add_in_a_chain(std::int64_t rounds, std::uint64_t step);
inline constexpr std::int64_t adds_per_round = 64;

}  // namespace strata::cpu
