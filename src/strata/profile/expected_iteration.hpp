// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/checked_runs.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What an iteration is expected to take in a framework on a GPU, as data of a profile. The
/// prediction itself is made in predict/expected/.
namespace strata {

struct Profile;

/// A share of the iteration that is not arithmetic at the peak.
struct LostShare {
  std::string to;  ///< "kernels below their peak"
  double time_s = 0;

  bool operator==(const LostShare&) const = default;
};

/// The computer that dispatches.
struct DispatchHost {
  std::string calibration;  ///< whose times: "h200-pytorch-eager"; empty: not known
  std::string title;        ///< "16 virtual CPU cores"
  double slower = 1;        ///< how many times as long as those times it takes

  bool operator==(const DispatchHost&) const = default;
};
/// "16 virtual CPU cores (h200-pytorch-eager)", "a host 1.5 times as slow as …"; empty: not known.
std::string text_of(const DispatchHost& host);

/// "GPU busy", "CPU busy": what the busy share of an iteration is called on a kind of machine.
std::string_view busy_title(std::string_view machine_kind);

struct ExpectedIteration {
  std::string framework;      ///< "pytorch-eager"
  std::string calibration;    ///< calibrated, transferred
  std::string calibrated_on;  ///< machine of the calibration
  DispatchHost host = {};
  CheckedRuns checked = {};  ///< that expected times of this machine were held against
  double time_s = 0, low_s = 0, high_s = 0;  ///< nine of ten iterations lie between the two
  double busy_s = 0;                         ///< while at least one kernel runs
  double host_s = 0;                         ///< that the host takes to dispatch everything
  double arithmetic_s = 0;                   ///< products at the peak of their data type
  double samples_per_s = 0;
  std::int64_t launches = 0;
  double uncovered_share = 0;  ///< of the busy time: classes of kernels that nobody measured
  std::vector<LostShare> lost_to;

  bool is_host_bound() const { return host_s > busy_s; }
  double samples() const { return samples_per_s * time_s; }

  bool operator==(const ExpectedIteration&) const = default;
};

/// The profile with the times and launches of the framework's kernels instead of the limit's; as it
/// is where it has none. What the limit says of waiting for memory is not in it.
Profile with_expected_times(const Profile& profile);

}  // namespace strata
