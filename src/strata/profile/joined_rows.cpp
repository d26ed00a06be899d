// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/joined_rows.hpp"

#include <map>
#include <string_view>

namespace strata {
namespace {

constexpr std::string_view joined_backward = "backward";

bool is_part_of_backward(const ProfileRow& row) {
  return row.pass == "backward_input" || row.pass == "backward_weight";
}

/// How one profile has the backward pass of a layer.
struct BackwardRows {
  bool is_one = false, is_two = false, has_sum = false;
};

}  // namespace

RowJoin::RowJoin(std::span<const Profile* const> profiles) {
  std::set<std::string> sums;
  for (const Profile* profile : profiles) {
    for (const ProfileRow& row : profile->rows) {
      if (row.op == gradient_sum_op) sums.insert(row.layer);
    }
  }
  for (const Profile* profile : profiles) {
    std::map<std::string, BackwardRows> layers;
    for (const ProfileRow& row : profile->rows) {
      BackwardRows& has = layers[row.layer];
      if (row.op == gradient_sum_op)
        has.has_sum = true;
      else
        (is_part_of_backward(row) ? has.is_two : has.is_one) |=
            is_part_of_backward(row) || row.pass == joined_backward;
    }
    for (const auto& [layer, has] : layers) {
      const bool hides_sum = (has.is_one || has.is_two) && !has.has_sum && sums.contains(layer);
      if (hides_sum) sums_inside_.insert(layer);
      // A sum that is in one of the two gradients cannot be taken out of it.
      if (has.is_one || hides_sum) coarse_.insert(layer);
    }
  }
}

JoinedRowKey RowJoin::key_of(const ProfileRow& row) const {
  const bool is_joined = is_part_of_backward(row) && coarse_.contains(row.layer);
  return {row.layer, is_joined ? std::string(joined_backward) : row.pass,
          row.op == gradient_sum_op && !sums_inside_.contains(row.layer)};
}

std::string pass_title(const std::string& pass, const std::string& op) {
  return op == gradient_sum_op ? pass + " sum" : pass;
}

}  // namespace strata
