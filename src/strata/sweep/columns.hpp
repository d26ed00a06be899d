// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/formula.hpp"
#include "strata/sweep/grid.hpp"
#include "strata/sweep/point_result.hpp"

#include <cstdint>
#include <optional>
#include <span>
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
  bool is_known = false;  ///< before the point is computed
};

struct SweepCell {
  SweepCellKind kind = SweepCellKind::text;
  bool is_empty = true;  ///< the point has none: it failed, or has no expected time
  std::int64_t whole = 0;
  double real = 0;
  std::string text;
};

/// Whether points are strategies over many devices, with columns of their own.
enum class OfStrategies : std::uint8_t { no, yes };

/// The columns: the number of the point, its values of the axes, what the hardware came to where no
/// axis says it, the results, the error, and the derived columns.
class SweepColumns {
 public:
  /// Derived columns are given as formula.hpp reads them, "cost=area_mm2*0.2"; later ones may use
  /// earlier ones. Errors (usage) name --column.
  explicit SweepColumns(const Grid& grid, std::span<const std::string> derived = {},
                        OfStrategies of_strategies = OfStrategies::no);

  const std::vector<ColumnHead>& heads() const { return heads_; }
  /// A cell per column; `cells` is used again from call to call. One thread at a time.
  void fill(std::vector<SweepCell>& cells, std::int64_t point, const PointResult& result) const;
  /// The same with what is known before the point is computed; all other cells are empty.
  void fill_known(std::vector<SweepCell>& cells, std::int64_t point) const;

 private:
  void add_derived(std::string_view definition);
  std::size_t fill_axes(std::vector<SweepCell>& cells, std::int64_t point) const;
  void fill_derived(std::vector<SweepCell>& cells) const;

  const Grid& grid_;
  bool has_strategies_ = false;
  std::vector<ColumnHead> heads_;
  std::vector<std::size_t> facts_;  // of the table of facts, those that no axis says
  std::optional<std::size_t> capacity_axis_;
  mutable std::vector<Formula> derived_;  // evaluating one changes its variables
};

/// Whether a sweep writes a column of numbers of that name whatever its axes are.
bool is_result_column(std::string_view name);

/// The columns as formulas see them, and a row of cells.
std::vector<FormulaColumn> formula_columns(const std::vector<ColumnHead>& heads);
class CellRow : public FormulaRow {
 public:
  explicit CellRow(const std::vector<SweepCell>& cells) : cells_(cells) {}
  double number(std::size_t column) const override;
  std::string_view text(std::size_t column) const override { return cells_[column].text; }

 private:
  const std::vector<SweepCell>& cells_;
};

/// Area of the cells of the on-chip memory: machine/area.hpp. Two processes, one column each.
inline constexpr std::string_view area_node = "5nm";
inline constexpr std::string_view old_area_node = "16nm";

}  // namespace strata
