// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_answers.hpp"

#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/sweep_plot.hpp"
#include "strata/report/sweep_answers.hpp"
#include "strata/report/sweep_text.hpp"
#include "strata/sweep/answers_table.hpp"

#include <cmath>

namespace strata {
namespace {

SweepQuestions questions_of(const Arguments& given) {
  SweepQuestions questions;
  questions.pareto = given.value(pareto_flag);
  questions.knees = given.values(knee_flag);
  questions.best_under = given.value(best_under_flag);
  return questions;
}

/// The first point of each network that has a result.
std::vector<std::int64_t> first_points(const SweepTable& table) {
  const SweepColumn& numbers = table.column("point");
  std::vector<std::int64_t> points;
  for (const RowGroup& network : groups_by_network(table)) {
    for (const std::size_t row : network.rows) {
      if (table.is_failed(row)) continue;
      points.push_back(static_cast<std::int64_t>(numbers.number(row)));
      break;
    }
  }
  return points;
}

std::vector<NetworkAnswers> network_answers(const SweepTable& table, const Sweep& sweep,
                                            bool wants_sensitivity) {
  std::vector<NetworkAnswers> networks;
  for (const std::int64_t point : first_points(table)) {
    NetworkAnswers network{
        .network = sweep.model_at(point), .reuse = sweep.reuse_at(point), .sensitivity = {}};
    if (wants_sensitivity) network.sensitivity = sweep.sensitivity_at(point);
    networks.push_back(std::move(network));
  }
  return networks;
}

int print_all(const Request& request, const SweepAnswers& answers,
              const std::vector<NetworkAnswers>& networks) {
  OutputFiles outputs(request.arguments);
  outputs.write(answers_json_flag,
                [&] { return to_json(answers, networks, {.command = request.command_line}); });
  if (!outputs.took_stdout()) {
    std::string text = to_text(answers, request.style);
    std::vector<NetworkAnswers> shown = networks;
    for (NetworkAnswers& network : shown) network.reuse.clear();  // the summary and --json have it
    const std::string of_networks = to_text(shown, request.style);
    text += (text.empty() || of_networks.empty() ? "" : "\n") + of_networks;
    print(text);
  }
  return answers.is_no() ? exit_code::answer_is_no : exit_code::done;
}

}  // namespace

bool asks_for_answers(const Arguments& given) {
  return given.has(pareto_flag) || given.has(knee_flag) || given.has(best_under_flag) ||
         given.has(sensitivity_flag) || given.has(answers_json_flag);
}

void check_questions(const Arguments& given, const Sweep& sweep) {
  if (sweep.is_parallel() && given.has(sensitivity_flag))
    fail(ErrorKind::usage, "--sensitivity is of one device; sweep the rates of a cluster instead");
  check_questions(questions_of(given), sweep.columns().heads());
}

SweepReply answer_sweep(const Request& request, SweepTable table, const Sweep& sweep) {
  const Arguments& given = request.arguments;
  SweepReply reply;
  const bool has_networks = !sweep.is_parallel();  // what stays on chip is of one device
  if (has_networks && (given.has(sensitivity_flag) || given.has(answers_json_flag)))
    reply.networks = network_answers(table, sweep, given.has(sensitivity_flag));
  reply.answers = answer_questions(std::move(table), questions_of(given));
  reply.answers.questions.columns = sweep.derived_columns();  // the run has applied these two
  reply.answers.questions.where = sweep.constraints();
  reply.answers.rows_before = static_cast<std::size_t>(sweep.grid().size());
  return reply;
}

void write_sweep_page(const Request& request, const SweepReply& reply) {
  if (!request.arguments.has(html_flag)) return;
  write_sweep_page(request, reply.answers.table,
                   to_json(reply.answers, reply.networks, {.command = request.command_line}));
}

int print_answers(const Request& request, const SweepReply& reply) {
  return print_all(request, reply.answers, reply.networks);
}

int print_answers_from(const Request& request, SweepTable table) {
  const Arguments& given = request.arguments;
  if (given.has(sensitivity_flag))
    fail(ErrorKind::usage, "--sensitivity predicts; it needs networks and goes without --from");
  check_sweep_page(given);
  SweepQuestions questions = questions_of(given);
  questions.columns = given.values(column_flag);
  questions.where = given.values(where_flag);
  const SweepReply reply{answer_questions(std::move(table), std::move(questions)), {}};
  const SweepAnswers& answers = reply.answers;
  // A table that lacks a column for what is asked is refused before a file is written.
  const std::string text =
      asks_for_answers(given) ? std::string() : to_text(answers.table, request.style);
  if (answers.undecided > 0) {
    print_to_stderr(fmt::format(
        "note: --where has no value for {} point{} (a number is missing, or it divides by zero), "
        "which {} left out\n",
        answers.undecided, answers.undecided == 1 ? "" : "s",
        answers.undecided == 1 ? "is" : "are"));
  }
  draw_plot(given, answers.table);
  if (asks_for_answers(given)) {
    write_sweep_page(request, reply);
    return print_answers(request, reply);
  }
  write_sweep_page(request, answers.table);
  print(text);
  return exit_code::done;
}

std::string reuse_text(const SweepTable& table, const Sweep& sweep, const TextStyle& style) {
  const std::vector<NetworkAnswers> networks =
      network_answers(table, sweep, /*wants_sensitivity=*/false);
  const std::string text = to_text(networks, style);
  return text.empty() ? text : "\n" + text;
}

}  // namespace strata
