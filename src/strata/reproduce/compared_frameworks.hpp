// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/capture_study.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The two reference kernels of the time-based roofline in several frameworks on one device: those
/// that strata capture recorded, and our own engine as `strata reproduce roofline` measured it.
namespace strata {

inline constexpr std::array<std::string_view, 2> compared_kernels = {"conv2d", "lstm"};
inline constexpr std::array<std::string_view, 3> compared_parts = {"forward", "backward",
                                                                   "forward and backward"};
inline constexpr std::array<std::string_view, 3> compared_frameworks = {"pytorch", "jax", "strata"};
inline constexpr std::array<DType, 2> compared_types = {DType::fp32, DType::fp16};

/// One kernel, pass and data type of one framework over the batch.
struct FrameworkTrack {
  std::string framework;  ///< "pytorch", "jax", "strata"
  std::string_view kernel;
  std::string part;  ///< "forward", "backward", "forward and backward"
  DType dtype = DType::fp32;
  std::vector<std::int64_t> batches;  ///< rising
  /// As many. FLOP and bytes as the device counted them, where it did (Work::counts_bytes), else by
  /// the kernel's definition.
  std::vector<Work> works;
};

/// Those of which something was measured. FLOP and bytes are as counted; of captures without
/// counters by definition, as our own engine's points have it; without these they are 0, and only
/// times and launches are known.
std::vector<FrameworkTrack> framework_tracks(const CaptureStudy& study, const RooflineStudy* own);

/// Launches and kernel times side by side, without a verdict.
std::vector<Finding> framework_findings(const CaptureStudy& study, const RooflineStudy* own);

/// What the time-based roofline claims of frameworks; `own` has the roofs of the device.
std::vector<Finding> framework_claims(const CaptureStudy& study, const RooflineStudy& own);

}  // namespace strata
