// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/element.cuh"
#include "strata/measure/cuda/elements/pointwise.cuh"
#include "strata/measure/cuda/moving/movement.cuh"

#include <algorithm>
#include <type_traits>

namespace strata::cuda::train {
namespace {

/// A thread takes as many packs, from as many parts of all, and asks for them before it has any.
constexpr int parts = 4;

/// Packs of the rows that are looked up, or of some neighbouring columns of them.
struct PickedRows {
  FastDivisor width;       ///< packs of a row that are taken
  FastDivisor picks;       ///< rows of one of the outer ones
  std::int64_t row_packs;  ///< of a whole row
  std::int64_t first;      ///< pack of a row
  std::int64_t choices;
  bool indices_are_64_bit;
  std::uint32_t count, part;  ///< all packs, and how many of them are a part

  PickedRows(const LookupRun& run, std::int64_t pack, std::int64_t first_column,
             std::int64_t columns)
      : width(static_cast<std::uint32_t>(columns / pack)),
        picks(static_cast<std::uint32_t>(run.count)),
        row_packs(run.inner / pack),
        first(first_column / pack),
        choices(run.choices),
        indices_are_64_bit(run.indices_are_64_bit),
        count(static_cast<std::uint32_t>(run.outer * run.count) * width.divisor),
        part((count + parts - 1) / parts) {}

  /// A pack is that much further along its row, which is the chosen one of the table.
  struct Place {
    std::uint32_t row, column;
    std::int64_t chosen;
  };
  __device__ Place place(std::uint32_t n, const void* indices) const {
    const std::uint32_t row = width.quotient(n);
    const std::uint32_t pick = row - picks.quotient(row) * picks.divisor;
    return {row, n - row * width.divisor, index_at(indices, indices_are_64_bit, pick)};
  }
  __device__ std::int64_t in_table(const Place& place) const {
    const std::int64_t row = picks.quotient(place.row) * choices + place.chosen;
    return row * row_packs + first + place.column;
  }
  __device__ std::int64_t among_picked(const Place& place) const {
    return place.row * row_packs + first + place.column;
  }
};

/// A thread's packs, one of each part. Indices are all asked for before they are looked at, which
/// is why there is no question whether a part has one: the last pack of all stands for those that
/// are missing.
struct Places {
  PickedRows::Place of[parts];

  __device__ Places(const PickedRows& rows, std::uint32_t n, const void* indices) {
#pragma unroll
    for (int i = 0; i < parts; ++i)
      of[i] = rows.place(min(n + i * rows.part, rows.count - 1), indices);
  }
};

template <class Item>
__global__ void __launch_bounds__(threads_per_block)
    look_up_items(PickedRows rows, Item* y, const Item* data, const void* indices) {
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= rows.part) return;
  const Places places(rows, n, indices);
  Item items[parts];
#pragma unroll
  for (int i = 0; i < parts; ++i) items[i] = data[rows.in_table(places.of[i])];
#pragma unroll
  for (int i = 0; i < parts; ++i) {
    if (n + i * rows.part < rows.count) y[rows.among_picked(places.of[i])] = items[i];
  }
}

/// Read once only: what is added to shall stay in the cache instead.
template <class N>
__device__ N read_once(const N* from) {
  static_assert(sizeof(N) <= 16);
  using Bits = std::conditional_t<
      sizeof(N) == 16, uint4,
      std::conditional_t<sizeof(N) == 8, uint2,
                         std::conditional_t<sizeof(N) == 4, unsigned, unsigned short>>>;
  union {
    Bits bits;
    N numbers;
  } both;
  both.bits = __ldcs(reinterpret_cast<const Bits*>(from));
  return both.numbers;
}

template <class A, int width>
__device__ void add_numbers(A* to, const A (&numbers)[width]) {
#pragma unroll
  for (int i = 0; i < width; ++i) atomicAdd(to + i, numbers[i]);
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ void add_numbers(float* to, const float (&numbers)[4]) {
  atomicAdd(reinterpret_cast<float4*>(to),
            make_float4(numbers[0], numbers[1], numbers[2], numbers[3]));
}
#endif

template <class T, int width>
__global__ void __launch_bounds__(threads_per_block)
    add_rows(PickedRows rows, Compute<T>* sums, const T* dy, const void* indices) {
  using A = Compute<T>;
  using N = Items<T, width>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= rows.part) return;
  const Places places(rows, n, indices);
  N numbers[parts];
#pragma unroll
  for (int i = 0; i < parts; ++i)
    numbers[i] = read_once(reinterpret_cast<const N*>(dy) + rows.among_picked(places.of[i]));
#pragma unroll
  for (int i = 0; i < parts; ++i) {
    if (n + i * rows.part >= rows.count) continue;
    A values[width];
#pragma unroll
    for (int j = 0; j < width; ++j) values[j] = value(numbers[i].item[j]);
    add_numbers(sums + rows.in_table(places.of[i]) * width, values);
  }
}

/// The widest item, of at most 16 bytes, that rows are made of.
std::int64_t item_bytes(std::int64_t row_bytes, const void* a, const void* b) {
  const auto bits = static_cast<std::uintptr_t>(row_bytes) | reinterpret_cast<std::uintptr_t>(a) |
                    reinterpret_cast<std::uintptr_t>(b);
  std::int64_t bytes = 16;
  while (bits % static_cast<std::uintptr_t>(bytes) != 0) bytes /= 2;
  return bytes;
}

/// Columns whose sums stay in the cache from when they are cleared to the last row that is added to
/// them. Of a large table with rows that are picked again and again, sums would else come from
/// memory and go back with each of them.
std::int64_t columns_at_once(const LookupRun& run, std::int64_t sum_bytes) {
  constexpr std::int64_t most_slices = 8, granule = 32;
  if (run.count < run.choices) return run.inner;
  int device = 0, cache_bytes = 0;
  STRATA_CUDA_CALL(cudaGetDevice(&device));
  STRATA_CUDA_CALL(cudaDeviceGetAttribute(&cache_bytes, cudaDevAttrL2CacheSize, device));
  const std::int64_t table_bytes = run.outer * run.choices * run.inner * sum_bytes;
  const std::int64_t slices = table_bytes / std::max(cache_bytes / 2, 1) + 1;
  if (slices > most_slices) return run.inner;
  const std::int64_t columns = (run.inner + slices - 1) / slices;
  return (columns + granule - 1) / granule * granule;
}

/// Packs of 16 bytes: some neighbouring ones of each row.
__global__ void __launch_bounds__(threads_per_block)
    clear_packs(uint4* first, FastDivisor columns, std::int64_t row_packs, std::uint32_t count) {
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= count) return;
  const std::uint32_t row = columns.quotient(n);
  first[row * row_packs + (n - row * columns.divisor)] = uint4{};
}

/// Zeros in some neighbouring columns of all rows. The library's own way to fill a part of each row
/// takes as long for an eighth of them as for a half.
void clear_columns(const LookupRun& run, void* first, std::int64_t columns, std::int64_t sum_bytes,
                   cudaStream_t stream) {
  constexpr std::int64_t pack = 16;
  const std::int64_t rows = run.outer * run.choices;
  const std::int64_t row_bytes = run.inner * sum_bytes, bytes = columns * sum_bytes;
  const std::int64_t packs = rows * bytes / pack;
  if (bytes == row_bytes) {
    STRATA_CUDA_CALL(cudaMemsetAsync(first, 0, static_cast<std::size_t>(rows * row_bytes), stream));
  } else if (is_aligned(first) && row_bytes % pack == 0 && bytes % pack == 0 &&
             packs < most_mapped) {
    clear_packs<<<blocks_for(packs), threads_per_block, 0, stream>>>(
        static_cast<uint4*>(first), FastDivisor(static_cast<std::uint32_t>(bytes / pack)),
        row_bytes / pack, static_cast<std::uint32_t>(packs));
    STRATA_CUDA_CALL(cudaGetLastError());
  } else {
    STRATA_CUDA_CALL(cudaMemset2DAsync(first, static_cast<std::size_t>(row_bytes), 0,
                                       static_cast<std::size_t>(bytes),
                                       static_cast<std::size_t>(rows), stream));
  }
}

template <class T, int width>
void add_all_rows(const LookupRun& run, Compute<T>* sums, const T* dy, const void* indices,
                  cudaStream_t stream) {
  constexpr std::int64_t sum_bytes = sizeof(Compute<T>);
  const std::int64_t at_once = columns_at_once(run, sum_bytes);
  for (std::int64_t first = 0; first < run.inner; first += at_once) {
    const std::int64_t columns = std::min(at_once, run.inner - first);
    clear_columns(run, sums + first, columns, sum_bytes, stream);
    const PickedRows rows(run, width, first, columns);
    add_rows<T, width>
        <<<blocks_for(rows.part), threads_per_block, 0, stream>>>(rows, sums, dy, indices);
    STRATA_CUDA_CALL(cudaGetLastError());
  }
}

}  // namespace

void look_up(const LookupRun& run, void* y, const void* data, const void* indices,
             cudaStream_t stream) {
  const std::int64_t element_bytes = bytes_per_element(run.dtype);
  const std::int64_t bytes = item_bytes(run.inner * element_bytes, y, data);
  const PickedRows rows(run, bytes / element_bytes, 0, run.inner);
  const auto launch = [&](auto item) {
    using Item = decltype(item);
    look_up_items<<<blocks_for(rows.part), threads_per_block, 0, stream>>>(
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

std::int64_t sums_scratch(std::int64_t elements, DType dtype) {
  return bytes_per_element(dtype) < 4 ? elements : 0;
}

// Sums go into zeros of the type they are computed in, which for a short type are elsewhere.
void look_up_gradient(const LookupRun& run, void* gradient, const void* dy, const void* indices,
                      void* scratch, cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    using A = Compute<T>;
    constexpr bool adds_in_place = std::is_same_v<T, A>;
    constexpr int width = 16 / sizeof(A);
    auto* const sums = static_cast<A*>(adds_in_place ? gradient : scratch);
    const auto* const from = static_cast<const T*>(dy);
    if (run.inner % width == 0 && is_aligned(sums) && is_aligned(from)) {
      add_all_rows<T, width>(run, sums, from, indices, stream);
    } else {
      add_all_rows<T, 1>(run, sums, from, indices, stream);
    }
    if (!adds_in_place)
      convert(gradient, run.dtype, sums, DType::fp32, run.outer * run.choices * run.inner, stream);
  });
}

}  // namespace strata::cuda::train
