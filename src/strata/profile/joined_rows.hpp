// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/profile/profile.hpp"

#include <compare>
#include <set>
#include <span>
#include <string>

/// Which rows of several profiles are the same work, told apart as far as all of them do.
namespace strata {

/// Rows with the same key add up.
struct JoinedRowKey {
  std::string layer, pass;
  bool is_gradient_sum = false;  ///< apart from what the layer itself does

  auto operator<=>(const JoinedRowKey&) const = default;
};

class RowJoin {
 public:
  explicit RowJoin(std::span<const Profile* const> profiles);

  JoinedRowKey key_of(const ProfileRow& row) const;

 private:
  std::set<std::string> coarse_;       ///< layers whose two gradients somebody does not tell apart
  std::set<std::string> sums_inside_;  ///< layers whose sums of gradients somebody does not
};

/// "backward", "backward sum": for people.
std::string pass_title(const std::string& pass, const std::string& op);

}  // namespace strata
