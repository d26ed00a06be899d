// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/least_traffic.hpp"

#include <string_view>

namespace strata {
namespace {

struct Accesses {
  std::string_view prefix;  ///< of the class
  double numbers;           ///< read or written, for each element
};

// The first that matches counts.
constexpr Accesses accesses[] = {
    {"stream.add", 3},
    {"stream.mul", 3},
    {"stream.fill", 1},
    {"stream.sum", 1},
    {"stream.", 2},
    {"channels.sum_to_channels", 1},
    {"channels.mean", 1},
    {"channels.", 2},
    {"heads.sum_rows", 1},
    {"heads.", 2},
    {"concat", 2},
    {"slice.backward", 2},
    {"column_sum", 1},
    {"global_pool.", 1},
    {"cross_entropy.", 1},
    {"batch_norm.inference", 2},
    {"batch_norm_nhwc.inference", 2},
    // Statistics come first: inputs are read twice.
    {"batch_norm.backward", 5},
    {"batch_norm_nhwc.backward", 5},
    {"batch_norm", 3},
    {"layer_norm.forward", 2},
    {"layer_norm.backward", 3},
    {"group_norm.forward", 2},
    {"group_norm.backward", 3},
    {"rms_norm.forward", 2},
    {"rms_norm.backward", 3},
    {"softmax.forward", 2},
    {"softmax.backward", 3},
    {"log_softmax.forward", 2},
    {"log_softmax.backward", 3},
    {"relu.forward", 2},
    {"relu.backward", 3},
    {"relu6.forward", 2},
    {"relu6.backward", 3},
    {"gelu.forward", 2},
    {"gelu.backward", 3},
    {"gelu_tanh.forward", 2},
    {"gelu_tanh.backward", 3},
    {"silu.forward", 2},
    {"silu.backward", 3},
    {"hardswish.forward", 2},
    {"hardswish.backward", 3},
    {"sigmoid.forward", 2},
    {"sigmoid.backward", 3},
    {"tanh.forward", 2},
    {"tanh.backward", 3},
    {"dropout.forward", 2},
    {"dropout.backward", 2},
};

double numbers_of(std::string_view name) {
  for (const Accesses& one : accesses) {
    if (name.starts_with(one.prefix)) return one.numbers;
  }
  return 0;
}

}  // namespace

double least_bytes(OperationClass kernel_class, DType precision, const KernelDims& d) {
  const std::string_view name = name_of(kernel_class);
  const double bytes = static_cast<double>(bytes_per_element(precision));
  switch (form_of(kernel_class)) {
    case KernelForm::elements:
      // From 32 bits to 16 or back, whichever of the two names the class.
      return name == "stream.cast" ? d[0] * 6 : d[0] * numbers_of(name) * bytes;
    case KernelForm::rows:
    case KernelForm::channels: return d[0] * d[1] * numbers_of(name) * bytes;
    case KernelForm::pool: return (d[0] + d[1]) * bytes;
    case KernelForm::convolution:
    case KernelForm::depthwise: {
      const auto [n, channels, filters, in, out, window, groups] = d;
      return (n * (channels * in + filters * out) + filters * channels / groups * window) * bytes;
    }
    default: return 0;
  }
}

}  // namespace strata
