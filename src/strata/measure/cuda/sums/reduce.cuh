// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/graph/operator_kinds.hpp"
#include "strata/measure/cuda/elements/pointwise.cuh"
#include "strata/measure/cuda/index_map.cuh"
#include "strata/measure/cuda/sums/sum_layout.cuh"

#include <cuda_runtime_api.h>

#include <optional>
#include <span>
#include <vector>

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

/// Axes of a dense array that are reduced.
struct Reduction {
  Reduction() = default;
  Reduction(std::span<const std::int64_t> shape, const std::vector<bool>& is_reduced);

  std::optional<SumLayout> layout;  ///< none: the axes of x stand in an order that has none
  StridedAxes kept, reduced;        ///< operand 0 is x
  std::int64_t scratch() const;     ///< numbers, in fp32 (fp64 of fp64)
};
/// Only floating-point types.
void reduce(ReduceKind kind, void* y, const void* x, DType dtype, const Reduction& reduction,
            void* scratch, cudaStream_t stream);
/// Over `kept`, reduced over `reduced`, of any strides; slower, as each number's place is looked
/// up.
void reduce_places(ReduceKind kind, void* y, const void* x, DType dtype, const StridedAxes& kept,
                   const StridedAxes& reduced, cudaStream_t stream);
/// Over x's shape; operand 0 is y's place. `length` numbers were reduced to one.
void reduce_gradient(ReduceKind kind, void* dx, const void* dy, const void* y, const void* x,
                     DType dtype, const StridedAxes& axes, std::int64_t length,
                     cudaStream_t stream);

/// The same of a product, also where numbers are 0. Operand 0 of `axes` is y's place, operand 1
/// that of the first number of the same result; operand 0 of `reduced` is x.
void product_gradient(void* dx, const void* dy, const void* y, const void* x, DType dtype,
                      const StridedAxes& axes, const StridedAxes& reduced, cudaStream_t stream);

/// Numbers of scratch that sums need, in fp32 (fp64 of fp64).
std::int64_t sum_scratch(const SumLayout& layout);
/// sums = factor Σ a, or factor Σ a·b where b is not null.
void sum_over(const SumLayout& layout, void* sums, const void* a, const void* b, double factor,
              DType dtype, void* scratch, cudaStream_t stream);
inline SumLayout layout_of(const ChannelArray& array) {
  return {.rows = array.rows, .channels = array.channels, .inner = array.inner};
}
inline std::int64_t channel_sum_scratch(const ChannelArray& array) {
  return sum_scratch(layout_of(array));
}
/// sums[channel] = Σ dy over rows and inner.
void sum_over_channels(const ChannelArray& array, void* sums, const void* dy, void* scratch,
                       cudaStream_t stream);
/// slope gradient of prelu: Σ dy·min(x, 0).
void sum_slope_gradient(const ChannelArray& array, void* slope, const void* dy, const void* x,
                        void* scratch, cudaStream_t stream);

}  // namespace strata::cuda::train
