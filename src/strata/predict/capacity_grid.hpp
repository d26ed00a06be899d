// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/access_list.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace strata {

/// The capacities for which plans are made and simulated. A capacity between two points is rounded
/// down to the lower one. The time of a plan rises and falls with every byte of capacity; because
/// the points are few, `best` can try all smaller ones, and so more capacity never makes it slower.
///
/// Points are the numbers with seven binary digits (m · 2^e, m ≤ 127; of a long program with five,
/// m ≤ 31) and what the program needs: the lowest capacity that is not refused, the minimum and the
/// whole of its largest step, and the sum of its values.
class CapacityGrid {
 public:
  /// Steps beyond which a program is long: each of its plans takes milliseconds.
  static constexpr std::size_t long_program = 5'000;

  CapacityGrid(const AccessList& list, const PredictOptions& options);

  std::int64_t lowest_bytes() const { return lowest_bytes_; }
  /// The largest point that is not above. What is below the lowest stays: it is refused, or taken
  /// as it is by a cache.
  std::int64_t floor(std::int64_t bytes) const { return floor(bytes, points_); }
  /// The same of those that a coarser grid has too: a power of two of them per octave.
  std::int64_t floor(std::int64_t bytes, int points) const;
  bool is_on(std::int64_t point, int points) const { return floor(point, points) == point; }
  /// The next lower point; 0: there is none.
  std::int64_t below(std::int64_t point) const {
    return point <= lowest_bytes_ ? 0 : floor(point - 1);
  }
  /// The next higher point; the same one when everything fits.
  std::int64_t above(std::int64_t point) const;

 private:
  int points_ = 0;  // from a capacity to its double
  std::int64_t lowest_bytes_ = 0;
  std::array<std::int64_t, 3> needed_bytes_{};  // rising
};

}  // namespace strata
