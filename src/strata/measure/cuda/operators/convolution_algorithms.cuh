// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/context.cuh"
#include "strata/measure/cuda/operators/convolution_request.cuh"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Which algorithm computes a convolution of a network: the fastest of cuDNN's engines by default,
/// as torch.backends.cudnn.benchmark picks it; a strategy of the convolution lab by name; or the
/// fastest of both.
namespace strata::cuda::train {

struct TrainingContext;

/// The name with which one asks for the fastest of cuDNN's engines and the lab's strategies.
inline constexpr std::string_view fastest_convolution = "fastest";

class ConvolutionAlgorithms {
 public:
  /// The context owns this and outlives it. Errors (usage) where no strategy has the name that the
  /// choices ask for.
  explicit ConvolutionAlgorithms(const TrainingContext& context);

  using Found = std::variant<std::shared_ptr<ConvAlgorithm>, std::string>;
  /// Or why there is none, which only happens where a strategy was asked for by name.
  Found algorithm(const ConvRequest& request);
  /// Memory that the lab's strategies hold: the buffer that they share, and what is larger than it.
  std::int64_t held_bytes() const;

 private:
  using Candidates = std::vector<std::unique_ptr<ConvAlgorithm>>;
  Found choose(const ConvRequest& request);
  Found named_strategy(const ConvRequest& request);
  void add_strategies(Candidates& candidates, const ConvRequest& request);
  std::unique_ptr<ConvAlgorithm> prepared(const ConvStrategy& strategy, const ConvProblem& problem);
  std::shared_ptr<ConvAlgorithm> fastest(const ConvRequest& request, Candidates candidates);

  const TrainingContext& context_;
  StrategyList strategies_;  ///< of the lab; none where nobody asks for them
  std::map<ConvRequest, std::shared_ptr<ConvAlgorithm>> known_;
};

}  // namespace strata::cuda::train
