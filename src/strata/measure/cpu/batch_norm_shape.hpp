// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/node_context.hpp"
#include "strata/measure/engine/constants.hpp"

namespace strata::cpu_training {

/// The sizes of a batch norm and where its inputs stand. X is [N, C, space]; the inputs after it
/// are scale and shift (where there are such), running mean and running variance.
struct BatchNormShape {
  std::int64_t batch = 0, channels = 0, space = 0;
  bool has_scale = false, has_shift = false;

  BatchNormShape(const BatchNorm& op, const NodeContext& context)
      : batch(context.input()[0]),
        channels(context.input()[1]),
        space(context.input().elements / (batch * channels)),
        has_scale(op.scale),
        has_shift(op.shift) {}

  std::size_t scale_input() const { return 1; }
  std::size_t shift_input() const { return has_scale ? 2 : 1; }
  std::size_t mean_input() const { return 1 + (has_scale ? 1U : 0U) + (has_shift ? 1U : 0U); }
  std::size_t variance_input() const { return mean_input() + 1; }
  double count() const { return static_cast<double>(batch * space); }  ///< numbers of a channel

  /// running ← 0.9 · running + 0.1 · new, as PyTorch does it: of the variance that divides by
  /// count − 1.
  template <class T>
  void update_running(const T* mean, const T* variance, const NodeMemory& m) const {
    constexpr double momentum = training_constants::batch_norm_momentum;
    const double unbiased = count() > 1 ? count() / (count() - 1) : 1;
    const auto move = [&](void* memory, const T* fresh, double factor) {
      T* const running = static_cast<T*>(memory);
      for (std::int64_t c = 0; c < channels; ++c) {
        running[c] = static_cast<T>((1 - momentum) * static_cast<double>(running[c]) +
                                    momentum * factor * static_cast<double>(fresh[c]));
      }
    };
    move(m.inputs[mean_input()], mean, 1);
    move(m.inputs[variance_input()], variance, unbiased);
  }
};

}  // namespace strata::cpu_training
