// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/scratch.hpp"
#include "strata/convolution/cpu/strategies.hpp"

#include <algorithm>

namespace strata::cpu {

/// The gradient of the weights by the direct strategy.
std::unique_ptr<PreparedConvolution> prepare_direct_weight_gradient(const ConvProblem& problem,
                                                                    const SharedThreads& threads);
std::int64_t direct_weight_gradient_bytes(const ConvProblem& problem, int threads);

/// Of how many images padded copies exist at once: 32 MiB of them.
inline std::int64_t images_at_once(std::int64_t batch, std::int64_t image_floats) {
  constexpr std::int64_t most = std::int64_t{8} << 20;
  return std::clamp<std::int64_t>(most / std::max<std::int64_t>(1, image_floats), 1, batch);
}

}  // namespace strata::cpu
