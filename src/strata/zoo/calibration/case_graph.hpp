// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/builder.hpp"
#include "strata/zoo/calibration/cases.hpp"

#include <initializer_list>
#include <string>

namespace strata {

/// Builds the graph of a case. In a network an operator reads what the operator before it has just
/// written, and everything older has left the caches. So each measured layer stands between two
/// ReLUs, and a pass over more than the last cache runs before all of them, and between forward
/// and backward.
class CaseGraph {
 public:
  CaseGraph(const std::string& name, const CaseSizes& sizes);

  std::int64_t samples(std::int64_t count) const { return count * sizes_.samples; }
  GraphBuilder& builder() { return builder_; }

  /// A tensor with a gradient, as a layer before would give it.
  TensorId activation(std::initializer_list<std::int64_t> shape);
  /// A measured layer, and one behind it.
  TensorId measure(const Operator& op, std::initializer_list<TensorId> inputs);
  /// A measured layer alone.
  TensorId add_measured(const Operator& op, std::initializer_list<TensorId> inputs);
  TensorId relu(TensorId input);
  /// Nothing reads it but the gradient from outside.
  void end(TensorId output) { builder_.output(output); }

  Graph finish() &&;

 private:
  void leave_caches();

  CaseSizes sizes_;
  GraphBuilder builder_;
  int layers_ = 0;
};

Shape case_shape(std::initializer_list<std::int64_t> extents);

// Each adds its cases to the list: all classes first, further shapes when `is_more`.
void add_convolution_cases(std::vector<CalibrationCase>& cases, const CaseSizes& sizes,
                           bool is_more);
void add_product_cases(std::vector<CalibrationCase>& cases, const CaseSizes& sizes, bool is_more);
void add_pointwise_cases(std::vector<CalibrationCase>& cases, const CaseSizes& sizes, bool is_more);
void add_row_cases(std::vector<CalibrationCase>& cases, const CaseSizes& sizes, bool is_more);
void add_moving_cases(std::vector<CalibrationCase>& cases, const CaseSizes& sizes);
void add_update_cases(std::vector<CalibrationCase>& cases, const CaseSizes& sizes);

}  // namespace strata
