// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/slower_algorithm.hpp"

#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace strata {
namespace {

constexpr double slower_by = 0.1;
constexpr double noticeable_of_step = 0.01;
constexpr std::size_t most_named = 4;

struct SlowerRow {
  const ProfileRow* row = nullptr;
  const MeasuredAlternative* better = nullptr;

  double lost_s() const { return row->totals.time_s - better->time_s; }
};

std::vector<SlowerRow> slower_rows(const Profile& recorded,
                                   std::span<const MeasuredAlternative> alternatives) {
  std::map<std::pair<std::string, std::string>, const MeasuredAlternative*> fastest;
  for (const MeasuredAlternative& one : alternatives) {
    const MeasuredAlternative*& best = fastest[{one.layer, one.pass}];
    if (best == nullptr || one.time_s < best->time_s) best = &one;
  }
  std::vector<SlowerRow> slower;
  for (const ProfileRow& row : recorded.rows) {
    const auto best = fastest.find({row.layer, row.pass});
    if (row.op != "convolution" || best == fastest.end()) continue;
    if (row.totals.time_s > (1 + slower_by) * best->second->time_s)
      slower.push_back({&row, best->second});
  }
  std::stable_sort(slower.begin(), slower.end(),
                   [](const SlowerRow& a, const SlowerRow& b) { return a.lost_s() > b.lost_s(); });
  return slower;
}

}  // namespace

std::optional<ProfileFinding> find_slower_algorithms(
    const Profile& recorded, std::span<const MeasuredAlternative> alternatives) {
  const std::vector<SlowerRow> slower = slower_rows(recorded, alternatives);
  const double step_s = total_of(recorded).time_s;
  double lost_s = 0;
  for (const SlowerRow& one : slower) lost_s += one.lost_s();
  if (slower.empty() || lost_s < noticeable_of_step * step_s) return std::nullopt;
  ProfileFinding finding;
  finding.code = FindingCode::slower_algorithm;
  finding.cost_s = lost_s;
  finding.cost_share = step_s > 0 ? lost_s / step_s : 0;
  finding.what = fmt::format(
      "{} of a step took longer than another algorithm did on this device",
      slower.size() == 1 ? "one convolution" : fmt::format("{} convolutions", slower.size()));
  for (std::size_t i = 0; i < std::min(slower.size(), most_named); ++i) {
    const SlowerRow& one = slower[i];
    const std::string name = fmt::format("{} {}", one.row->layer, one.row->pass);
    finding.evidence.push_back({name, one.row->totals.time_s, Measure::seconds});
    finding.evidence.push_back({fmt::format("{} by {}", name, one.better->algorithm),
                                one.better->time_s, Measure::seconds});
  }
  finding.advice = fmt::format(
      "let the library try its algorithms (torch.backends.cudnn.benchmark = True) and keep the "
      "layout its kernels want (channels_last), or take the faster one; measured in {}",
      slower.front().better->source);
  return finding;
}

}  // namespace strata
