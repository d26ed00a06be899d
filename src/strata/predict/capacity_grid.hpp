// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/access_list.hpp"

#include <array>
#include <cstdint>

namespace strata {

/// The capacities that plans are made for and simulated with; whatever lies between two of
/// them is used as the lower one. What a plan takes moves up and down with every byte of capacity;
/// only because the capacities are few can `best` look at all that are smaller, and therefore never
/// be slower with more.
///
/// Of every size numbers of seven binary digits, which all whole numbers of bytes up to 127, of KB,
/// MB and GB are, and what the program itself needs: the lowest capacity that is not refused, the
/// least and all of its largest step, and all its values.
class CapacityGrid {
 public:
  static constexpr int all_points = 64;  ///< from a capacity to its double

  CapacityGrid(const AccessList& list, const PredictOptions& options);

  std::int64_t lowest_bytes() const { return lowest_bytes_; }
  /// The largest point that is not above. What is below the lowest stays: it will be refused.
  std::int64_t floor(std::int64_t bytes) const { return floor(bytes, all_points); }
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
  std::int64_t lowest_bytes_ = 0;
  std::array<std::int64_t, 3> needed_bytes_{};  // rising
};

}  // namespace strata
