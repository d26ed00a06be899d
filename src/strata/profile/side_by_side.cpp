// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/side_by_side.hpp"

#include "strata/base/error.hpp"
#include "strata/profile/joined_rows.hpp"

#include <algorithm>
#include <map>

namespace strata {
namespace {

void add_spent_to(std::optional<Totals>& sum, const Totals& more) {
  if (!sum) sum.emplace();
  *sum += more;
}

}  // namespace

double SideRow::spread_s() const {
  double least = 0;
  double most = 0;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const double time_s = totals[i] ? totals[i]->time_s : 0;
    least = i == 0 ? time_s : std::min(least, time_s);
    most = std::max(most, time_s);
  }
  return most - least;
}

SideBySide side_by_side(std::span<const Profile> given, ComparedTimes times) {
  SideBySide all;
  std::vector<const Profile*> places;
  for (const Profile& profile : given) places.push_back(&profile);
  const bool of_expected = compares_expected(places, times);
  std::vector<Profile> profiles;
  for (const Profile& profile : given)
    profiles.push_back(of_expected ? with_expected_times(profile) : profile);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const Profile& profile = profiles[i];
    if (!profile.columns.has_time)
      fail(ErrorKind::input, "profile {} has no times ('time_s'), so there is nothing to compare",
           i + 1);
    all.labels.push_back(label_of(given[i], of_expected));
    all.iterations.push_back(iteration_of(profile));
  }
  places.clear();
  for (const Profile& profile : profiles) places.push_back(&profile);
  const RowJoin join(places);
  std::map<JoinedRowKey, std::size_t> index;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    for (const ProfileRow& row : profiles[i].rows) {
      const JoinedRowKey key = join.key_of(row);
      const auto [place, is_new] = index.try_emplace(key, all.rows.size());
      if (is_new)
        all.rows.push_back({key.layer, key.pass, row.op, row.block,
                            std::vector<std::optional<Totals>>(profiles.size())});
      SideRow& joined = all.rows[place->second];
      // A sum of gradients that is not told apart is not what the layer is.
      if (joined.op == gradient_sum_op) joined.op = row.op;
      add_spent_to(joined.totals[i], row.totals);
    }
  }
  return all;
}

std::vector<SideRow> grouped(const SideBySide& all, std::string SideRow::*key) {
  std::vector<SideRow> groups;
  std::map<std::string, std::size_t> index;
  for (const SideRow& row : all.rows) {
    const auto [place, is_new] = index.try_emplace(row.*key, groups.size());
    if (is_new)
      groups.push_back(
          {row.*key, "", "", "", std::vector<std::optional<Totals>>(row.totals.size())});
    for (std::size_t i = 0; i < row.totals.size(); ++i)
      if (row.totals[i]) add_spent_to(groups[place->second].totals[i], *row.totals[i]);
  }
  return groups;
}

}  // namespace strata
