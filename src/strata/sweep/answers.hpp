// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/answers_best.hpp"
#include "strata/sweep/answers_knee.hpp"
#include "strata/sweep/answers_pareto.hpp"
#include "strata/sweep/answers_sensitivity.hpp"
#include "strata/sweep/columns.hpp"
#include "strata/sweep/table.hpp"

#include <optional>
#include <string>
#include <vector>

/// Questions to the table of a sweep and their answers, as plain data. docs/sweeps.md says what
/// each means.
namespace strata {

/// As people type them.
struct SweepQuestions {
  std::vector<std::string> columns;  ///< derived ones, in order: "cost=area_mm2*0.2"
  std::vector<std::string> where;    ///< constraints that must all hold
  std::optional<std::string> pareto;
  std::vector<std::string> knees;
  std::optional<std::string> best_under;

  bool is_any_asked() const { return pareto || !knees.empty() || best_under; }
};

struct KneeAnswer {
  KneeQuestion question;
  std::vector<Knee> knees;
};

/// Rows and columns are numbers of the table that is here.
struct SweepAnswers {
  SweepQuestions questions;
  SweepTable table;             ///< with the derived columns; only the rows that --where leaves
  std::size_t rows_before = 0;  ///< of the table before --where
  std::size_t undecided = 0;    ///< of them, those for which a --where has no value
  std::vector<Goal> goals;
  std::vector<ParetoFront> fronts;
  std::vector<KneeAnswer> knees;
  std::vector<BestUnder> best;

  /// Whether a network has no point that --best-under allows: the answer is no.
  bool is_no() const;
};

/// Refuses questions that a table with such columns cannot answer: for use before there are rows.
void check_questions(const SweepQuestions& questions, const std::vector<ColumnHead>& heads);

/// Errors (usage) name the flag: an unknown column, a formula that cannot be read, no row left.
SweepAnswers answer_questions(SweepTable table, SweepQuestions questions);

}  // namespace strata
