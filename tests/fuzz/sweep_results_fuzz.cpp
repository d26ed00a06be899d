// SPDX-License-Identifier: Apache-2.0
// What libFuzzer feeds to the reader of points of a sweep (CSV and JSON lines), and every question,
// table and figure that is made of them.
#include "strata/base/error.hpp"
#include "strata/report/sweep_answers.hpp"
#include "strata/report/sweep_chart.hpp"
#include "strata/report/sweep_figures.hpp"
#include "strata/report/sweep_text.hpp"
#include "strata/sweep/answers.hpp"
#include "strata/sweep/read_table.hpp"

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

namespace {

/// A table may lack what is asked for; that is the fault of the question.
template <class Ask>
void try_to(const Ask& ask) {
  try {
    ask();
  } catch (const strata::Error& error) {
    const bool is_refused =
        error.kind() == strata::ErrorKind::input || error.kind() == strata::ErrorKind::usage;
    if (!is_refused) throw;
  }
}

void ask(const strata::SweepTable& table, strata::SweepQuestions questions) {
  try_to([&] {
    const strata::SweepAnswers answers = strata::answer_questions(table, std::move(questions));
    to_text(answers, {});
    to_json(answers, {}, {});
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream text(std::string(reinterpret_cast<const char*>(data), size));
  strata::SweepTable table;
  try {
    table = text.peek() == '{' ? strata::read_json_lines_table(text) : strata::read_csv_table(text);
  } catch (const strata::Error& error) {
    if (error.kind() != strata::ErrorKind::input) throw;
    return 0;
  }
  try_to([&] { to_text(table, {}); });
  ask(table, {.columns = {"cost=time_s*2"}, .where = {"time_s>0"}});
  ask(table, {.pareto = "time,capacity"});
  ask(table, {.knees = {"capacity"}});
  ask(table, {.best_under = "capacity<2MB"});
  try_to([&] { sweep_chart(table); });
  try_to([&] { sweep_line_figure(table); });
  try_to([&] { sweep_heat_figure(table); });
  try_to([&] { sweep_pareto_figure(table); });
  try_to([&] { sweep_batch_figure(table); });
  return 0;
}
