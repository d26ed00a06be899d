// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/expected_iteration.hpp"

#include "strata/profile/profile.hpp"

#include <fmt/format.h>

namespace strata {

std::string text_of(const DispatchHost& host) {
  if (host.calibration.empty()) return "";
  const std::string measured = fmt::format("{} ({})", host.title, host.calibration);
  if (host.slower == 1) return measured;
  return fmt::format("a host that takes {:.3g} times as long as {}", host.slower, measured);
}

std::string_view busy_title(std::string_view machine_kind) {
  return machine_kind == "cpu" ? "CPU busy" : "GPU busy";
}

Profile with_expected_times(const Profile& profile) {
  Profile changed = profile;
  if (!profile.expected) return changed;
  changed.iteration_s = profile.expected->time_s;
  changed.iteration_from = TimeFrom::framework;
  changed.drain_s = 0;
  for (ProfileRow& row : changed.rows) {
    const ExpectedRow expected = row.expected.value_or(ExpectedRow{});
    Totals& totals = row.totals;
    totals.time_s = expected.busy_s;
    totals.compute_s = totals.stall_s = 0;
    totals.launches = expected.launches;
    const bool only_moves = totals.flop == 0;
    totals.zero_flop_launches = only_moves ? totals.launches : 0;
    totals.zero_flop_s = only_moves ? totals.time_s : 0;
    row.moved.reset();  // of the limit's timeline
    row.cause.clear();
    row.cause_s = 0;
  }
  return changed;
}

}  // namespace strata
