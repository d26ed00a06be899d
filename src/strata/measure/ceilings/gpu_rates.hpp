// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"

#include <optional>
#include <string_view>

/// What documents promise of NVIDIA GPUs, to hold a measurement against.
namespace strata {

/// Dense FLOP per clock of one SM, from the compute capability; nothing where it depends on the
/// product or is not published.
std::optional<double> flop_per_clock_of_sm(int major, int minor, DType dtype, ComputeUnit unit);

/// The document that says so.
inline constexpr std::string_view source_of_sm_rates =
    "CUDA C++ Programming Guide, throughput of native arithmetic instructions; matrix units: "
    "architecture whitepapers of A100 and H100";

/// The shipped machine that is this device by the name that the driver gives it ("NVIDIA H200",
/// "NVIDIA A100-SXM4-40GB"); nothing when none is.
const Machine* datasheet_of(std::string_view device_name);

}  // namespace strata
