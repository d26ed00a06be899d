// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/answers_best.hpp"

#include "strata/sweep/answers_table.hpp"
#include "strata/sweep/formula_tokens.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata {
namespace {

constexpr double infinitely = std::numeric_limits<double>::infinity();

/// A demand with its sides as formulas, so that a miss has a size.
class MeasuredDemand {
 public:
  MeasuredDemand(const Demand& demand, const std::vector<FormulaColumn>& columns,
                 std::string_view what)
      : text_(demand.text), whole_(demand.text, columns, what) {
    if (demand.sign.empty() || demand.sign == "!=" || is_about_text(demand)) return;
    left_.emplace(demand.left, columns, what);
    right_.emplace(demand.right, columns, what);
  }

  /// 0 where it holds; infinite where the miss has no size.
  double miss(const FormulaRow& row) {
    if (whole_.holds(row)) return 0;
    if (!left_) return infinitely;
    const double left = left_->value(row);
    const double right = right_->value(row);
    const double larger = std::max(std::fabs(left), std::fabs(right));
    if (!std::isfinite(larger)) return infinitely;
    return larger > 0 ? std::fabs(left - right) / larger : 0;
  }

  MissedDemand missed(const FormulaRow& row) {
    return {.text = text_,
            .left_text = left_->text(),
            .left = left_->value(row),
            .right = right_->value(row),
            .beyond = miss(row)};
  }

  bool holds(const FormulaRow& row) { return whole_.holds(row); }

 private:
  static bool is_about_text(const Demand& demand) {
    const auto has_quote = [](const std::string& side) {
      return side.find_first_of("\"'") != std::string::npos;
    };
    return has_quote(demand.left) || has_quote(demand.right);
  }

  std::string text_;
  Formula whole_;
  std::optional<Formula> left_;
  std::optional<Formula> right_;
};

/// A point on its way to being the best or the nearest.
struct Candidate {
  double miss = infinitely;
  double time_s = infinitely;
  std::optional<std::size_t> row;

  void take_if_better(double other_miss, double other_time_s, std::size_t other_row) {
    if (std::pair(other_miss, other_time_s) >= std::pair(miss, time_s)) return;
    miss = other_miss;
    time_s = other_time_s;
    row = other_row;
  }
};

}  // namespace

std::vector<BestUnder> best_under(const SweepTable& table, std::string_view constraint,
                                  std::string_view what) {
  const SpeedColumn speed = speed_column(table);
  const RowJudge judge(table);
  const std::vector<FormulaColumn> columns = formula_columns(table);
  Formula formula(constraint, columns, what);
  std::vector<MeasuredDemand> demands;
  for (const Demand& demand : demands_of(constraint)) demands.emplace_back(demand, columns, what);

  std::vector<BestUnder> answers;
  for (const RowGroup& network : groups_by_network(table)) {
    BestUnder answer;
    Candidate best;
    Candidate nearest;
    const bool has_expected = judge.has_expected(network);
    for (const std::size_t row : network.rows) {
      const double time_s = speed.time_of(table, row);
      if (std::isnan(time_s)) continue;
      if (judge.is_out_of_memory(row)) {
        ++answer.out_of_memory;
        continue;
      }
      if (has_expected && !judge.has_expected(row)) {
        ++answer.limit_alone;
        continue;
      }
      ++answer.points;
      const TableRow values(table, row);
      if (formula.holds(values)) {
        ++answer.satisfying;
        best.take_if_better(0, time_s, row);
      } else if (answer.satisfying == 0) {
        double worst = 0;
        for (MeasuredDemand& demand : demands) worst = std::max(worst, demand.miss(values));
        if (worst < infinitely) nearest.take_if_better(worst, time_s, row);
      }
    }
    answer.row = answer.satisfying > 0 ? best.row : nearest.row;
    if (answer.satisfying == 0 && nearest.row) {
      const TableRow values(table, *nearest.row);
      for (MeasuredDemand& demand : demands) {
        if (!demand.holds(values)) answer.missed.push_back(demand.missed(values));
      }
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace strata
