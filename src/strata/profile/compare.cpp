// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/compare.hpp"

#include "strata/base/error.hpp"
#include "strata/profile/joined_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

namespace strata {
namespace {

class Joiner {
 public:
  Joiner(const Profile& a, const Profile& b) : join_(std::array{&a, &b}) {
    add(a, &ComparedRow::a);
    add(b, &ComparedRow::b);
  }

  std::vector<ComparedRow> rows() && { return std::move(rows_); }

 private:
  void add(const Profile& profile, std::optional<Totals> ComparedRow::*side) {
    for (const ProfileRow& row : profile.rows) {
      const JoinedRowKey key = join_.key_of(row);
      const auto [place, is_new] = index_.try_emplace(key, rows_.size());
      if (is_new) {
        rows_.push_back({.layer = key.layer,
                         .pass = key.pass,
                         .op = row.op,
                         .block = row.block,
                         .a = std::nullopt,
                         .b = std::nullopt});
      }
      ComparedRow& joined = rows_[place->second];
      // A sum of gradients that is not told apart is not what the layer is.
      if (joined.op == gradient_sum_op) joined.op = row.op;
      std::optional<Totals>& totals = joined.*side;
      if (!totals) totals.emplace();
      *totals += row.totals;
    }
  }

  RowJoin join_;
  std::map<JoinedRowKey, std::size_t> index_;
  std::vector<ComparedRow> rows_;
};

void add_idle(const Profile& profile, double ComparedIdle::*side, std::vector<ComparedIdle>& all) {
  if (!profile.recorded) return;
  for (const IdleShare& idle : profile.recorded->idle) {
    auto same = std::find_if(all.begin(), all.end(),
                             [&](const ComparedIdle& one) { return one.cause == idle.cause; });
    if (same == all.end()) same = all.insert(all.end(), {.cause = idle.cause});
    (*same).*side += idle.time_s;
  }
}

std::vector<ComparedIdle> compared_idle(const Profile& a, const Profile& b) {
  std::vector<ComparedIdle> all;
  add_idle(a, &ComparedIdle::a_s, all);
  add_idle(b, &ComparedIdle::b_s, all);
  std::stable_sort(all.begin(), all.end(), [](const ComparedIdle& x, const ComparedIdle& y) {
    return std::max(x.a_s, x.b_s) > std::max(y.a_s, y.b_s);
  });
  return all;
}

void expect_times(const Profile& profile, std::string_view which) {
  if (!profile.columns.has_time)
    fail(ErrorKind::input, "the {} profile has no times ('time_s'), so there is nothing to compare",
         which);
}

}  // namespace

std::optional<double> ProfileComparison::ratio() const {
  if (iteration_a.time_s <= 0) return std::nullopt;
  return iteration_b.time_s / iteration_a.time_s;
}

bool ProfileComparison::is_beyond(double threshold) const {
  const double shorter = std::min(iteration_a.time_s, iteration_b.time_s);
  const double longer = std::max(iteration_a.time_s, iteration_b.time_s);
  return longer > shorter * (1 + threshold);
}

std::string_view ProfileLabel::times() const {
  if (evidence == Evidence::measured) return "measured";
  return expected ? "expected" : "limit";
}

bool compares_expected(std::span<const Profile* const> profiles, ComparedTimes times) {
  if (times == ComparedTimes::limit) return false;
  bool has_expected = false;
  for (const Profile* profile : profiles) {
    if (profile->evidence == Evidence::measured) continue;
    if (!profile->expected) return false;
    has_expected = true;
  }
  return has_expected;
}

ProfileLabel label_of(const Profile& profile, bool of_expected) {
  ProfileLabel label{.subject = profile.subject, .evidence = profile.evidence};
  if (profile.evidence == Evidence::measured) return label;
  label.mac_is_one = profile.mac_is_one;
  label.limit_s = iteration_of(profile).time_s;
  if (of_expected) label.expected = profile.expected;
  return label;
}

ProfileComparison compare_profiles(const Profile& first, const Profile& second,
                                   ComparedTimes times) {
  expect_times(first, "first");
  expect_times(second, "second");
  const Profile* const both[] = {&first, &second};
  const bool of_expected = compares_expected(both, times);
  const Profile a = of_expected ? with_expected_times(first) : first;
  const Profile b = of_expected ? with_expected_times(second) : second;
  ProfileComparison comparison;
  comparison.a = label_of(first, of_expected);
  comparison.b = label_of(second, of_expected);
  comparison.iteration_a = iteration_of(a);
  comparison.iteration_b = iteration_of(b);
  comparison.total_a = total_of(a);
  comparison.total_b = total_of(b);
  comparison.idle = compared_idle(a, b);
  comparison.rows = Joiner(a, b).rows();
  return comparison;
}

std::vector<const ComparedRow*> largest_differences(const ProfileComparison& comparison) {
  std::vector<const ComparedRow*> rows;
  for (const ComparedRow& row : comparison.rows) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const ComparedRow* a, const ComparedRow* b) {
    return std::abs(a->difference_s()) > std::abs(b->difference_s());
  });
  return rows;
}

std::vector<ComparedGroup> grouped(const ProfileComparison& comparison,
                                   std::string ComparedRow::*key) {
  std::vector<ComparedGroup> groups;
  std::map<std::string, std::size_t> index;
  for (const ComparedRow& row : comparison.rows) {
    const auto [place, is_new] = index.try_emplace(row.*key, groups.size());
    if (is_new) groups.push_back({row.*key, {}, {}});
    if (row.a) groups[place->second].a += *row.a;
    if (row.b) groups[place->second].b += *row.b;
  }
  return groups;
}

}  // namespace strata
