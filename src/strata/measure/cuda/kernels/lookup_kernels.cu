// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/movement.cuh"
#include "strata/measure/cuda/kernels/pointwise.cuh"

#include <type_traits>

namespace strata::cuda::train {
namespace {

/// Rows that are looked up, in items of several numbers.
struct PickedRows {
  FastDivisor width;  ///< items of a row
  FastDivisor picks;  ///< rows of one of the outer ones
  std::int64_t choices;
  bool indices_are_64_bit;
  std::uint32_t count;  ///< all items

  PickedRows(const LookupRun& run, std::int64_t item_numbers)
      : width(static_cast<std::uint32_t>(run.inner / item_numbers)),
        picks(static_cast<std::uint32_t>(run.count)),
        choices(run.choices),
        indices_are_64_bit(run.indices_are_64_bit),
        count(static_cast<std::uint32_t>(run.outer * run.count) * width.divisor) {}

  /// The item of the table that item n of the result is.
  __device__ std::int64_t in_table(std::uint32_t n, const void* indices) const {
    const std::uint32_t row = width.quotient(n), outer = picks.quotient(row);
    const std::uint32_t pick = row - outer * picks.divisor;
    const std::int64_t chosen = index_at(indices, indices_are_64_bit, pick);
    return (outer * choices + chosen) * width.divisor + (n - row * width.divisor);
  }
};

template <class Item>
__global__ void __launch_bounds__(threads_per_block)
    look_up_items(PickedRows rows, Item* y, const Item* data, const void* indices) {
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n < rows.count) y[n] = data[rows.in_table(n, indices)];
}

template <class T>
__global__ void __launch_bounds__(threads_per_block)
    add_rows(PickedRows rows, Compute<T>* sums, const T* dy, const void* indices) {
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n < rows.count) atomicAdd(sums + rows.in_table(n, indices), Compute<T>(value(dy[n])));
}

/// The widest item, of at most 16 bytes, that rows are made of.
std::int64_t item_bytes(std::int64_t row_bytes, const void* a, const void* b) {
  const auto bits = static_cast<std::uintptr_t>(row_bytes) | reinterpret_cast<std::uintptr_t>(a) |
                    reinterpret_cast<std::uintptr_t>(b);
  std::int64_t bytes = 16;
  while (bits % static_cast<std::uintptr_t>(bytes) != 0) bytes /= 2;
  return bytes;
}

}  // namespace

void look_up(const LookupRun& run, void* y, const void* data, const void* indices,
             cudaStream_t stream) {
  const std::int64_t element_bytes = bytes_per_element(run.dtype);
  const std::int64_t bytes = item_bytes(run.inner * element_bytes, y, data);
  const PickedRows rows(run, bytes / element_bytes);
  const auto launch = [&](auto item) {
    using Item = decltype(item);
    look_up_items<<<blocks_for(rows.count), threads_per_block, 0, stream>>>(
        rows, static_cast<Item*>(y), static_cast<const Item*>(data), indices);
  };
  switch (bytes) {
    case 1: launch(std::uint8_t{}); break;
    case 2: launch(std::uint16_t{}); break;
    case 4: launch(std::uint32_t{}); break;
    case 8: launch(std::uint64_t{}); break;
    default: launch(uint4{}); break;
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

std::int64_t look_up_scratch_bytes(const LookupRun& run) {
  return bytes_per_element(run.dtype) < 4 ? 4 * run.outer * run.choices * run.inner : 0;
}

// Sums go into zeros of the type they are computed in, which for a 16-bit type are elsewhere. They
// are added atomically, in no order.
void look_up_gradient(const LookupRun& run, void* gradient, const void* dy, const void* indices,
                      void* scratch, cudaStream_t stream) {
  const std::int64_t elements = run.outer * run.choices * run.inner;
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    using A = Compute<T>;
    constexpr bool adds_in_place = std::is_same_v<T, A>;
    auto* const sums = static_cast<A*>(adds_in_place ? gradient : scratch);
    STRATA_CUDA_CALL(
        cudaMemsetAsync(sums, 0, static_cast<std::size_t>(elements) * sizeof(A), stream));
    const PickedRows rows(run, 1);
    add_rows<T><<<blocks_for(rows.count), threads_per_block, 0, stream>>>(
        rows, sums, static_cast<const T*>(dy), indices);
    if (!adds_in_place) convert(gradient, run.dtype, sums, DType::fp32, elements, stream);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
