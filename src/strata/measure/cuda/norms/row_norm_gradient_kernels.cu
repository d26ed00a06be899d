// SPDX-License-Identifier: Apache-2.0
// Where rows fit into registers, x and dy are read once for all three gradients (by columns or by
// planes). Otherwise dx reads its row twice, and the weights' gradients read everything again.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/index_map.cuh"
#include "strata/measure/cuda/norms/row_norm_gradient.cuh"
#include "strata/measure/cuda/sums/sums.cuh"

namespace strata::cuda::train {
namespace {

constexpr int finish_entries = 16, finish_parts = 32;

/// Adds the parts of the weights' gradients; either may be null.
template <class T>
__global__ void __launch_bounds__(finish_entries* finish_parts)
    add_parts(T* scale_gradient, T* shift_gradient, const SumPair<Compute<T>>* partials,
              std::int64_t entries, std::int64_t parts) {
  using A = Compute<T>;
  __shared__ SumPair<A> shared[finish_parts][finish_entries];
  const std::int64_t entry = std::int64_t{blockIdx.x} * finish_entries + threadIdx.x;
  SumPair<A> sum{0, 0};
  if (entry < entries) {
#pragma unroll 4
    for (std::int64_t part = threadIdx.y; part < parts; part += finish_parts)
      sum = sum + partials[part * entries + entry];
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || entry >= entries) return;
  for (int i = 1; i < finish_parts; ++i) sum = sum + shared[i][threadIdx.x];
  if (scale_gradient != nullptr) scale_gradient[entry] = stored<T>(sum.first);
  if (shift_gradient != nullptr) shift_gradient[entry] = stored<T>(sum.second);
}

// --- rows that do not fit ------------------------------------------------------------------------

constexpr int long_row_threads = 512;

template <class T, int width>
__global__ void __launch_bounds__(long_row_threads, least_blocks<T>)
    long_row_gradient(RowNorm norm, FastDivisor inner, GradientArrays<T> arrays) {
  using A = Compute<T>;
  constexpr int count = most_pieces<T, width> / 2;
  __shared__ SumPair<A> parts[warp_threads];
  const RowPlace place(norm.rows, norm.length / width);
  const std::int64_t row = place.row * norm.length;
  const std::int64_t first_entry = place.row % norm.groups * (norm.length / norm.inner);
  NormSlope<A> slope(arrays.statistics, place.row, true);
  RowNumbers<T, width, count> x, d;
  // Leaves x̂ and d.
  const auto read = [&](unsigned first) {
    RowPieces<T, width, count, false> x_pieces, d_pieces;
    x_pieces.read(arrays.x + row + std::int64_t{first} * width, place.pieces - first);
    d_pieces.read(arrays.dy + row + std::int64_t{first} * width, place.pieces - first);
    x.take(x_pieces, place.pieces - first, slope.mean);
    d.take(d_pieces, place.pieces - first, A(0));
#pragma unroll
    for (int k = 0; k < count; ++k) {
#pragma unroll
      for (int j = 0; j < width; ++j) {
        x.item[k][j] = slope.normalized(x.item[k][j]);
        const unsigned piece = first + piece_at(k);
        if (arrays.scale != nullptr && piece < place.pieces)
          d.item[k][j] *= A(value(arrays.scale[first_entry + inner.quotient(piece * width + j)]));
      }
    }
  };
  SumPair<A> sums{0, 0};
  for (unsigned first = 0; first < place.pieces; first += count * blockDim.x) {
    read(first);
#pragma unroll
    for (int k = 0; k < count; ++k) {
#pragma unroll
      for (int j = 0; j < width; ++j)
        sums = sums + SumPair<A>{d.item[k][j] * x.item[k][j], d.item[k][j]};
    }
  }
  slope.take(norm, over_team(sums, Sum{}, SumPair<A>{0, 0}, parts));
  for (unsigned first = 0; first < place.pieces; first += count * blockDim.x) {
    read(first);
#pragma unroll
    for (int k = 0; k < count; ++k) {
#pragma unroll
      for (int j = 0; j < width; ++j) x.item[k][j] = slope(d.item[k][j], x.item[k][j]);
    }
    x.write(arrays.dx + row + std::int64_t{first} * width, place.pieces - first);
  }
}

template <class T>
void launch_long_rows(const RowNorm& norm, const RowNormMemory& memory, cudaStream_t stream) {
  const bool is_whole = norm.length % Pack<T>::size == 0 && is_gradient_aligned(memory);
  with_piece_width<T>(is_whole, [&](auto width) {
    constexpr int each = most_pieces<T, width.value> / 2;
    const std::int64_t team = std::min<std::int64_t>(
        whole_warps(parts_of(norm.length / width.value, each)), std::int64_t{long_row_threads});
    long_row_gradient<T, width.value>
        <<<static_cast<unsigned>(norm.rows), static_cast<unsigned>(team), 0, stream>>>(
            norm, FastDivisor(static_cast<std::uint32_t>(norm.inner)), GradientArrays<T>(memory));
  });
}

/// dscale and dshift. Columns: every row has its own statistics. Channels: every group of every
/// sample has.
template <class T>
struct WeightSums {
  using A = Compute<T>;
  const A* statistics;
  std::int64_t groups, entries_per_group;
  A mean, r;
  __device__ void begin(std::int64_t sample, std::int64_t entry) {
    const std::int64_t row = groups == 1 ? sample : sample * groups + entry / entries_per_group;
    mean = statistics[2 * row];
    r = statistics[2 * row + 1];
  }
  __device__ void add(A dy, A x, A& first, A& second) const {
    first += dy * (x - mean) * r;
    second += dy;
  }
};

SumLayout weight_layout(const RowNorm& norm) {
  return {.rows = norm.rows / norm.groups, .channels = norm.entries(), .inner = norm.inner};
}

template <class T>
void launch_weight_sums(const RowNorm& norm, const RowNormMemory& memory, cudaStream_t stream) {
  const SumLayout layout = weight_layout(norm);
  auto* const partials = static_cast<Compute<T>*>(memory.scratch);
  const WeightSums<T> terms{static_cast<const Compute<T>*>(memory.statistics), norm.groups,
                            norm.length / norm.inner, 0, 0};
  launch_sums<T, 2>(layout, static_cast<const T*>(memory.dy), static_cast<const T*>(memory.x),
                    partials, terms, stream);
  launch_finish(
      layout, partials,
      StoredSums<T>{static_cast<T*>(memory.scale_gradient), static_cast<T*>(memory.shift_gradient)},
      stream);
}

bool has_weights(const RowNormMemory& memory) {
  return memory.scale_gradient != nullptr || memory.shift_gradient != nullptr;
}

}  // namespace

bool row_norm_gradient_is_one(const RowNorm& norm) {
  return most_column_parts(norm) > 0 || most_plane_parts(norm) > 0;
}

std::int64_t row_norm_scratch(const RowNorm& norm) {
  const std::int64_t parts = std::max(most_column_parts(norm), most_plane_parts(norm));
  return std::max(2 * norm.entries() * parts, sum_partials(weight_layout(norm)));
}

void row_norm_gradient(const RowNorm& norm, const RowNormMemory& memory, cudaStream_t stream) {
  const std::int64_t parts = norm.inner == 1 ? gradient_by_columns(norm, memory, stream)
                                             : gradient_by_planes(norm, memory, stream);
  with_element_type(norm.dtype, [&](auto element) {
    using T = decltype(element);
    if (parts == 0 && memory.dx != nullptr) launch_long_rows<T>(norm, memory, stream);
    if (!has_weights(memory)) return;
    if (parts == 0) return launch_weight_sums<T>(norm, memory, stream);
    add_parts<<<blocks_for(norm.entries(), finish_entries), dim3(finish_entries, finish_parts), 0,
                stream>>>(static_cast<T*>(memory.scale_gradient),
                          static_cast<T*>(memory.shift_gradient),
                          GradientArrays<T>(memory).partials, norm.entries(), parts);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
