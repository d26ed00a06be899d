// SPDX-License-Identifier: Apache-2.0
// The expected time of a prediction: in its rows and groups, beside what a user can change.
#include "strata/api/predict.hpp"
#include "strata/api/user_changes.hpp"
#include "strata/api/what_if.hpp"
#include "strata/base/error.hpp"
#include "strata/explain/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace strata {
namespace {

/// The rows of a profile get what the steps of the same layer and pass are expected to take, sums
/// of gradients apart from the layer's own steps.
void add_expected_rows(Profile& profile, const ExpectedTime& expected) {
  std::set<std::pair<std::string_view, std::string_view>> sums;
  for (const ProfileRow& row : profile.rows) {
    if (row.op == gradient_sum_op) sums.emplace(row.layer, row.pass);
  }
  std::map<std::tuple<std::string_view, std::string_view, bool>, ExpectedRow> rows;
  for (const ExpectedLayer& layer : expected.layers) {
    // The limit of an unrolled layer may have no such sum.
    const bool is_sum = layer.is_gradient_sum && sums.contains({layer.layer, layer.pass});
    ExpectedRow& row = rows[{layer.layer, layer.pass, is_sum}];
    row.busy_s += layer.step.busy_s;
    row.kernels_s += layer.step.kernels_s;
    row.host_s += layer.step.host_s;
    row.launches += layer.step.launches;
  }
  for (ProfileRow& row : profile.rows) {
    const auto found = rows.find({row.layer, row.pass, row.op == gradient_sum_op});
    row.expected = found == rows.end() ? ExpectedRow{} : found->second;
    if (found != rows.end()) rows.erase(found);  // of several rows with one key, the first
  }
}

void add_expected_groups(std::vector<ProfileGroup>& groups, const Profile& profile,
                         std::string ProfileRow::*key) {
  std::map<std::string_view, double> sums;
  for (const ProfileRow& row : profile.rows) {
    if (row.expected) sums[row.*key] += row.expected->busy_s;
  }
  for (ProfileGroup& group : groups) group.expected_s = sums[group.name];
}

/// What the framework allocates for other batches and options.
class MemoryOf {
 public:
  MemoryOf(const Graph& graph, const ExpectedTimes& times, const PredictRequest& request)
      : graph_(graph), times_(times), request_(request) {}

  /// With micro-batches of so many samples.
  double bytes_of(std::int64_t micro_batch) const {
    ModelSizes sizes = request_.sizes;
    set_batch(sizes, micro_batch);
    return static_cast<double>(
        times_.of(bind_model(graph_, sizes), request_.training).memory_bytes);
  }

  /// The largest micro-batch below one that does not fit; 0: none does. Memory grows nearly
  /// linearly, so that the line through both ends is a good guess each time.
  std::int64_t largest_micro_batch(std::int64_t too_large, double needed_bytes,
                                   double device_bytes) const {
    if (too_large < 2) return 0;
    std::int64_t fits = 1;
    double fits_bytes = bytes_of(fits);
    if (fits_bytes > device_bytes) return 0;
    while (too_large - fits > 1) {
      const double share = (device_bytes - fits_bytes) / (needed_bytes - fits_bytes);
      const auto guess =
          fits + static_cast<std::int64_t>(share * static_cast<double>(too_large - fits));
      const std::int64_t next = std::clamp(guess, fits + 1, too_large - 1);
      const double next_bytes = bytes_of(next);
      if (next_bytes > device_bytes) {
        too_large = next;
        needed_bytes = next_bytes;
      } else {
        fits = next;
        fits_bytes = next_bytes;
      }
    }
    return fits;
  }

 private:
  const Graph& graph_;
  const ExpectedTimes& times_;
  const PredictRequest& request_;
};

/// What to do about an iteration that does not fit. `bound` has the sizes of one micro-batch.
void add_memory_changes(PredictionSummary& summary, const Graph& graph, const Machine& machine,
                        const PredictRequest& request, const ExpectedTimes& times,
                        const BoundGraph& bound) {
  const auto batch = bound.binding.find("batch");
  if (batch != bound.binding.end())
    summary.largest_batch =
        MemoryOf(graph, times, request)
            .largest_micro_batch(batch->second, static_cast<double>(summary.needed_memory_bytes()),
                                 *summary.device_memory_bytes) *
        request.training.micro_batches;
  constexpr double noticeable = 0.99;  // of the memory
  for (const Change& change : memory_savers(bound, machine, request)) {
    const ExpectedChange saved = expected_with(graph, machine, request, change);
    if (static_cast<double>(saved.time.memory_bytes) <
        noticeable * static_cast<double>(summary.needed_memory_bytes()))
      summary.memory_changes.push_back({text_of(change), saved.time.memory_bytes, saved.fits()});
  }
}

/// What a user can change stands before what only another chip has. The limit of another batch or
/// data type says little of what would happen.
void add_user_changes(PredictionSummary& summary, const Graph& graph, const Machine& machine,
                      const PredictRequest& request) {
  const BoundGraph bound = bind_model(graph, request.sizes);
  const std::vector<Change> changes = user_changes(bound, machine, request, summary.memory());
  const std::vector<ChangeAnswer> answers = expect_again(graph, machine, request)(changes);
  std::vector<WhatIf> what_ifs;
  for (std::size_t i = 0; i < changes.size(); ++i)
    what_ifs.push_back({.change = changes[i],
                        .base_s = summary.expected->time_s,
                        .time_s = answers[i].time_s,
                        .reason = answers[i].reason});
  sort_by_gain(what_ifs);
  const double samples = static_cast<double>(summary.totals.samples);
  std::vector<Alternative> all;
  for (const WhatIf& what_if : what_ifs) {
    const auto* batch = std::get_if<BatchOf>(&what_if.change);
    Alternative one{.change = text_of(what_if.change),
                    .changes_samples = batch != nullptr,
                    .is_expected = true,
                    .reason = what_if.reason};
    if (what_if.time_s) {
      one.speed_ratio = what_if.base_s / *what_if.time_s;
      const double more = batch != nullptr ? static_cast<double>(batch->samples) / samples : 1;
      one.time_ratio = more / one.speed_ratio;
    }
    all.push_back(std::move(one));
  }
  for (Alternative& one : summary.alternatives) {
    if (one.is_of_chip) all.push_back(std::move(one));
  }
  summary.alternatives = std::move(all);
}

/// As the profile carries it to whoever explains or compares.
ExpectedIteration iteration_of_expected(const ExpectedTime& time, double samples) {
  ExpectedIteration iteration{.framework = time.framework,
                              .calibration = std::string(name_of(time.calibration)),
                              .calibrated_on = time.calibrated_on,
                              .host = time.host,
                              .checked = time.checked,
                              .time_s = time.time_s,
                              .low_s = time.low_s,
                              .high_s = time.high_s,
                              .busy_s = time.busy_s,
                              .host_s = time.host_s,
                              .arithmetic_s = time.arithmetic_s,
                              .samples_per_s = samples / time.time_s,
                              .launches = time.launches,
                              .uncovered_share = 0,
                              .lost_to = {}};
  for (const UncoveredClass& one : time.uncovered) iteration.uncovered_share += one.share;
  for (const LostTime& one : time.lost_to) iteration.lost_to.push_back({one.to, one.time_s});
  return iteration;
}

}  // namespace

std::optional<ExpectedRequest> expected_request(const Machine& machine,
                                                const PredictRequest& request) {
  const std::string framework = request.framework.value_or(default_framework(machine));
  if (framework == "none" && request.host.is_given())
    fail(ErrorKind::usage, "--host is about expected times and does not go with --framework none");
  if (framework == "none") return std::nullopt;
  return ExpectedRequest{framework, request.framework_options, request.host};
}

std::optional<std::string> reason_against_expected(const Machine& machine,
                                                   const PredictRequest& request) {
  const auto wanted = expected_request(machine, request);
  return wanted ? ExpectedTimes::reason_against(machine, *wanted) : "not asked for";
}

void add_expected(PredictionSummary& summary, const Graph& graph, const Machine& machine,
                  const PredictRequest& request) {
  const auto wanted = expected_request(machine, request);
  if (const auto reason = reason_against_expected(machine, request)) {
    if (wanted && request.names_expected())
      fail(ErrorKind::unsupported, "no expected time: {}", *reason);
    summary.no_expected_reason = *reason;
    return;
  }
  const ExpectedTimes times(with_overrides(machine, request.hardware), *wanted);
  const BoundGraph bound = bind_request(graph, request);
  summary.expected = times.of(bound, request.training);
  if (summary.expected->launches == 0) {
    summary.expected.reset();
    summary.no_expected_reason = "the network launches nothing";
    return;
  }
  summary.profile.expected =
      iteration_of_expected(*summary.expected, static_cast<double>(summary.totals.samples));
  add_expected_rows(summary.profile, *summary.expected);
  add_expected_groups(summary.by_type, summary.profile, &ProfileRow::op);
  add_expected_groups(summary.by_pass, summary.profile, &ProfileRow::pass);
  add_expected_groups(summary.by_block, summary.profile, &ProfileRow::block);
  add_expected_groups(summary.by_class, summary.profile, &ProfileRow::layer_class);
  if (!summary.fits_device()) add_memory_changes(summary, graph, machine, request, times, bound);
  if (request.wants_alternatives) add_user_changes(summary, graph, machine, request);
}

}  // namespace strata
