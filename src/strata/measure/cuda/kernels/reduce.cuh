// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/graph/operator_kinds.hpp"
#include "strata/measure/cuda/kernels/index_map.cuh"

#include <cuda_runtime_api.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

/// Sums, maxima and products over axes of an array, as functions that enqueue them. CUB's segmented
/// reduce computes results that many numbers go into; it has none for columns and is slow for short
/// segments, which are for kernels of our own. Sums have a fixed order.
namespace strata::cuda::train {

/// Axes of an array that are reduced; operand 0 is the array.
struct Reduction {
  Reduction() = default;
  /// Of a dense array.
  Reduction(std::span<const std::int64_t> shape, const std::vector<bool>& is_reduced);
  /// Of any strides.
  Reduction(StridedAxes kept_axes, StridedAxes reduced_axes)
      : kept(std::move(kept_axes)), reduced(std::move(reduced_axes)) {}

  StridedAxes kept, reduced;
  /// A dense array [batches, rows, columns] of which the rows are reduced.
  struct Columns {
    std::int64_t batches = 1, rows = 1, columns = 1;
  };
  std::optional<Columns> columns;  ///< none: it is no such array
  /// A dense array [rows, channels, inner] of which rows and inner are reduced.
  struct Planes {
    std::int64_t rows = 1, channels = 1, inner = 1;
  };
  std::optional<Planes> planes;

  std::int64_t results() const { return kept.elements(); }
  std::int64_t length() const { return reduced.elements(); }
  /// Parts into which each result is split, so that the chip is full.
  std::int64_t splits() const;
  bool is_by_cub() const;
  std::int64_t scratch_bytes(DType dtype) const;
  std::string implementation() const;  ///< "CUB 3.0 segmented reduce"
};

/// What is reduced: a, a·b, or a·min(b, 0).
enum class ReduceTerm : std::uint8_t { number, product, negative_part };

struct ReduceRun {
  ReduceKind kind = ReduceKind::sum;
  DType dtype = DType::fp32;  ///< a floating-point type
  ReduceTerm term = ReduceTerm::number;
  double factor = 1;  ///< of each result
};
/// `b` is null where the term has none.
void reduce(const ReduceRun& run, void* y, const void* a, const void* b, const Reduction& reduction,
            void* scratch, cudaStream_t stream);

/// Over x's shape; operand 0 is y's place. `length` numbers were reduced to one. Not of products.
void reduce_gradient(ReduceKind kind, void* dx, const void* dy, const void* y, const void* x,
                     DType dtype, const StridedAxes& axes, std::int64_t length,
                     cudaStream_t stream);

/// The same of a product, also where numbers are 0. Operand 0 of `axes` is y's place, operand 1
/// that of the first number of the same result; operand 0 of `reduced` is x.
void product_gradient(void* dx, const void* dy, const void* y, const void* x, DType dtype,
                      const StridedAxes& axes, const StridedAxes& reduced, cudaStream_t stream);

/// "CUB 3.0"
std::string cub_version_text();

}  // namespace strata::cuda::train
