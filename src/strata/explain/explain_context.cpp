// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/explain_context.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace strata {
namespace {

/// Times of the rows with a change; nothing when the roofline cannot know.
std::optional<std::vector<double>> times_with(const RowTimes& times, const Profile& profile,
                                              const Machine& machine, const Change& change) {
  if (const auto* bandwidth = std::get_if<BandwidthTimes>(&change))
    return times.with_machine(with_bandwidth(machine, bandwidth->factor));
  if (const auto* throughput = std::get_if<ThroughputTimes>(&change))
    return times.with_machine(with_throughput(machine, throughput->factor));
  if (const auto* type = std::get_if<InDType>(&change)) {
    const DType from = dtype_named(profile.subject.dtype).value_or(DType::fp32);
    return times.with_work([&](Work& work, const ProfileRow& row) {
      to_dtype(work, row, from, type->dtype, machine);
    });
  }
  return std::nullopt;
}

}  // namespace

ExplainContext::ExplainContext(const ExplainInput& input, bool is_expected)
    : input_(input), is_expected_(is_expected), iteration_(iteration_of(input.profile)) {
  const ProfileColumns& columns = input.profile.columns;
  const bool has_roofs = !input.machine.peaks.empty();  // a device that nobody described has none
  if (has_roofs && columns.has_flop && columns.has_bytes)
    times_.emplace(input.profile, input.machine);
}

double ExplainContext::time_without(double saved_s) const {
  const auto& recorded = profile().recorded;
  const double least_s = recorded && recorded->host_s ? std::min(*recorded->host_s, time_s()) : 0;
  return std::max(time_s() - saved_s, saved_s > 0 ? least_s : 0);
}

WhatIf ExplainContext::computed(std::string text, double saved_s) const {
  return {.change = Computed{std::move(text)},
          .base_s = time_s(),
          .time_s = time_without(saved_s),
          .reason = {},
          .basis = Basis::row_by_row,
          .is_expected = is_expected_};
}

WhatIf ExplainContext::row_by_row(Change change) const {
  WhatIf what_if{.change = std::move(change),
                 .base_s = time_s(),
                 .time_s = {},
                 .reason = {},
                 .is_expected = is_expected_};
  if (!times_) {
    what_if.reason = "the profile has no FLOP or no bytes";
    return what_if;
  }
  const auto times = times_with(*times_, profile(), machine(), what_if.change);
  if (!times) {
    what_if.reason = input_.no_prediction_reason.empty()
                         ? "only a prediction that can be made again knows"
                         : input_.no_prediction_reason;
    return what_if;
  }
  double saved_s = 0;
  for (std::size_t i = 0; i < times->size(); ++i)
    saved_s += profile().rows[i].totals.time_s - (*times)[i];
  what_if.time_s = time_without(saved_s);
  return what_if;
}

WhatIf ExplainContext::asked(Change change) const {
  if (!predicts_again()) return row_by_row(std::move(change));
  return {.change = std::move(change),
          .base_s = time_s(),
          .time_s = {},
          .reason = {},
          .basis = Basis::predicted_again,
          .is_expected = is_expected_};
}

ProfileFinding ExplainContext::finding(FindingCode code, std::string about, double cost_s) const {
  ProfileFinding finding;
  finding.code = code;
  finding.subject = std::move(about);
  finding.cost_s = cost_s;
  finding.is_expected = is_expected_;
  finding.cost_share = iteration_.share_of(cost_s);
  return finding;
}

std::vector<RowSet> rows_by(const Profile& profile,
                            const std::function<std::string(const ProfileRow&)>& key) {
  std::vector<RowSet> sets;
  std::unordered_map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < profile.rows.size(); ++i) {
    std::string name = key(profile.rows[i]);
    const auto [at, is_new] = index.try_emplace(name, sets.size());
    if (is_new) sets.push_back({std::move(name), {}, 0});
    sets[at->second].rows.push_back(i);
    sets[at->second].time_s += profile.rows[i].totals.time_s;
  }
  return sets;
}

std::string operator_of(const ProfileRow& row) { return row.op.empty() ? row.layer : row.op; }

std::string row_name(const ProfileRow& row) { return fmt::format("{} {}", row.layer, row.pass); }

std::string counted(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string percent_of(double part, double whole) {
  const double percent = whole > 0 ? 100 * part / whole : 0;
  return percent >= 9.95 ? fmt::format("{:.0f} %", percent) : fmt::format("{:.1f} %", percent);
}

}  // namespace strata
