// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/predict.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Lower bounds on the bytes that cross the channel in one iteration, whatever is kept on chip and
/// when it is moved, for the program's order of steps.
namespace strata {

/// A bound for all capacities: convex, falling and piecewise linear.
struct TrafficBound {
  struct Piece {
    std::int64_t from_capacity_bytes = 0;
    std::int64_t bytes = 0;  ///< of traffic at that capacity
    std::int64_t slope = 0;  ///< bytes of traffic that one more byte of capacity saves
  };
  std::vector<Piece> pieces;          ///< by capacity; the first from 0, the last flat
  std::int64_t compulsory_bytes = 0;  ///< given values read once, results written once: the floor

  std::int64_t bytes_at(std::int64_t capacity_bytes) const;
  /// The least capacity at which only compulsory traffic may be left.
  std::int64_t enough_capacity_bytes() const { return pieces.back().from_capacity_bytes; }
};

/// For any implementation with this order, whatever it streams and however it cuts tensors: between
/// two steps no more than the capacity is kept.
TrafficBound physical_traffic_bound(const Program& program);

/// For plans: what is kept until a step or from it on also takes its room while that step runs.
/// Holds at C for plans made for C or for less, however they cut tensors.
TrafficBound model_traffic_bound(const Program& program);

/// For plans at one capacity: as model_traffic_bound, and what does not fit beside the rows of the
/// steps it passes is not kept at all, since plans keep whole values, or parts of
/// `granularity_bytes`. Never below model_traffic_bound there, and falls as the capacity grows.
std::int64_t model_traffic_bound_at(const Program& program, std::int64_t capacity_bytes,
                                    std::int64_t granularity_bytes = 0);

/// For plans of whole values made for just this capacity, where a step that fits holds all its
/// values: never below model_traffic_bound_at. Does not fall everywhere, as the rule itself does
/// not: a step that just fits takes more room than one that just does not.
std::int64_t just_this_capacity_traffic_bound(const Program& program, std::int64_t capacity_bytes);

/// Why `--bounds auto` leaves the bounds out; nothing where it computes them.
std::optional<std::string> reason_against_bounds(const Program& program);

}  // namespace strata
