// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program_builder.hpp"

#include <optional>
#include <vector>

namespace strata {

/// Steps of the loss. An output without a loss gets its gradient from outside. Loss steps belong to
/// no node.
class Losses {
 public:
  explicit Losses(ProgramBuilder& builder);

  void forward();
  void backward();

 private:
  struct Term {
    TensorId output = 0;
    bool has_loss = false;
    std::int64_t samples = 0;  // rows of classes
    ValueId targets = 0;
    std::optional<ValueId> probabilities = std::nullopt;
  };
  void forward(Term& term);
  void backward(const Term& term);
  Pass backward_pass() const;
  ValueId add(ValueKind kind, const Term& term, std::uint32_t part, std::int64_t bytes);

  ProgramBuilder& builder_;
  bool is_softmax_ = false;  // else squared error
  std::vector<Term> terms_;
};

}  // namespace strata
