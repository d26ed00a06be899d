// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/strategy.hpp"
#include "strata/measure/cpu/node_context.hpp"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace strata::cpu_training {

/// Convolutions by the strategies of the convolution lab (src/strata/convolution), for those who
/// ask for one by name or for the fastest. The lab has threads of its own, which wait awake for
/// work while others compute; so it is only opened when asked for.
class LabConvolutions {
 public:
  static constexpr const char* fastest = "fastest";

  /// Errors: a strategy that does not exist (usage) or that this build lacks (environment).
  explicit LabConvolutions(std::string wanted);

  /// The pair with its passes computed by the wanted strategy. A pass that it cannot compute stays
  /// as it is, and its implementation says why. `fastest` times every strategy and the pair itself
  /// on tensors of this size, once for each shape.
  KernelPair with_strategies(const Convolution& op, const NodeContext& context, KernelPair pair);

  /// "FFTW 3.3.10": of the libraries that strategies call.
  std::vector<std::string> versions() const;

 private:
  /// Who computes one pass.
  struct PassChoice {
    const ConvStrategy* strategy = nullptr;  ///< null: the pair
    std::string refusal;                     ///< why the wanted strategy does not
  };
  using Choices = std::array<PassChoice, 3>;  // by ConvPass
  struct Layer;

  const ConvStrategy* strategy_named(const std::string& name) const;
  PassChoice choose(const Layer& layer, ConvPass pass);
  const ConvStrategy* fastest_for(const Layer& layer, ConvPass pass);
  KernelPair composed(const Layer& layer, const Choices& choices) const;

  std::unique_ptr<ConvDevice> device_;
  std::string wanted_;
  /// What was fastest, by problem.
  std::vector<std::pair<ConvProblem, const ConvStrategy*>> known_;
};

}  // namespace strata::cpu_training
