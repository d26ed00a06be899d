// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/calibration/cases.hpp"

#include "strata/zoo/calibration/case_graph.hpp"

#include <fmt/format.h>

namespace strata {

std::vector<CalibrationCase> calibration_cases(const CaseSizes& sizes) {
  std::vector<CalibrationCase> cases;
  for (const bool is_more : {false, true}) {
    const std::size_t before = cases.size();
    add_convolution_cases(cases, sizes, is_more);
    add_product_cases(cases, sizes, is_more);
    for (std::size_t i = before; i < cases.size(); ++i) cases[i].is_product = true;
    add_row_cases(cases, sizes, is_more);
    add_pointwise_cases(cases, sizes, is_more);
    if (is_more) continue;
    add_moving_cases(cases, sizes);
    add_update_cases(cases, sizes);
  }
  return cases;
}

Graph dispatch_graph() {
  constexpr int layers = 100;
  GraphBuilder builder("dispatch");
  TensorId x = builder.stored("x", case_shape({16}));
  for (int i = 0; i < layers; ++i)
    x = builder.add(fmt::format("layer{}", i), Unary{UnaryKind::relu}, {x});
  builder.output(x);
  return std::move(builder).finish();
}

}  // namespace strata
