// SPDX-License-Identifier: Apache-2.0
// A block takes a row: mean, then squared differences to it, then results.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/normalization.cuh"

#include <algorithm>

namespace strata::cuda::train {
namespace {

template <class T>
struct NormArrays {
  const T *x, *scale, *shift, *dy;
  T *y, *dx;
  Compute<T>* statistics;

  explicit NormArrays(const RowNormMemory& memory)
      : x(static_cast<const T*>(memory.x)),
        scale(static_cast<const T*>(memory.scale)),
        shift(static_cast<const T*>(memory.shift)),
        dy(static_cast<const T*>(memory.dy)),
        y(static_cast<T*>(memory.y)),
        dx(static_cast<T*>(memory.dx)),
        statistics(static_cast<Compute<T>*>(memory.statistics)) {}
};

/// The scale of number j of a row.
template <class T>
__device__ Compute<T> scale_of(const RowNorm& norm, const T* scale, std::int64_t row,
                               std::int64_t j) {
  if (scale == nullptr) return 1;
  return value(scale[row % norm.groups * norm.group_entries() + j / norm.inner]);
}

template <class T>
__global__ void normalize_rows(RowNorm norm, NormArrays<T> arrays) {
  using A = Compute<T>;
  const std::int64_t row = blockIdx.x;
  const T* const x = arrays.x + row * norm.length;
  A mean = 0;
  if (norm.takes_mean) {
    for (std::int64_t j = threadIdx.x; j < norm.length; j += blockDim.x) mean += A(value(x[j]));
    mean = sum_over_block(mean) / A(norm.length);
  }
  A squares = 0;
  for (std::int64_t j = threadIdx.x; j < norm.length; j += blockDim.x) {
    const A d = A(value(x[j])) - mean;
    squares += d * d;
  }
  squares = sum_over_block(squares);
  const A r = rsqrt(squares / A(norm.length) + A(norm.epsilon));
  if (threadIdx.x == 0 && arrays.statistics != nullptr) {
    arrays.statistics[2 * row] = mean;
    arrays.statistics[2 * row + 1] = r;
  }
  for (std::int64_t j = threadIdx.x; j < norm.length; j += blockDim.x) {
    A result = (A(value(x[j])) - mean) * r * scale_of(norm, arrays.scale, row, j);
    if (arrays.shift != nullptr) result += scale_of(norm, arrays.shift, row, j);
    arrays.y[row * norm.length + j] = stored<T>(result);
  }
}

/// dx = r (d − mean of d − x̂ × mean of d x̂) with d = dy × scale; without a mean the second term is
/// missing.
template <class T>
__global__ void row_gradients(RowNorm norm, NormArrays<T> arrays) {
  using A = Compute<T>;
  const std::int64_t row = blockIdx.x, begin = row * norm.length;
  const A mean = arrays.statistics[2 * row], r = arrays.statistics[2 * row + 1];
  const auto scaled = [&](std::int64_t j) {
    return A(value(arrays.dy[begin + j])) * scale_of(norm, arrays.scale, row, j);
  };
  const auto normalized = [&](std::int64_t j) {
    return (A(value(arrays.x[begin + j])) - mean) * r;
  };
  A sum = 0, product = 0;
  for (std::int64_t j = threadIdx.x; j < norm.length; j += blockDim.x) {
    const A d = scaled(j);
    sum += d;
    product += d * normalized(j);
  }
  sum = norm.takes_mean ? sum_over_block(sum) / A(norm.length) : A(0);
  product = sum_over_block(product) / A(norm.length);
  for (std::int64_t j = threadIdx.x; j < norm.length; j += blockDim.x)
    arrays.dx[begin + j] = stored<T>(r * (scaled(j) - sum - normalized(j) * product));
}

// --- gradients of scale and shift ----------------------------------------------------------------

constexpr int entry_lanes = 32, entry_rows = 8;

template <class A>
struct WeightSums {
  A scale = 0, shift = 0;
};

/// Of layers, where every number of a row has its own entry: block (32 entries, split of the rows).
/// Leaves [split][entry] in `partials`.
template <class T>
__global__ void __launch_bounds__(entry_lanes* entry_rows)
    sum_entries(RowNorm norm, NormArrays<T> arrays, WeightSums<Compute<T>>* partials) {
  using A = Compute<T>;
  __shared__ WeightSums<A> parts[entry_rows][entry_lanes];
  const std::int64_t entry = std::int64_t{blockIdx.x} * entry_lanes + threadIdx.x;
  WeightSums<A> sums;
  if (entry < norm.length) {
#pragma unroll 4
    for (std::int64_t row = blockIdx.y * entry_rows + threadIdx.y; row < norm.rows;
         row += std::int64_t{gridDim.y} * entry_rows) {
      const A dy = value(arrays.dy[row * norm.length + entry]);
      const A x = value(arrays.x[row * norm.length + entry]);
      sums.scale += dy * (x - arrays.statistics[2 * row]) * arrays.statistics[2 * row + 1];
      sums.shift += dy;
    }
  }
  parts[threadIdx.y][threadIdx.x] = sums;
  __syncthreads();
  if (threadIdx.y > 0 || entry >= norm.length) return;
  for (int i = 1; i < entry_rows; ++i) {
    sums.scale += parts[i][threadIdx.x].scale;
    sums.shift += parts[i][threadIdx.x].shift;
  }
  partials[blockIdx.y * norm.length + entry] = sums;
}

/// Of groups of channels: block (entry, split of the samples).
template <class T>
__global__ void sum_planes(RowNorm norm, NormArrays<T> arrays, std::int64_t samples,
                           WeightSums<Compute<T>>* partials) {
  using A = Compute<T>;
  const std::int64_t entry = blockIdx.x, group = entry / norm.group_entries();
  WeightSums<A> sums;
  for (std::int64_t sample = blockIdx.y; sample < samples; sample += gridDim.y) {
    const std::int64_t row = sample * norm.groups + group;
    const std::int64_t begin = row * norm.length + entry % norm.group_entries() * norm.inner;
    const A mean = arrays.statistics[2 * row], r = arrays.statistics[2 * row + 1];
    for (std::int64_t j = threadIdx.x; j < norm.inner; j += blockDim.x) {
      const A dy = value(arrays.dy[begin + j]);
      sums.scale += dy * (A(value(arrays.x[begin + j])) - mean) * r;
      sums.shift += dy;
    }
  }
  sums.scale = sum_over_block(sums.scale);
  sums.shift = sum_over_block(sums.shift);
  if (threadIdx.x == 0) partials[blockIdx.y * norm.entries() + entry] = sums;
}

template <class T>
__global__ void add_weight_sums(const WeightSums<Compute<T>>* partials, std::int64_t splits,
                                std::int64_t entries, T* scale_gradient, T* shift_gradient) {
  const std::int64_t entry = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (entry >= entries) return;
  WeightSums<Compute<T>> sums;
  for (std::int64_t i = 0; i < splits; ++i) {
    sums.scale += partials[i * entries + entry].scale;
    sums.shift += partials[i * entries + entry].shift;
  }
  if (scale_gradient != nullptr) scale_gradient[entry] = stored<T>(sums.scale);
  if (shift_gradient != nullptr) shift_gradient[entry] = stored<T>(sums.shift);
}

bool has_own_entries(const RowNorm& norm) { return norm.inner == 1 && norm.groups == 1; }

/// So many that the chip is full.
std::int64_t weight_splits(const RowNorm& norm) {
  constexpr std::int64_t enough_blocks = 1024, least_rows = 16;
  const std::int64_t blocks =
      has_own_entries(norm) ? (norm.length + entry_lanes - 1) / entry_lanes : norm.entries();
  const std::int64_t most = has_own_entries(norm) ? norm.rows / least_rows : norm.samples();
  return std::clamp(enough_blocks / std::max<std::int64_t>(blocks, 1), std::int64_t{1},
                    std::max<std::int64_t>(most, 1));
}

template <class T>
void launch_weight_sums(const RowNorm& norm, const RowNormMemory& memory, cudaStream_t stream) {
  auto* const partials = static_cast<WeightSums<Compute<T>>*>(memory.scratch);
  const auto splits = static_cast<unsigned>(weight_splits(norm));
  const NormArrays<T> arrays(memory);
  if (has_own_entries(norm)) {
    sum_entries<<<dim3(blocks_for(norm.length, entry_lanes), splits), dim3(entry_lanes, entry_rows),
                  0, stream>>>(norm, arrays, partials);
  } else {
    sum_planes<<<dim3(static_cast<unsigned>(norm.entries()), splits), threads_per_block, 0,
                 stream>>>(norm, arrays, norm.samples(), partials);
  }
  add_weight_sums<<<blocks_for(norm.entries()), threads_per_block, 0, stream>>>(
      static_cast<const WeightSums<Compute<T>>*>(partials), std::int64_t{splits}, norm.entries(),
      static_cast<T*>(memory.scale_gradient), static_cast<T*>(memory.shift_gradient));
}

unsigned row_threads(const RowNorm& norm) {
  unsigned threads = 32;
  while (threads < norm.length / 4 && threads < 512) threads *= 2;
  return threads;
}

}  // namespace

void row_norm(const RowNorm& norm, const RowNormMemory& memory, cudaStream_t stream) {
  with_element_type(norm.dtype, [&](auto element) {
    using T = decltype(element);
    normalize_rows<<<static_cast<unsigned>(norm.rows), row_threads(norm), 0, stream>>>(
        norm, NormArrays<T>(memory));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

std::int64_t row_norm_scratch_bytes(const RowNorm& norm) {
  const std::int64_t pair = norm.dtype == DType::fp64 ? 16 : 8;
  return weight_splits(norm) * norm.entries() * pair;
}

void row_norm_gradient(const RowNorm& norm, const RowNormMemory& memory, cudaStream_t stream) {
  with_element_type(norm.dtype, [&](auto element) {
    using T = decltype(element);
    if (memory.dx != nullptr)
      row_gradients<<<static_cast<unsigned>(norm.rows), row_threads(norm), 0, stream>>>(
          norm, NormArrays<T>(memory));
    if (memory.scale_gradient != nullptr || memory.shift_gradient != nullptr)
      launch_weight_sums<T>(norm, memory, stream);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
