// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// A linear program, some of whose columns are whole: minimise the cost of columns between 0 and 1
/// so that every row's sum is within its limits.
struct IntegerProgram {
  struct Term {
    std::uint32_t column = 0;
    double factor = 0;
  };
  struct Row {
    std::uint32_t first_term = 0;
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
  };
  struct Column {
    double cost = 0;
    bool is_whole = false;
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<Term> terms;  ///< of all rows, in their order

  std::uint32_t add_column(double cost, bool is_whole) {
    columns.push_back({cost, is_whole});
    return static_cast<std::uint32_t>(columns.size() - 1);
  }
  void add_row(double least, std::span<const Term> of_row, double most) {
    rows.push_back({static_cast<std::uint32_t>(terms.size()), least, most});
    terms.insert(terms.end(), of_row.begin(), of_row.end());
  }
};

struct SolverLimits {
  double time_s = 60;
  double enough_gap = 0;          ///< a solution so close to the bound is as good as the best
  std::span<const double> start;  ///< a solution to begin with: a value per column; may be empty
};

struct Solution {
  std::vector<double> values;  ///< per column; empty: none was found in time
  double bound = 0;            ///< no solution costs less
};

/// Runs CBC, in this thread and without a word on any stream.
Solution solve(const IntegerProgram& problem, const SolverLimits& limits);

}  // namespace strata
