// SPDX-License-Identifier: Apache-2.0
#include "cli/recorded_request.hpp"

#include "cli/commands.hpp"
#include "cli/parse.hpp"
#include "cli/predict_flags.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <utility>

namespace strata {
namespace {

constexpr double same_time = 1e-9;  // relative: another machine may round its sums differently

MaybeRequest no(std::string reason) { return {nullptr, std::move(reason)}; }

MaybeRequest request_of(const RecordedPrediction& recorded) {
  const std::vector<std::string> words = words_of(recorded.command);
  if (words.size() < 2 || words.front() != "strata")
    return no("it does not say by which command it was written");
  const Arguments program = parse_program(std::span(words).subspan(1));
  if (program.words().empty() || program.word(0) != predict_command.name)
    return no("it was not written by strata predict");
  const Arguments given = parse(predict_command, std::span(program.words()).subspan(1));
  auto found = std::make_unique<RecordedRequest>(
      RecordedRequest{load_model(given.word(0), import_options(given)),
                      machine_of(given),
                      predict_request(given),
                      {}});
  PredictRequest check = found->request;
  check.bounds = WantBounds::not_at_all;
  check.wants_alternatives = false;
  const PredictedIteration now = predict_model(found->graph, found->machine, check);
  const double time_s = now.summary.totals.time_s;
  if (std::fabs(time_s - recorded.facts.time_s) > same_time * recorded.facts.time_s) {
    return no(fmt::format(
        "its command now gives {}, the file says {}: the model, the machine or Strata changed",
        format_time(time_s, 6), format_time(recorded.facts.time_s, 6)));
  }
  found->hardware = now.summary.hardware;
  return {std::move(found), {}};
}

}  // namespace

std::vector<std::string> words_of(std::string_view command_line) {
  std::vector<std::string> words;
  bool is_in_word = false;
  bool is_quoted = false;
  for (std::size_t i = 0; i < command_line.size(); ++i) {
    const char c = command_line[i];
    if (is_quoted) {
      if (c == '\'') {
        is_quoted = false;
      } else {
        words.back() += c;
      }
      continue;
    }
    if (c == ' ') {
      is_in_word = false;
      continue;
    }
    if (!is_in_word) words.emplace_back();
    is_in_word = true;
    if (c == '\'') {
      is_quoted = true;
    } else if (c == '\\' && i + 1 < command_line.size()) {
      words.back() += command_line[++i];
    } else {
      words.back() += c;
    }
  }
  if (is_quoted) fail(ErrorKind::input, "a quote of the recorded command stays open");
  return words;
}

MaybeRequest recorded_request(const RecordedPrediction& recorded) {
  if (recorded.command.empty()) return no("it does not say by which command it was written");
  try {
    return request_of(recorded);
  } catch (const Error& error) {  // of usage: other lines are about this command, not about that
    const std::string_view message = error.what();
    return no(
        fmt::format("its command cannot be run again: {}", message.substr(0, message.find('\n'))));
  }
}

}  // namespace strata
