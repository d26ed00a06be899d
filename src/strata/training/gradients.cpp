// SPDX-License-Identifier: Apache-2.0
#include "strata/training/gradients.hpp"

#include <cstddef>

namespace strata {
std::optional<ValueId> Gradients::of(ValueId forward) const {
  if (forward >= gradients_.size() || gradients_[forward] == no_value) return std::nullopt;
  return gradients_[forward];
}

void Gradients::set(ValueId forward, ValueId gradient) {
  if (forward >= gradients_.size()) gradients_.resize(forward + std::size_t{1}, no_value);
  gradients_[forward] = gradient;
}

ValueId Gradients::make(ValueId forward) {
  Value value = writer_.value(forward);
  value.kind = value.kind == ValueKind::weight ? ValueKind::weight_gradient : ValueKind::gradient;
  value.is_given = false;
  value.is_result = false;
  return writer_.add(value);
}

void Gradients::write(ValueId forward, StepOperand as) {
  if (writer_.value(forward).kind == ValueKind::weight) {
    const std::optional<ValueId> earlier = of(forward);
    // The gradient of another value under this name must not be changed.
    if (earlier && writer_.value(*earlier).kind == ValueKind::weight_gradient) {
      writer_.reads(*earlier, as);
      writer_.writes(*earlier, as);
      return;
    }
    if (!earlier) {
      set(forward, make(forward));
      writer_.writes(gradients_[forward], as);
      return;
    }
  }
  const ValueId contribution = make(forward);
  writer_.writes(contribution, as);
  pending_.push_back({forward, contribution});
}

void Gradients::write(const ValueIds& forward, StepOperand as) {
  for (std::uint32_t i = 0; i < forward.count; ++i) write(forward[i], as);
}

void Gradients::settle(std::uint32_t time) {
  for (std::size_t i = 0; i < pending_.size(); ++i)
    contribute(pending_[i].forward, pending_[i].gradient, time);
  pending_.clear();
}

void Gradients::contribute(ValueId forward, ValueId gradient, std::uint32_t time) {
  const std::optional<ValueId> earlier = of(forward);
  if (!earlier) return set(forward, gradient);
  const bool accumulates = writer_.value(*earlier).kind == ValueKind::weight_gradient;
  add_up(forward, *earlier, gradient, accumulates ? *earlier : make(forward), time);
}

void Gradients::add_up(ValueId forward, ValueId a, ValueId b, ValueId sum, std::uint32_t time) {
  const Value& value = writer_.value(forward);
  writer_.begin({.node = bound_.graph->tensors[value.tensor].producer,
                 .pass = sum_pass_,
                 .layer_class = LayerClass::pointwise,
                 .is_gradient_sum = true,
                 .time = time});
  writer_.reads(a, {Operand::input, 0});
  writer_.reads(b, {Operand::input, 1});
  writer_.writes(sum, {Operand::output, 0});
  writer_.add_work(value.bytes / bytes_per_element(bound_.tensors[value.tensor].dtype), 0);
  set(forward, sum);
}

}  // namespace strata
