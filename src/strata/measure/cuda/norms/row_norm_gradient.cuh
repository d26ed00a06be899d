// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/norms/normalization.cuh"
#include "strata/measure/cuda/norms/row_registers.cuh"

/// The ways of RowNorm's gradients that read x and dy once for all three of them: they leave sums
/// of dy x̂ and dy for the weights' gradients, which are then added in a fixed order. For nvcc only.
namespace strata::cuda::train {

/// Rows whose numbers have an entry each (inner is 1). Writes dx, unless null, and returns how many
/// parts of the weights' gradients are in the scratch memory, [parts][entries] pairs; 0: such rows
/// do not fit into registers, and nothing was done.
std::int64_t gradient_by_columns(const RowNorm& norm, const RowNormMemory& memory,
                                 cudaStream_t stream);
/// The same of groups of planes (inner is more than 1).
std::int64_t gradient_by_planes(const RowNorm& norm, const RowNormMemory& memory,
                                cudaStream_t stream);
/// How many parts the two above may leave; 0: they do not take this norm.
std::int64_t most_column_parts(const RowNorm& norm);
std::int64_t most_plane_parts(const RowNorm& norm);

template <class T>
struct GradientArrays {
  const T *x, *dy, *scale;
  T* dx;
  const Compute<T>* statistics;
  SumPair<Compute<T>>* partials;

  explicit GradientArrays(const RowNormMemory& memory)
      : x(static_cast<const T*>(memory.x)),
        dy(static_cast<const T*>(memory.dy)),
        scale(static_cast<const T*>(memory.scale)),
        dx(static_cast<T*>(memory.dx)),
        statistics(static_cast<const Compute<T>*>(memory.statistics)),
        partials(memory.scale_gradient != nullptr || memory.shift_gradient != nullptr
                     ? static_cast<SumPair<Compute<T>>*>(memory.scratch)
                     : nullptr) {}
};

inline bool is_gradient_aligned(const RowNormMemory& memory) {
  return is_aligned(memory.x) && is_aligned(memory.dy) && is_aligned(memory.dx);
}

/// x̂ = (x − mean) r, and dx = r (d − mean of d − x̂ × mean of d x̂) with d = dy × scale.
template <class A>
struct NormSlope {
  A mean = 0, r = 0;
  A mean_d = 0, mean_product = 0;

  __device__ NormSlope(const A* statistics, std::int64_t row, bool is_there) {
    if (!is_there) return;
    mean = statistics[2 * row];
    r = statistics[2 * row + 1];
  }
  /// `sums` are of d x̂ and of d.
  __device__ void take(const RowNorm& norm, SumPair<A> sums) {
    mean_product = sums.first / A(norm.length);
    mean_d = norm.takes_mean ? sums.second / A(norm.length) : A(0);
  }
  __device__ A normalized(A x) const { return (x - mean) * r; }
  __device__ A operator()(A d, A x_normalized) const {
    return r * (d - mean_d - x_normalized * mean_product);
  }
};

}  // namespace strata::cuda::train
