// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/training/program.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

/// What one iteration takes on a machine with one software-managed on-chip memory, one channel to
/// the memory outside and one compute unit: docs/prediction.md has the rules, in words that leave
/// nothing open. The result is the limit that capacity and bandwidth set, not a calibrated time.
namespace strata {

inline constexpr StepId never = std::numeric_limits<StepId>::max();

/// Which of a machine's rates it is.
struct RateOf {
  DType dtype = DType::fp32;
  bool is_matrix = false;
};

/// The hardware of one prediction, in base units.
struct Hardware {
  std::int64_t capacity_bytes = 0;      ///< on-chip
  double bytes_per_s = 0;               ///< off-chip, reads and writes together
  double dense_flop_per_s = 0;          ///< matrix units where the machine has them
  double other_flop_per_s = 0;          ///< all other steps
  bool mac_is_one = false;              ///< a multiply-add counts 1 operation, not 2 (the thesis)
  std::optional<RateOf> dense_of = {};  ///< whose rates those are; absent where they were given
  std::optional<RateOf> other_of = {};
  bool is_cache = false;  ///< nobody manages the chip by hand: what does not fit streams through it
};

enum class Policy : std::uint8_t { best, thesis, belady, exact };
enum class Prefetch : std::uint8_t { none, next_layer, listing, soonest, listing_printed };
enum class Offload : std::uint8_t { on_demand, look_ahead };
/// What the idle channel takes first where both a load and a write-back could go.
enum class ChannelOrder : std::uint8_t { loads_first, offload_first };
enum class Objective : std::uint8_t { time, traffic };

struct PredictOptions {
  Policy policy = Policy::best;
  std::optional<Prefetch> prefetch = {};  ///< absent: the policy's own; best tries all but
                                          ///< listing_printed
  std::optional<Offload> offload = {};    ///< the same
  ChannelOrder channel = ChannelOrder::loads_first;
  Objective objective = Objective::time;
  bool tries_smaller_capacities = true;  ///< policy best: also plans made for less; slower to find
  bool strict_minimum = false;  ///< refuse a capacity below the minimum instead of slicing weights
  double minimum_slack = 0;     ///< share of the capacity by which the minimum may exceed it
  std::int64_t granularity_bytes = 0;  ///< 0: whole tensors; otherwise parts of that size
};

/// How a step holds a value while it runs.
enum class Residency : std::uint8_t {
  resident,  ///< all of it is on chip
  streamed,  ///< passes through row by row; the chip holds one row
};

/// What stays on chip between its uses. A plan holds no times. Indexed like Program::uses.
struct UsePlan {
  Residency residency = Residency::resident;
  bool stays = false;    ///< from this use until the value's next one, without leaving the chip
  StepId leaves_at = 0;  ///< when it does not stay and leaves on demand: before this step
};

struct Plan {
  std::vector<UsePlan> uses;
  std::vector<std::int64_t>
      refetch_bytes;  ///< per step: read again because the weight is sliced; empty: none
  std::int64_t capacity_bytes = 0;   ///< that it was made for; it is valid for any larger one
  std::int64_t tolerated_bytes = 0;  ///< a step whose least is beyond the capacity but within this
                                     ///< runs alone on chip, as if it fitted; 0: none
};

struct StepResult {
  double start_s = 0;
  double end_s = 0;
  double compute_s = 0;
  double wait_s = 0;            ///< before it started: a load or room was missing
  double stream_s = 0;          ///< after its compute: the rest of its streams
  ValueId cause = ~ValueId{0};  ///< the value it waited for
  std::int64_t in_bytes = 0;    ///< loaded or streamed for this step
  std::int64_t out_bytes = 0;   ///< written back or streamed out after it was made or changed here
  std::int64_t refetch_bytes = 0;
  std::int64_t moved_in_bytes = 0;       ///< while it waited and ran, for whichever step
  std::int64_t moved_out_bytes = 0;      ///< the same
  std::int64_t occupied_bytes = 0;       ///< on chip when it starts
  std::int64_t peak_occupied_bytes = 0;  ///< while it runs, with what is loaded ahead
};

enum class TransferKind : std::uint8_t { load, write_back, stream };

/// What the channel did, in order.
struct Transfer {
  TransferKind kind = TransferKind::load;
  ValueId value = 0;  ///< for a stream: its largest value
  StepId step = 0;    ///< that needs it, or made it
  double start_s = 0;
  double end_s = 0;
  std::int64_t in_bytes = 0;
  std::int64_t out_bytes = 0;
};

struct Prediction {
  double time_s = 0;
  double compute_s = 0;
  double stall_s = 0;  ///< time − compute: waits, streams beyond compute, and the last write-backs
  double drain_s = 0;  ///< of it, after the last step
  std::int64_t in_bytes = 0;
  std::int64_t out_bytes = 0;
  std::int64_t refetch_bytes = 0;
  std::int64_t peak_occupied_bytes = 0;
  std::vector<StepResult> steps;
  std::vector<Transfer> transfers;  ///< empty unless asked for
};

}  // namespace strata
