// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/reproduce/roofline_study.hpp"

#include <array>
#include <functional>
#include <optional>
#include <string>

/// The sweeps of the time-based roofline for `strata reproduce roofline`: predicted, and measured
/// now, earlier, or by whoever made this program.
namespace strata {

inline constexpr Flag sweeps_run_flag{.name = "run",
                                      .value = "FILE",
                                      .help = "roofline: measures its sweeps here, into FILE.",
                                      .offer = Offer::file,
                                      .implied = "roofline-sweeps.json"};
inline constexpr Flag sweeps_device_flag{
    .name = "device", .value = "DEVICE", .help = "With --run: cpu (default), cuda or cuda:N."};
inline constexpr Flag sweeps_on_flag{.name = "on",
                                     .value = "MACHINE",
                                     .help = "roofline: whose roofs the measured sweeps have.",
                                     .offer = Offer::machine};

/// What was measured, and where it is from.
struct MeasuredSide {
  std::optional<RooflineStudy> study;
  std::string notes;  ///< lines for people: origin, or why there is nothing; what did not run
  bool is_interrupted = false;
};

/// `from`: a file of --run; else --run itself; else what ships.
MeasuredSide measured_side(const Request& request, std::optional<std::string_view> from,
                           const std::function<void(double)>& progress);

}  // namespace strata
