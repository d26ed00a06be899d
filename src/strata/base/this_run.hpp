// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// What a measured machine says of the run that measured it.
namespace strata {

std::string this_host();    ///< its name, or "unknown"
std::string this_moment();  ///< "2026-03-01T12:00:00Z"

/// How many threads wanted to run on this computer during the last minute, on average; nothing
/// where it does not say.
std::optional<double> recent_load();

/// "NVIDIA H200" → "nvidia-h200-measured": what the machine is called on the command line.
std::string measured_name(std::string_view title);

}  // namespace strata
