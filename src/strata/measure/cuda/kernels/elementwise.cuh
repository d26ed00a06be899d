// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/graph/operator_kinds.hpp"
#include "strata/measure/cuda/kernels/index_map.cuh"

#include <cuda_runtime_api.h>

/// Functions of several arrays, number by number, of which some are broadcast, as functions that
/// enqueue their kernels.
namespace strata::cuda::train {

/// Operands are the inputs and, after them, the result's place (y and dy).
struct ElementwiseRun {
  ElementwiseKind kind = ElementwiseKind::add;
  int inputs = 0;
  const void* input[most_operands] = {};
  DType input_type[most_operands] = {};
  const void* dy = nullptr;  ///< of a gradient
  const void* y = nullptr;   ///< of a gradient, where it is kept
  DType y_type = DType::fp32;
};
inline constexpr int elementwise_operands = most_operands + 1;

/// `axes` has the strides of each input over the result's shape. The result may take the place of
/// an input that is like it.
void elementwise(const ElementwiseRun& run, void* y, const StridedAxes& axes, cudaStream_t stream);
/// dX of input `which`: over `kept`, the sum over `repeated` of what each place contributes. Both
/// have the strides of all operands.
void elementwise_gradient(const ElementwiseRun& run, int which, void* dx, const StridedAxes& kept,
                          const StridedAxes& repeated, cudaStream_t stream);

/// y = x, or slope × x below 0. `axes` has the strides of x and of the slope.
void parametric_relu(void* y, const void* x, const void* slope, const StridedAxes& axes,
                     DType dtype, cudaStream_t stream);
/// `axes` has the strides of dy, x and the slope.
void parametric_relu_gradient(void* dx, const void* dy, const void* x, const void* slope,
                              const StridedAxes& axes, DType dtype, cudaStream_t stream);

}  // namespace strata::cuda::train
