// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/profile.hpp"

#include "strata/base/checked.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace strata {

std::string_view name_of(Evidence evidence) {
  return evidence == Evidence::predicted ? "predicted" : "measured";
}

std::string_view name_of(TimeFrom from) {
  switch (from) {
    case TimeFrom::rows: return "rows";
    case TimeFrom::simulation: return "simulation";
    case TimeFrom::whole_iterations: return "whole_iterations";
    case TimeFrom::layer_runs: return "layer_runs";
    case TimeFrom::step: return "step";
    case TimeFrom::recording: return "recording";
    case TimeFrom::framework: return "framework";
  }
  return "";
}

bool is_dense(const ProfileRow& row) { return row.layer_class == "dense"; }

bool is_communication(const ProfileRow& row) { return row.layer_class == communication_class; }

void add_implementation(std::string& all, const std::string& one) {
  const auto listed = [](const std::string& names) { return ", " + names + ", "; };
  if (one.empty() || listed(all).find(listed(one)) != std::string::npos) return;
  all += all.empty() ? one : ", " + one;
}

namespace {

constexpr std::string_view algorithms_with_fewer_operations[] = {"winograd", "fft"};

bool mentions(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

bool does_fewer_operations(std::string_view implementation) {
  return std::any_of(
      std::begin(algorithms_with_fewer_operations), std::end(algorithms_with_fewer_operations),
      [&](std::string_view algorithm) { return mentions(implementation, algorithm); });
}

void add_algorithm(std::string& implementation, std::string_view kernel) {
  if (does_fewer_operations(implementation)) return;
  for (const std::string_view algorithm : algorithms_with_fewer_operations) {
    if (!mentions(kernel, algorithm)) continue;
    implementation += fmt::format("{}({})", implementation.empty() ? "" : " ", algorithm);
    return;
  }
}

Totals& Totals::operator+=(const Totals& other) {
  steps = checked_add(steps, other.steps);
  time_s += other.time_s;
  compute_s += other.compute_s;
  stall_s += other.stall_s;
  flop = checked_add(flop, other.flop);
  in_bytes = checked_add(in_bytes, other.in_bytes);
  out_bytes = checked_add(out_bytes, other.out_bytes);
  refetch_bytes = checked_add(refetch_bytes, other.refetch_bytes);
  launches = checked_add(launches, other.launches);
  zero_flop_launches = checked_add(zero_flop_launches, other.zero_flop_launches);
  zero_flop_s += other.zero_flop_s;
  return *this;
}

void add(std::vector<TypedFlop>& sum, const std::vector<TypedFlop>& more) {
  for (const TypedFlop& part : more) {
    const auto same = std::find_if(sum.begin(), sum.end(), [&](const TypedFlop& other) {
      return other.dtype == part.dtype && other.is_matrix == part.is_matrix;
    });
    if (same == sum.end()) {
      sum.push_back(part);
    } else {
      same->flop = checked_add(same->flop, part.flop);
    }
  }
}

void add(std::vector<LevelBytes>& sum, const std::vector<LevelBytes>& more) {
  for (const LevelBytes& part : more) {
    const auto same = std::find_if(
        sum.begin(), sum.end(), [&](const LevelBytes& other) { return other.level == part.level; });
    if (same == sum.end()) {
      sum.push_back(part);
    } else {
      same->bytes = checked_add(same->bytes, part.bytes);
    }
  }
}

std::vector<ProfileGroup> grouped(const Profile& profile, std::string ProfileRow::*key) {
  std::vector<ProfileGroup> groups;
  std::unordered_map<std::string_view, std::size_t> index;
  for (const ProfileRow& row : profile.rows) {
    const auto [place, is_new] = index.try_emplace(row.*key, groups.size());
    if (is_new) groups.push_back({row.*key, {}});
    groups[place->second].totals += row.totals;
  }
  return groups;
}

Totals total_of(const Profile& profile) {
  Totals total;
  for (const ProfileRow& row : profile.rows) total += row.totals;
  return total;
}

IterationTime iteration_of(const Profile& profile) {
  IterationTime iteration{.time_s = profile.iteration_s.value_or(0),
                          .from = profile.iteration_from,
                          .drain_s = profile.drain_s};
  double wall_s = 0;
  for (const ProfileRow& row : profile.rows) {
    iteration.busy_s += row.totals.time_s;
    wall_s += std::max(row.totals.time_s, row.wall_s.value_or(0));
  }
  if (!profile.iteration_s) {
    iteration.from = TimeFrom::rows;
    iteration.time_s = wall_s + iteration.drain_s;
  }
  const double busy_s =
      profile.recorded ? std::min(profile.recorded->busy_s, iteration.busy_s) : iteration.busy_s;
  iteration.overlap_s = iteration.busy_s - busy_s;
  iteration.gaps_s = std::max(0.0, iteration.time_s - busy_s - iteration.drain_s);
  // Sums are rounded: what is left of them is nothing.
  for (double* const rest : {&iteration.gaps_s, &iteration.overlap_s})
    if (*rest < 1e-9 * iteration.time_s) *rest = 0;
  return iteration;
}

std::optional<double> counter_of(const Profile& profile, const ProfileRow& row,
                                 std::string_view key) {
  const auto place = profile.counters.place_of(key);
  if (!place || *place >= row.counters.size()) return std::nullopt;
  return row.counters[*place];
}

Profile::Profile() = default;
Profile::Profile(const Profile& other) = default;
Profile::Profile(Profile&& other) noexcept = default;
Profile& Profile::operator=(const Profile& other) = default;
Profile& Profile::operator=(Profile&& other) noexcept = default;
Profile::~Profile() = default;

}  // namespace strata
