// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/profile.hpp"

#include "strata/base/checked.hpp"

#include <unordered_map>

namespace strata {

std::string_view name_of(Evidence evidence) {
  return evidence == Evidence::predicted ? "predicted" : "measured";
}

Spent& Spent::operator+=(const Spent& other) {
  steps = checked_add(steps, other.steps);
  time_s += other.time_s;
  compute_s += other.compute_s;
  stall_s += other.stall_s;
  flop = checked_add(flop, other.flop);
  in_bytes = checked_add(in_bytes, other.in_bytes);
  out_bytes = checked_add(out_bytes, other.out_bytes);
  refetch_bytes = checked_add(refetch_bytes, other.refetch_bytes);
  return *this;
}

std::vector<ProfileGroup> grouped(const Profile& profile, std::string ProfileRow::*key) {
  std::vector<ProfileGroup> groups;
  std::unordered_map<std::string_view, std::size_t> index;
  for (const ProfileRow& row : profile.rows) {
    const auto [place, is_new] = index.try_emplace(row.*key, groups.size());
    if (is_new) groups.push_back({row.*key, {}});
    groups[place->second].spent += row.spent;
  }
  return groups;
}

Spent total_of(const Profile& profile) {
  Spent total;
  for (const ProfileRow& row : profile.rows) total += row.spent;
  return total;
}

}  // namespace strata
