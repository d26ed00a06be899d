// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

/// The results of a sweep in memory: what a summary and every further question is made of. It comes
/// from a run that collects its points, or from a file that a run wrote, so that questions can be
/// asked later without running again.
namespace strata {

/// The cells of one column, a cell per point. A column is numbers or texts, never both: who asks
/// for the other gets an error (input) that names the row and the column.
struct SweepColumn {
  std::string name;                ///< "time_s": the unit is in it
  bool is_number = true;           ///< false: texts (model, machine, dtype, policy, error, …)
  bool is_axis = false;            ///< given by the user, not found by the prediction
  std::vector<double> numbers;     ///< NaN where a point has none: it failed
  std::vector<std::string> texts;  ///< "" where a point has none

  double number(std::size_t row) const {
    if (!is_number) refuse(row, "a number");
    return numbers[row];
  }
  const std::string& text(std::size_t row) const {
    if (is_number) refuse(row, "a text");
    return texts[row];
  }

 private:
  [[noreturn]] void refuse(std::size_t row, std::string_view expected) const;
};

struct SweepTable {
  std::string identity;  ///< which sweep it is of; empty when the source does not say
  std::vector<SweepColumn> columns;
  std::size_t row_count = 0;

  /// The column of that name; nullptr: there is none. Units may be left out where that is clear:
  /// "time" finds "time_s", "capacity" finds "capacity_bytes", "area" finds "area_mm2".
  const SweepColumn* find(std::string_view name) const;
  /// The same; errors (usage) suggest the nearest names and list the others.
  const SweepColumn& column(std::string_view name) const;
  std::vector<std::string> column_names() const;
  /// Whether the point failed; its result columns are NaN then and the column "error" says why.
  bool is_failed(std::size_t row) const;
};

inline constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// Reads what `strata sweep` wrote: CSV, JSON lines or a database, told apart by content. A last
/// line that was cut off is left out. Errors (input) name the file and the line.
SweepTable read_sweep_table(const std::filesystem::path& path);

}  // namespace strata
