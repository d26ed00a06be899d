// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/calibration/case_graph.hpp"

#include <fmt/format.h>

namespace strata {

Shape case_shape(std::initializer_list<std::int64_t> extents) {
  Shape shape;
  for (const std::int64_t extent : extents) shape.push_back(Dim(extent));
  return shape;
}

CaseGraph::CaseGraph(const std::string& name, const CaseSizes& sizes)
    : sizes_(sizes), builder_(name) {
  leave_caches();
}

TensorId CaseGraph::activation(std::initializer_list<std::int64_t> shape) {
  return relu(builder_.stored(fmt::format("stored{}", ++layers_), case_shape(shape)));
}

TensorId CaseGraph::measure(const Operator& op, std::initializer_list<TensorId> inputs) {
  const TensorId output = relu(add_measured(op, inputs));
  end(output);
  return output;
}

TensorId CaseGraph::add_measured(const Operator& op, std::initializer_list<TensorId> inputs) {
  return builder_.add(fmt::format("{}{}", measured_layer, ++layers_), op, inputs);
}

TensorId CaseGraph::relu(TensorId input) {
  return builder_.add(fmt::format("beside{}", ++layers_), Unary{UnaryKind::relu}, {input});
}

/// Reads and writes as much as the cache holds, of constants: nothing of it runs backward.
void CaseGraph::leave_caches() {
  constexpr std::int64_t row = 1024;
  const auto rows = static_cast<std::int64_t>(sizes_.cache_bytes / 4 / row) + 1;
  end(relu(builder_.stored(fmt::format("elsewhere{}", ++layers_), case_shape({rows, row}),
                           TensorKind::constant)));
}

Graph CaseGraph::finish() && {
  leave_caches();
  return std::move(builder_).finish();
}

}  // namespace strata
