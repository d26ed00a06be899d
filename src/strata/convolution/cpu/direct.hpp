// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/lane_plan.hpp"
#include "strata/convolution/cpu/strategies.hpp"

#include <algorithm>

/// The weights' gradient of the direct strategy.
namespace strata::cpu {

std::unique_ptr<PreparedConvolution> prepare_direct_products(const ConvProblem& problem,
                                                             const SharedThreads& threads);
std::int64_t direct_products_bytes(const ConvProblem& problem, int threads);

/// The same with filters in the lanes of a vector and no pixel computed in vain; nothing when a
/// group has too few filters for that.
std::unique_ptr<PreparedConvolution> prepare_filter_products(const ConvProblem& problem,
                                                             const SharedThreads& threads);
std::optional<std::int64_t> filter_products_bytes(const ConvProblem& problem, int threads);

/// The other passes with channels in lanes and nothing copied (lane_plan.hpp).
std::unique_ptr<PreparedConvolution> prepare_lane_sums(const ConvProblem& problem, LanePlan plan,
                                                       const SharedThreads& threads);

/// Of how many images the planes exist at once: 32 MiB of them.
inline std::int64_t images_at_once(std::int64_t batch, std::int64_t image_floats) {
  constexpr std::int64_t most = std::int64_t{8} << 20;
  return std::clamp<std::int64_t>(most / std::max<std::int64_t>(1, image_floats), 1, batch);
}

}  // namespace strata::cpu
