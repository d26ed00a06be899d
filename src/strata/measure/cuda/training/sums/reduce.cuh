// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/graph/operator_kinds.hpp"
#include "strata/measure/cuda/training/elements/pointwise.cuh"
#include "strata/measure/cuda/training/index_map.cuh"

#include <cuda_runtime_api.h>

/// Functions of several arrays with repeated axes, and sums over axes, as functions that enqueue
/// them.
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

/// `axes` has the strides of each input over the result's shape.
void elementwise(const ElementwiseRun& run, void* y, const StridedAxes& axes, cudaStream_t stream);
/// All of one type and shape, two of them; false when the kind is none of the usual.
bool elementwise_of_equals(ElementwiseKind kind, void* y, const void* a, const void* b,
                           std::int64_t count, DType dtype, cudaStream_t stream);
/// dX of input `which`: over `kept`, the sum over `repeated` of what each place contributes. Both
/// have the strides of all operands.
void elementwise_gradient(const ElementwiseRun& run, int which, void* dx, const StridedAxes& kept,
                          const StridedAxes& repeated, cudaStream_t stream);

/// y over `kept`, reduced over `reduced`; operand 0 is x. Only floating-point types.
void reduce(ReduceKind kind, void* y, const void* x, DType dtype, const StridedAxes& kept,
            const StridedAxes& reduced, cudaStream_t stream);
/// Over x's shape; operand 0 is y's place. `length` numbers were reduced to one.
void reduce_gradient(ReduceKind kind, void* dx, const void* dy, const void* y, const void* x,
                     DType dtype, const StridedAxes& axes, std::int64_t length,
                     cudaStream_t stream);

/// The same of a product, also where numbers are 0. Operand 0 of `axes` is y's place, operand 1
/// that of the first number of the same result; operand 0 of `reduced` is x.
void product_gradient(void* dx, const void* dy, const void* y, const void* x, DType dtype,
                      const StridedAxes& axes, const StridedAxes& reduced, cudaStream_t stream);

/// Numbers of scratch that the next two need, in fp32 (fp64 of fp64).
std::int64_t channel_sum_scratch(const ChannelArray& array);
/// sums[channel] = Σ dy over rows and inner.
void sum_over_channels(const ChannelArray& array, void* sums, const void* dy, void* scratch,
                       cudaStream_t stream);
/// slope gradient of prelu: Σ dy·min(x, 0).
void sum_slope_gradient(const ChannelArray& array, void* slope, const void* dy, const void* x,
                        void* scratch, cudaStream_t stream);

}  // namespace strata::cuda::train
