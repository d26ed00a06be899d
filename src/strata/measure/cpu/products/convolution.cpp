// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/vector_loops.hpp"
#include "strata/measure/cpu/moving/copy_into_zeros.hpp"
#include "strata/measure/cpu/moving/strided_copy.hpp"
#include "strata/measure/cpu/products/convolution_choice.hpp"
#include "strata/measure/cpu/products/unrolled_convolution.hpp"

#include <array>
#include <optional>

namespace strata::cpu_training {
namespace {

std::int64_t extent_or(const Extents& extents, std::size_t axis, std::int64_t otherwise) {
  return extents.empty() ? otherwise : extents[axis];
}

Windows windows_of(const Convolution& op, const Setting& s) {
  const BoundTensor& large = op.transposed ? s.output() : s.input();
  const BoundTensor& small = op.transposed ? s.input() : s.output();
  Windows w{.batch = large[0],
            .large_channels = large[1],
            .small_channels = small[1],
            .groups = op.groups};
  const std::size_t missing = 3 - op.kernel.size();
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    w.large[i + missing] = large[i + 2];
    w.small[i + missing] = small[i + 2];
    w.kernel[i + missing] = op.kernel[i];
    w.stride[i + missing] = extent_or(op.stride, i, 1);
    w.dilation[i + missing] = extent_or(op.dilation, i, 1);
    w.pad[i + missing] = extent_or(op.pad_begin, i, 0);
  }
  return w;
}

/// The same as the strategies know it: two axes, as much padding after as before. Nothing when it
/// has more axes.
std::optional<ConvShape> strategy_shape(const Windows& w) {
  if (w.large[0] != 1 || w.kernel[0] != 1 || w.pad[0] != 0) return std::nullopt;
  return ConvShape{.batch = w.batch,
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

/// Windows over a tensor whose padding is made real: for padding that is not the same on both
/// sides.
struct Padded {
  Windows windows;             ///< over the padded tensor
  std::int64_t begin[2] = {};  ///< rows and columns before the real ones

  std::int64_t elements() const {
    return windows.batch * windows.large_channels * windows.large_space();
  }
};

Padded padded_of(const Windows& w) {
  Padded padded{.windows = w};
  for (std::size_t axis = 1; axis < 3; ++axis) {
    const std::int64_t reach = (w.kernel[axis] - 1) * w.dilation[axis] + 1;
    padded.begin[axis - 1] = w.pad[axis];
    padded.windows.pad[axis] = 0;
    padded.windows.large[axis] =
        std::max((w.small[axis] - 1) * w.stride[axis] + reach, w.pad[axis] + w.large[axis]);
  }
  return padded;
}

/// What a pass of the node asks of its windows.
ConvPass pass_of(Pass pass, bool is_transposed) {
  if (pass == Pass::backward_weight) return ConvPass::weight_gradient;
  return (pass == Pass::forward) == !is_transposed ? ConvPass::forward : ConvPass::input_gradient;
}

/// One of the three sums, by a strategy or unrolled.
struct Sum {
  bool is_asked = false;
  ConvProblem problem;
  ConvolutionChoice::Chosen chosen;  // no strategy: unrolled
};

struct ConvolutionPlan {
  Windows windows;
  std::optional<Padded> padded;
  std::array<Sum, 3> sums;  // by ConvPass
  bool is_transposed = false;
  bool has_bias = false;
  std::int64_t channels = 0;  // of Y
  std::int64_t space = 0;

  const Sum& sum(Pass pass) const {
    return sums[static_cast<std::size_t>(pass_of(pass, is_transposed))];
  }
};

/// Copies the real part of the padded tensor, out of it or into it.
template <class T>
void copy_real_part(const Workers& workers, const Windows& w, const Padded& padded, T* real_one,
                    T* padded_one, bool into_padded) {
  const Sizes shape{w.batch * w.large_channels, w.large[1], w.large[2]};
  const std::int64_t row = padded.windows.large[2];
  const Placed in_padded{
      padded_one, {padded.windows.large_space(), row, 1}, padded.begin[0] * row + padded.begin[1]};
  const Placed in_real{real_one, strides_of(shape)};
  into_padded ? copy_strided(workers, sizeof(T), shape, in_real, in_padded)
              : copy_strided(workers, sizeof(T), shape, in_padded, in_real);
}

template <class T>
void run_sum(const ConvolutionPlan& plan, const Workers& workers, ConvolutionChoice& choice,
             ConvPass pass, T* large, T* weights, T* small, void* scratch) {
  const Sum& sum = plan.sums[static_cast<std::size_t>(pass)];
  if (sum.chosen.strategy == nullptr) {
    T* const room = real<T>(scratch);
    switch (pass) {
      case ConvPass::forward:
        return large_to_small<T>(workers, plan.windows, large, weights, small, room);
      case ConvPass::input_gradient:
        return small_to_large<T>(workers, plan.windows, small, weights, large, room);
      case ConvPass::weight_gradient:
        return both_to_weights<T>(workers, plan.windows, large, small, weights, room);
    }
  }
  T* const whole = plan.padded ? real<T>(scratch) : large;
  if (plan.padded && pass != ConvPass::input_gradient) {
    fill_bytes_with_zero(workers, whole,
                         plan.padded->elements() * static_cast<std::int64_t>(sizeof(T)));
    copy_real_part(workers, plan.windows, *plan.padded, large, whole, true);
  }
  choice.run(sum.chosen, sum.problem, {whole, weights, small});
  if (plan.padded && pass == ConvPass::input_gradient) {
    copy_real_part(workers, plan.windows, *plan.padded, large, whole, false);
  }
}

template <class T>
void add_bias(const ConvolutionPlan& plan, const Workers& workers, const T* bias, T* y) {
  const std::int64_t planes = plan.windows.batch * plan.channels;
  workers.ranges(planes, std::max<std::int64_t>(1, numbers_per_part / plan.space),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t plane = begin; plane < end; ++plane) {
                     const T b = bias[plane % plan.channels];
                     T* const row = y + plane * plan.space;
                     for (std::int64_t i = 0; i < plan.space; ++i) row[i] += b;
                   }
                 });
}

template <class T>
void bias_gradient(const ConvolutionPlan& plan, const Workers& workers, const T* dy, T* db) {
  const std::int64_t per_channel = plan.windows.batch * plan.space;
  workers.ranges(plan.channels, std::max<std::int64_t>(1, numbers_per_part / per_channel),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t c = begin; c < end; ++c) {
                     double sum = 0;
                     for (std::int64_t n = 0; n < plan.windows.batch; ++n) {
                       sum += static_cast<double>(vector_loops<T>().sum(
                           dy + (n * plan.channels + c) * plan.space, plan.space));
                     }
                     db[c] = static_cast<T>(sum);
                   }
                 });
}

template <class T>
KernelsOrReason convolution_kernels(const ConvolutionPlan& plan, const Setting& s) {
  const Workers& workers = s.workers;
  ConvolutionChoice& choice = s.convolutions;
  const auto run = [=, &workers, &choice](Pass pass, T* x, T* w, T* y, void* scratch) {
    run_sum<T>(plan, workers, choice, pass_of(pass, plan.is_transposed), plan.is_transposed ? y : x,
               w, plan.is_transposed ? x : y, scratch);
  };
  const auto forward = [=, &workers](const NodeMemory& m) {
    T* const y = real<T>(m.outputs[0]);
    run(Pass::forward, real<T>(m.inputs[0]), real<T>(m.inputs[1]), y, m.scratch);
    if (plan.has_bias) add_bias<T>(plan, workers, real<T>(m.inputs[2]), y);
  };
  const auto backward = [=, &workers](const NodeMemory& m) {
    T* const dy = real<T>(m.output_gradients[0]);
    if (T* const dx = real<T>(m.input_gradients[0])) {
      run(Pass::backward_input, dx, real<T>(m.inputs[1]), dy, m.scratch);
    }
    if (T* const dw = real<T>(m.input_gradients[1])) {
      run(Pass::backward_weight, real<T>(m.inputs[0]), dw, dy, m.scratch);
    }
    T* const db = plan.has_bias ? real<T>(m.input_gradients[2]) : nullptr;
    if (db != nullptr) bias_gradient<T>(plan, workers, dy, db);
  };
  bool is_unrolled = false;
  for (const Sum& sum : plan.sums) {
    is_unrolled = is_unrolled || (sum.is_asked && sum.chosen.strategy == nullptr);
  }
  const std::int64_t scratch =
      std::max(is_unrolled ? unrolled_scratch_elements(workers, plan.windows) : 0,
               plan.padded ? plan.padded->elements() : 0) *
      static_cast<std::int64_t>(sizeof(T));
  const auto implementation = [plan](Pass pass) -> std::string {
    const Sum& sum = plan.sum(pass);
    if (sum.chosen.strategy != nullptr) return sum.chosen.implementation;
    return "unroll, " + product_name(sizeof(T) == 8);
  };
  return kernels_by({forward, backward, {.inputs = true, .scratch_bytes = scratch}, implementation},
                    s);
}

}  // namespace

KernelsOrReason make_kernels(const Convolution& op, const Setting& s) {
  ConvolutionPlan plan{.windows = windows_of(op, s),
                       .is_transposed = op.transposed,
                       .has_bias = op.bias,
                       .channels = s.output()[1]};
  plan.space = s.output().elements / (s.output()[0] * plan.channels);
  for (const ConvPass pass : all_conv_passes) {
    const bool is_forward = pass == pass_of(Pass::forward, op.transposed);
    const bool is_weight = pass == ConvPass::weight_gradient;
    plan.sums[static_cast<std::size_t>(pass)] = {
        .is_asked = is_forward || s.wants(is_weight ? 1 : 0), .problem = {.pass = pass}};
  }
  if (s.input().dtype == DType::fp64) return convolution_kernels<double>(plan, s);
  std::optional<ConvShape> shape = strategy_shape(plan.windows);
  if (shape && (shape->output_height() != plan.windows.small[1] ||
                shape->output_width() != plan.windows.small[2])) {
    plan.padded = padded_of(plan.windows);
    shape = strategy_shape(plan.padded->windows);
    // Rows after the last window, which the stride passes over, must not make one more.
    if (shape->output_height() != plan.windows.small[1] ||
        shape->output_width() != plan.windows.small[2]) {
      shape.reset();
    }
  }
  if (!shape) plan.padded.reset();
  for (Sum& sum : plan.sums) {
    if (!shape || !sum.is_asked) continue;
    sum.problem.shape = *shape;
    sum.chosen = s.convolutions.choose(sum.problem);
  }
  return convolution_kernels<float>(plan, s);
}

}  // namespace strata::cpu_training
