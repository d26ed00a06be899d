// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/graph/operator_kinds.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

/// What a recurrent layer does between its matrix products, for one time step of a batch.
namespace strata::cuda::train {

/// Rows of one time step in an array [batch, times, …]: where it begins, and from row to row.
struct StepRows {
  void* data = nullptr;  ///< null: zero
  std::int64_t row = 0;
};

struct CellStep {
  CellKind cell = CellKind::lstm;
  std::int64_t batch = 0, hidden = 0;
  DType dtype = DType::fp32;
  StepRows of_input;  ///< products with the input, [gates × hidden]
  StepRows of_state;  ///< products with the state; in backward, their gradients
  const void* input_bias = nullptr;
  const void* state_bias = nullptr;
  StepRows gates;                  ///< kept: i f g o, or r z n q
  StepRows cells, cells_before;    ///< LSTM
  StepRows state, state_before;    ///< h
  StepRows gate_gradients;         ///< backward: [gates × hidden] as they meet the input
  StepRows above;                  ///< backward: the gradient that comes from the layer above
  void* state_gradient = nullptr;  ///< backward: [batch, hidden], in and (GRU) out
  void* cell_gradient = nullptr;   ///< backward: [batch, hidden] in fp32 (fp64 of fp64), in and out
};
void step_forward(const CellStep& step, cudaStream_t stream);
void step_backward(const CellStep& step, cudaStream_t stream);

/// to[r] = a[r] + b[r] over rows of `width`; a and b may be zero.
void add_rows(StepRows to, StepRows a, StepRows b, std::int64_t rows, std::int64_t width,
              DType dtype, cudaStream_t stream);

}  // namespace strata::cuda::train
