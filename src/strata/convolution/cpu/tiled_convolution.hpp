// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/strategies.hpp"
#include "strata/convolution/cpu/tile_domain.hpp"

/// What FFT and Winograd convolutions have in common: tiles and kernels are transformed, multiplied
/// by one matrix product at each position, and transformed back. `T` is float or complex<float>.
namespace strata::cpu {

/// At stride 1.
template <class T>
std::unique_ptr<PreparedConvolution> prepare_tiled(const ConvProblem& problem,
                                                   std::unique_ptr<TileDomain<T>> domain,
                                                   const SharedThreads& threads);

/// The scratch memory of what prepare_tiled makes.
template <class T>
std::int64_t tiled_bytes(const ConvProblem& problem, const TileDomain<T>& domain, int threads);

}  // namespace strata::cpu
