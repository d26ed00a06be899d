// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/answers_knee.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/sweep/answers_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace strata {
namespace {

struct Sample {
  double value = 0;
  double time_s = 0;
  std::size_t row = 0;
};

double read_percent(std::string_view text, std::string_view what) {
  std::string_view body = trimmed(text);
  if (body.ends_with('%')) body = trimmed(body.substr(0, body.size() - 1));
  double percent = 0;
  const auto [rest, status] = std::from_chars(body.data(), body.data() + body.size(), percent);
  const bool is_number = status == std::errc() && rest == body.data() + body.size();
  if (!is_number || !(percent > 0 && percent < 100))
    fail(ErrorKind::usage, "{} expects a percentage between 0 and 100, like 5%, got '{}'", what,
         text);
  return percent / 100;
}

Knee knee_of(const std::vector<Sample>& samples, double least_gain) {
  Knee knee{.row = samples.front().row, .value = {}, .judged = {}};
  // From the largest down: the knee moves on as long as doubling hardly pays.
  for (std::size_t at = samples.size(); at-- > 0;) {
    const Sample& here = samples[at];
    const auto twice =
        std::lower_bound(samples.begin(), samples.end(), 2 * here.value,
                         [](const Sample& sample, double value) { return sample.value < value; });
    if (twice == samples.end()) continue;
    const double gain = 1 - twice->time_s / here.time_s;
    const bool is_first = !knee.judged;
    if (is_first) knee.judged = here.value;
    if (gain < least_gain) knee.value = here.value;
    if (gain < least_gain || is_first) {
      knee.row = here.row;
      knee.gain = gain;
    }
    if (!(gain < least_gain)) break;
  }
  return knee;
}

}  // namespace

KneeQuestion read_knee_question(std::string_view text, const SweepTable& table,
                                std::string_view what) {
  const bool is_percentage = !text.empty() && text.front() >= '0' && text.front() <= '9';
  if (is_percentage) return read_knee_question(fmt::format("capacity={}", text), table, what);
  const std::size_t equals = text.find('=');
  KneeQuestion question;
  question.column = column_named(trimmed(text.substr(0, equals)), formula_columns(table), what);
  const SweepColumn& column = table.columns[question.column];
  if (!column.is_number || !column.is_axis)
    fail(ErrorKind::usage, "{}: '{}' is no axis of numbers in this sweep, so nobody can double it",
         what, column.name);
  if (equals != std::string_view::npos)
    question.least_gain = read_percent(text.substr(equals + 1), what);
  return question;
}

std::vector<Knee> find_knees(const SweepTable& table, const KneeQuestion& question) {
  const SpeedColumn speed = speed_column(table);
  const RowJudge judge(table);
  std::vector<std::size_t> others;
  for (std::size_t at = 0; at < table.columns.size(); ++at) {
    if (table.columns[at].is_axis && at != question.column) others.push_back(at);
  }
  std::vector<Knee> knees;
  for (const RowGroup& group : groups_of_rows(table, others)) {
    std::vector<Sample> samples;
    for (const std::size_t row : group.rows) {
      if (judge.is_out_of_memory(row)) continue;
      const Sample sample{.value = table.columns[question.column].number(row),
                          .time_s = speed.time_of(table, row),
                          .row = row};
      if (sample.value > 0 && std::isfinite(sample.value) && sample.time_s > 0 &&
          std::isfinite(sample.time_s))
        samples.push_back(sample);
    }
    std::stable_sort(samples.begin(), samples.end(),
                     [](const Sample& a, const Sample& b) { return a.value < b.value; });
    if (!samples.empty()) knees.push_back(knee_of(samples, question.least_gain));
  }
  return knees;
}

}  // namespace strata
