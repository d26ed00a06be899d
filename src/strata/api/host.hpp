// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/calibration.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace strata {

/// Whose dispatch times an expected time is made of. Kernels stay those of their calibration.
struct HostChoice {
  std::string name;  ///< as it was asked for; empty: the host of the kernels' calibration
  std::shared_ptr<const Calibration> of;  ///< whose host; null: that of the kernels' calibration
  double slower = 1;                      ///< how many times as long it takes

  bool is_given() const { return !name.empty(); }
};

/// A factor ("1.5x": that many times as long), or a calibration: one that ships or was kept, by its
/// name, or a file. Errors (usage) say what is possible; errors (input) name what is wrong in a
/// file.
HostChoice host_named(std::string_view text);

/// The numbers of a calibration, without its samples, with the times of that host. Errors (usage):
/// the host was measured in another framework, or has no times.
Calibration with_host(const Calibration& calibration, const HostChoice& host);

}  // namespace strata
