// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/grid.hpp"
#include "strata/sweep/point_result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What stands in a row of results, in every form in which they are written.
namespace strata {

enum class SweepCellKind : std::uint8_t { whole, real, text };

struct ColumnHead {
  std::string name;
  SweepCellKind kind = SweepCellKind::real;
  bool is_axis = false;
};

struct SweepCell {
  SweepCellKind kind = SweepCellKind::text;
  bool is_empty = true;  ///< the point has none: it failed
  std::int64_t whole = 0;
  double real = 0;
  std::string text;
};

/// The columns: the number of the point, its values of the axes, what the hardware came to where no
/// axis says it, the results, and the error.
class SweepColumns {
 public:
  explicit SweepColumns(const Grid& grid);

  const std::vector<ColumnHead>& heads() const { return heads_; }
  /// A cell per column; `cells` is used again from call to call.
  void fill(std::vector<SweepCell>& cells, std::int64_t point, const PointResult& result) const;

 private:
  const Grid& grid_;
  std::vector<ColumnHead> heads_;
  std::vector<std::size_t> facts_;  // of the table of facts, those that no axis says
};

/// Area of the cells of the on-chip memory: machine/area.hpp. Two processes, one column each.
inline constexpr std::string_view area_node = "5nm";
inline constexpr std::string_view old_area_node = "16nm";

}  // namespace strata
