// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/strategy_pass.hpp"

#include "strata/measure/cpu/plain/loops.hpp"

#include <algorithm>
#include <utility>

namespace strata::cpu_training {
namespace {

class NoRoleMarks : public RoleMarks {
 public:
  void begin(KernelRole) override {}
};

ConvShape shape_of(const ConvWindows& w) {
  return {.batch = w.batch,
          .channels = w.large_channels,
          .height = w.large[1],
          .width = w.large[2],
          .filters = w.small_channels,
          .kernel_height = w.kernel[1],
          .kernel_width = w.kernel[2],
          .stride_height = w.stride[1],
          .stride_width = w.stride[2],
          .pad_height = w.pad[1],
          .pad_width = w.pad[2],
          .dilation_height = w.dilation[1],
          .dilation_width = w.dilation[2],
          .groups = w.groups};
}

bool makes_windows(const ConvShape& shape, const ConvWindows& w) {
  return shape.output_height() == w.small[1] && shape.output_width() == w.small[2];
}

}  // namespace

StrategyShape::StrategyShape(const ConvWindows& w)
    : planes_(w.batch * w.large_channels), height_(w.large[1]), width_(w.large[2]) {
  if (w.large[0] != 1 || w.kernel[0] != 1 || w.pad[0] != 0) {
    refusal = "only two spatial axes";
    return;
  }
  shape = shape_of(w);
  if (makes_windows(*shape, w)) return;
  is_padded = true;
  top_ = w.pad[1];
  left_ = w.pad[2];
  const auto padded_extent = [&](std::size_t axis) {
    const std::int64_t reach = (w.kernel[axis] - 1) * w.dilation[axis] + 1;
    return std::max((w.small[axis] - 1) * w.stride[axis] + reach, w.pad[axis] + w.large[axis]);
  };
  shape->height = padded_extent(1);
  shape->width = padded_extent(2);
  shape->pad_height = shape->pad_width = 0;
  // Rows after the last window, which the stride passes over, must not make one more.
  if (makes_windows(*shape, w)) return;
  shape.reset();
  refusal = "padding that differs before and after";
}

std::int64_t StrategyShape::padded_bytes() const {
  if (!is_padded || !shape) return 0;
  return planes_ * shape->height * shape->width * static_cast<std::int64_t>(sizeof(float));
}

void StrategyShape::pad(const float* large, float* padded) const {
  const std::int64_t plane = shape->height * shape->width;
  plain::parallel_for(planes_, plane, [&](std::int64_t p) {
    float* const to = padded + p * plane;
    std::fill_n(to, plane, 0.0F);
    for (std::int64_t y = 0; y < height_; ++y) {
      std::copy_n(large + (p * height_ + y) * width_, width_,
                  to + (y + top_) * shape->width + left_);
    }
  });
}

void StrategyShape::unpad(const float* padded, float* large) const {
  const std::int64_t plane = shape->height * shape->width;
  plain::parallel_for(planes_, plane, [&](std::int64_t p) {
    const float* const from = padded + p * plane;
    for (std::int64_t y = 0; y < height_; ++y) {
      std::copy_n(from + (y + top_) * shape->width + left_, width_,
                  large + (p * height_ + y) * width_);
    }
  });
}

StrategyPass::StrategyPass(const ConvStrategy& strategy, const ConvProblem& problem,
                           StrategyShape shape)
    : problem_(problem),
      shape_(std::move(shape)),
      name_(strategy.name()),
      prepared_(strategy.prepare(problem)) {
  if (!strategy.is_vendor()) return;
  for (const KernelFacts& kernel : strategy.kernels(problem)) name_ += " " + kernel.name;
}

void StrategyPass::run(void* large, void* weights, void* small, void* scratch) {
  NoRoleMarks marks;
  if (!shape_.is_padded) return prepared_->run({large, weights, small}, marks);
  const bool writes_large = problem_.pass == ConvPass::input_gradient;
  auto* const padded = static_cast<float*>(scratch);
  if (!writes_large) shape_.pad(static_cast<const float*>(large), padded);
  prepared_->run({padded, weights, small}, marks);
  if (writes_large) shape_.unpad(padded, static_cast<float*>(large));
}

}  // namespace strata::cpu_training
