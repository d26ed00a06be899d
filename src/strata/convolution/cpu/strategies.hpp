// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/strategy.hpp"
#include "strata/cpu/threads.hpp"

#include <memory>
#include <optional>
#include <string>

/// The strategies of the CPU. They share the threads of the device; the roles that a run reports
/// are those of the calling thread, which does the same work as the others.
namespace strata::cpu {

using SharedThreads = std::shared_ptr<Threads>;

std::unique_ptr<ConvStrategy> direct_strategy(const SharedThreads& threads);
std::unique_ptr<ConvStrategy> unroll_strategy(const SharedThreads& threads);
std::unique_ptr<ConvStrategy> fft_strategy(const SharedThreads& threads);
/// F(tile×tile, 3×3) with a tile of 2 or 4.
std::unique_ptr<ConvStrategy> winograd_strategy(const SharedThreads& threads, int tile);
/// oneDNN: its own pick, its direct algorithms, its Winograd.
enum class OneDnnAlgorithm : std::uint8_t { own_pick, direct, winograd };
std::unique_ptr<ConvStrategy> onednn_strategy(OneDnnAlgorithm algorithm);
std::string_view name_of(OneDnnAlgorithm algorithm);
std::string onednn_version();  ///< "2.6.3"; empty: there is none

/// Why a problem is not one of the CPU's own kernels: they compute in fp32.
std::optional<std::string> type_refusal(const ConvProblem& problem);

/// What the build lacks; nothing when it is there.
std::optional<std::string> vector_refusal();  ///< Highway

/// The relative error of sums of fp32 products grows with the square root of their number; eight
/// times that leaves room for an unlucky order, and a wrong term is far above it.
double rounding_tolerance(const ConvProblem& problem);

}  // namespace strata::cpu
