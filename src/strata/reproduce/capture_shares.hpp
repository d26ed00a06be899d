// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/capture_study.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

/// What the report followed over the batch: its networks, its batches, and shares of one step.
namespace strata {

inline constexpr std::array<std::string_view, 3> captured_networks = {"alexnet", "resnet18",
                                                                      "vgg16"};
inline constexpr std::array<std::int64_t, 5> captured_batches = {4, 8, 16, 32, 64};

/// Nothing: the study does not have it.
const CaptureCase* find_case(const CaptureStudy& study, std::string_view framework,
                             std::string_view network, std::int64_t batch, std::string_view part);

/// 0 of nothing.
double part_of_whole(double part, double whole);

double share_of_convolutions(const CaptureCase& one);  ///< of kernel time, as those that follow
double share_of_winograd(const CaptureCase& one);
double share_of_pool_backward(const CaptureCase& one);
double share_of_collectives(const CaptureCase& one);
double share_of_copies(const CaptureCase& one);    ///< of the time of kernels and copies
double share_of_launches(const CaptureCase& one);  ///< of API time
double share_of_idle(const CaptureCase& one);      ///< no kernel runs, of wall time

/// Bytes to and from DRAM, as counted, over the kernels' time, of the roof; nothing: not counted.
std::optional<double> share_of_dram(const CaptureCase& one, const Roofs& roofs);
/// Bytes/s from pinned memory to the device, where the machine says so.
std::optional<double> link_of(const Machine& machine);

/// A training iteration by the definition of its layers: what is computed, and all that its steps
/// read and write.
struct IterationWork {
  double flop = 0;
  double bytes = 0;
};
IterationWork iteration_work(std::string_view network, std::int64_t batch);

}  // namespace strata
