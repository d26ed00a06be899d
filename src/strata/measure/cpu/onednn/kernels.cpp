// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/measure/cpu/onednn/operators.hpp"
#include "strata/measure/cpu/operators.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::cpu_training::onednn {
namespace {

/// oneDNN 2 computes in fp32 and lower precision, not in fp64.
bool is_all_fp32(const NodeContext& context) {
  const auto is_fp32 = [&](TensorId id) { return context.bound.tensors[id].dtype == DType::fp32; };
  const Node& node = context.node();
  return std::all_of(node.inputs.begin(), node.inputs.end(), is_fp32) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), is_fp32);
}

}  // namespace

std::optional<KernelPair> kernels_of(const NodeContext& context) {
  if (!is_all_fp32(context)) return std::nullopt;
  try {
    return std::visit([&](const auto& op) { return make_kernels(op, context); }, context.node().op);
  } catch (const dnnl::error& error) {
    // No implementation of the primitive takes this shape.
    if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments) {
      return std::nullopt;
    }
    fail(ErrorKind::environment, "oneDNN failed: {}", error.what());
  }
}

std::string version() {
  const dnnl_version_t* const it = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", it->major, it->minor, it->patch);
}

}  // namespace strata::cpu_training::onednn
