// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/tensor_types.hpp"

#include "strata/graph/operator_names.hpp"

#include <algorithm>

namespace strata {

AutocastKind autocast_kind(const AutocastRules& rules, std::string_view op) {
  const auto is_in = [op](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), op) != list.end();
  };
  if (is_in(rules.lower)) return AutocastKind::lower;
  return is_in(rules.fp32) ? AutocastKind::fp32 : AutocastKind::widest;
}

std::vector<DType> tensor_types(const BoundGraph& bound, const Framework& framework,
                                std::optional<DType> autocast) {
  std::vector<DType> types(bound.tensors.size());
  for (std::size_t i = 0; i < types.size(); ++i) types[i] = bound.tensors[i].dtype;
  if (!autocast) return types;
  for (const Node& node : bound.graph->nodes) {
    const AutocastKind kind = autocast_kind(framework.autocast, name_of(node.op));
    // Own tensors (weights, statistics) do not widen what a point-wise operator makes.
    bool is_lower = kind == AutocastKind::lower;
    if (kind == AutocastKind::widest) {
      // Nor does a single number without dimensions, unless all of them are.
      const auto has_dimensions = [&](TensorId tensor) {
        return !bound.tensors[tensor].shape.empty();
      };
      const auto end = node.inputs.begin() + static_cast<std::ptrdiff_t>(node.first_own);
      const bool any = std::any_of(node.inputs.begin(), end, has_dimensions);
      is_lower = node.first_own > 0;
      for (std::uint32_t i = 0; i < node.first_own; ++i) {
        const DType type = types[node.inputs[i]];
        if (any && !has_dimensions(node.inputs[i])) continue;
        if (is_floating(type) && type != *autocast) is_lower = false;
      }
    }
    for (const TensorId output : node.outputs) {
      if (is_floating(types[output])) types[output] = is_lower ? *autocast : DType::fp32;
    }
  }
  return types;
}

}  // namespace strata
