// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/api/sweep.hpp"
#include "strata/report/sweep_answers.hpp"
#include "strata/sweep/answers.hpp"

#include <array>
#include <vector>

/// What `strata sweep` is asked about its points, and where the answers go.
namespace strata {

inline constexpr Flag where_flag{.name = "where",
                                 .value = "FORMULA",
                                 .help = "Only points for which it holds: 'area_mm2 < 800'.",
                                 .repeats = true};
inline constexpr Flag column_flag{.name = "column",
                                  .value = "NAME=FORMULA",
                                  .help = "A further column: 'cost=area_mm2*0.2'.",
                                  .repeats = true};
inline constexpr Flag pareto_flag{.name = "pareto",
                                  .value = "COLUMNS",
                                  .help = "The front of time,capacity or -samples_per_s.",
                                  .implied = usual_goals_word};
inline constexpr Flag knee_flag{.name = "knee",
                                .value = "COLUMN=X%",
                                .help = "From where on doubling it saves less than X % (5).",
                                .repeats = true,
                                .implied = "capacity"};
inline constexpr Flag sensitivity_flag{.name = "sensitivity",
                                       .help = "What 10 % more of each resource buys."};
inline constexpr Flag best_under_flag{
    .name = "best-under", .value = "FORMULA", .help = "The fastest point for which it holds."};
inline constexpr Flag answers_json_flag{.name = "json",
                                        .value = "FILE",
                                        .help = "The answers as JSON; - is standard output.",
                                        .offer = Offer::output};

inline constexpr std::array<Flag, 7> answer_flags = {
    where_flag,       column_flag,     pareto_flag,      knee_flag,
    sensitivity_flag, best_under_flag, answers_json_flag};

/// Whether standard output is for answers, not for points.
bool asks_for_answers(const Arguments& given);

/// Errors (usage) of questions about columns that the sweep will not have: before it runs.
void check_questions(const Arguments& given, const Sweep& sweep);

/// What was asked of the points, answered.
struct SweepReply {
  SweepAnswers answers;
  std::vector<NetworkAnswers> networks;
};
/// Of a run: its columns and rows are what --column and --where made of them.
SweepReply answer_sweep(const Request& request, SweepTable table, const Sweep& sweep);
/// The page of the points with the answers, when --html was given.
void write_sweep_page(const Request& request, const SweepReply& reply);
int print_answers(const Request& request, const SweepReply& reply);
/// Of results of an earlier run, and its picture. Without a question, the summary of what --where
/// leaves.
int print_answers_from(const Request& request, SweepTable table);

/// What each network needs on chip for each scope of reuse, below the summary.
std::string reuse_text(const SweepTable& table, const Sweep& sweep, const TextStyle& style);

}  // namespace strata
