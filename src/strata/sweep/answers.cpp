// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/answers.hpp"

#include "strata/base/error.hpp"
#include "strata/sweep/answers_table.hpp"

#include <algorithm>
#include <utility>

namespace strata {

bool SweepAnswers::is_no() const {
  return std::any_of(best.begin(), best.end(),
                     [](const BestUnder& network) { return network.satisfying == 0; });
}

void check_questions(const SweepQuestions& questions, const std::vector<ColumnHead>& heads) {
  SweepTable table;
  for (const ColumnHead& head : heads)
    table.columns.push_back({.name = head.name,
                             .is_number = head.kind != SweepCellKind::text,
                             .is_axis = head.is_axis,
                             .numbers = {},
                             .texts = {}});
  if (questions.pareto) read_goals(*questions.pareto, table, "--pareto");
  for (const std::string& knee : questions.knees) read_knee_question(knee, table, "--knee");
  if (questions.best_under) Formula(*questions.best_under, formula_columns(table), "--best-under");
}

SweepAnswers answer_questions(SweepTable table, SweepQuestions questions) {
  SweepAnswers answers;
  answers.rows_before = table.row_count;
  for (const std::string& column : questions.columns) add_derived_column(table, column, "--column");
  for (const std::string& constraint : questions.where) {
    answers.undecided += rows_undecided(table, constraint, "--where");
    table = rows_where(table, constraint, "--where");
  }
  if (table.row_count == 0 && questions.is_any_asked())
    fail(ErrorKind::usage, "no point is left{}; there is nothing to ask about",
         answers.rows_before > 0 ? " by --where" : "");
  if (questions.pareto) {
    answers.goals = read_goals(*questions.pareto, table, "--pareto");
    answers.fronts = pareto_fronts(table, answers.goals);
  }
  for (const std::string& text : questions.knees) {
    const KneeQuestion question = read_knee_question(text, table, "--knee");
    answers.knees.push_back({question, find_knees(table, question)});
  }
  if (questions.best_under) answers.best = best_under(table, *questions.best_under, "--best-under");
  answers.table = std::move(table);
  answers.questions = std::move(questions);
  return answers;
}

}  // namespace strata
