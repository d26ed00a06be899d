// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/strategy.hpp"
#include "strata/measure/cpu/conv_windows.hpp"

#include <memory>
#include <optional>
#include <string>

namespace strata::cpu_training {

/// A convolution as the strategies of the lab know it: two spatial axes, as much padding after as
/// before. Padding that differs is made real first, in a copy of the large tensor.
struct StrategyShape {
  explicit StrategyShape(const ConvWindows& windows);

  std::optional<ConvShape> shape;  ///< none: strategies cannot compute it
  std::string refusal;             ///< why
  bool is_padded = false;          ///< `shape` is of a copy with its padding

  std::int64_t padded_bytes() const;
  /// Copies between the large tensor and the copy with its padding.
  void pad(const float* large, float* padded) const;
  void unpad(const float* padded, float* large) const;

 private:
  std::int64_t planes_ = 0, height_ = 0, width_ = 0;  // of the large tensor
  std::int64_t top_ = 0, left_ = 0;                   // rows and columns of padding before it
};

/// One sum of a convolution, by a strategy that was prepared when kernels were made.
class StrategyPass {
 public:
  StrategyPass(const ConvStrategy& strategy, const ConvProblem& problem, StrategyShape shape);

  void run(void* large, void* weights, void* small, void* scratch);
  const std::string& name() const { return name_; }

 private:
  ConvProblem problem_;
  StrategyShape shape_;
  std::string name_;
  std::unique_ptr<PreparedConvolution> prepared_;
};

}  // namespace strata::cpu_training
