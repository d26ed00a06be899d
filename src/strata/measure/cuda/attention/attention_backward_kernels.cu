// SPDX-License-Identifier: Apache-2.0
// Two kernels, each with a fixed order of its sums: one owns queries and adds up their gradient
// over the keys, the other owns keys and adds up theirs and the values' over the queries of all
// heads that share them. Both make the probabilities again.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/attention/attention_block.cuh"

namespace strata::cuda::train {
namespace {

constexpr int lanes = tiles::backward_lanes, backward_threads = tiles::side * lanes;

/// Rows and columns of a tile that a thread has, and numbers of a head's width.
template <int W, int own>
struct BackwardPlane {
  static constexpr tiles::Tile tile = tiles::backward_tile(W, own);
  static_assert(tile.own == own);
  static constexpr int other = tile.other, shared_bytes = tiles::backward_shared_bytes(W, tile);
  static constexpr int rows = own / tiles::side, columns = other / lanes, widths = W / lanes;
};

/// Where the tiles of a block stand: two of its own, two of the other side, one of gradients.
template <int W, int own>
struct BackwardTiles {
  float *own_first, *own_second, *other_first, *other_second, *middle;
  __device__ explicit BackwardTiles(float4* shared) {
    constexpr int own_floats = W * tiles::row_floats(own);
    constexpr int other_floats = W * tiles::row_floats(BackwardPlane<W, own>::other);
    own_first = reinterpret_cast<float*>(shared);
    own_second = own_first + own_floats;
    other_first = own_second + own_floats;
    other_second = other_first + other_floats;
    middle = other_second + other_floats;
  }
};

/// row_dots = Σ dO × O; a warp for each row.
__global__ void dot_output_rows(FusedAttention a, FusedAttentionMemory m) {
  const std::int64_t row = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= a.batch * a.heads * a.sight.queries) return;
  const std::int64_t query = row % a.sight.queries, head = row / a.sight.queries % a.heads;
  const std::int64_t image = row / a.sight.queries / a.heads;
  const std::int64_t first = ((image * a.sight.queries + query) * a.heads + head) * a.value_width;
  float sum = 0;
  for (int d = threadIdx.x % 32; d < a.value_width; d += 32)
    sum = fmaf(m.output_gradient[first + d], m.output[first + d], sum);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) m.row_dots[row] = sum;
}

/// Block (head of an image, tile of queries).
template <int W, int own>
__global__ void __launch_bounds__(backward_threads)
    attention_query_gradient(FusedAttention a, FusedAttentionMemory m) {
  using Plane = BackwardPlane<W, own>;
  constexpr int other = Plane::other;
  extern __shared__ float4 shared[];
  const BackwardTiles<W, own> tile(shared);
  const int y = threadIdx.x / lanes, x = threadIdx.x % lanes;
  const HeadPlace place(a, blockIdx.x / a.heads, blockIdx.x % a.heads);
  const std::int64_t first = std::int64_t{gridDim.y - 1 - blockIdx.y} * own;
  const HeadRows<const float> keys = place.of_keys(a, m.k, a.width);
  const HeadRows<const float> values = place.of_keys(a, m.v, a.value_width);
  const float* const mask = place.mask(a, m.mask);
  load_tile<W, own, lanes, false>(tile.own_first, place.of_queries(a, m.q, a.width), first);
  load_tile<W, own, lanes, false>(tile.own_second,
                                  place.of_queries(a, m.output_gradient, a.value_width), first);
  float log_sum[Plane::rows], dot[Plane::rows];
  int seen[Plane::rows];
#pragma unroll
  for (int r = 0; r < Plane::rows; ++r) {
    const std::int64_t query = first + y * Plane::rows + r;
    const bool is_there = query < a.sight.queries;
    seen[r] = is_there ? static_cast<int>(a.sight.seen_keys(query)) : 0;
    log_sum[r] = is_there ? m.log_sums[place.row(a, query)] : INFINITY;
    dot[r] = is_there ? m.row_dots[place.row(a, query)] : 0;
  }
  float sums[Plane::rows][Plane::widths] = {};
  const std::int64_t key_end = a.sight.key_end(first + own);
  for (std::int64_t key = 0; key < key_end; key += other) {
    load_tile<W, other, lanes, false>(tile.other_first, keys, key);
    load_tile<W, other, lanes, false>(tile.other_second, values, key);
    __syncthreads();
    float scores[Plane::rows][Plane::columns] = {};
    float slopes[Plane::rows][Plane::columns] = {};
    multiply_widths<W, lanes>(scores, tile.own_first, tile.other_first);
    multiply_widths<W, lanes>(slopes, tile.own_second, tile.other_second);
#pragma unroll
    for (int r = 0; r < Plane::rows; ++r) {
      const int query = static_cast<int>(first) + y * Plane::rows + r;
#pragma unroll
      for (int c = 0; c < Plane::columns; ++c) {
        const int column = static_cast<int>(key) + tiles::column_of(lanes, x, c);
        const float score = seen_score(a, mask, query, column, column < seen[r], scores[r][c]);
        slopes[r][c] = exp2f(score - log_sum[r]) * (slopes[r][c] - dot[r]) * a.scale;
      }
    }
    write_tile<lanes, false>(tile.middle, slopes);
    __syncthreads();
    multiply_rows<other, lanes>(sums, tile.middle, tile.other_first);
    __syncthreads();
  }
  store_rows<lanes>(place.of_queries(a, m.dq, a.width), first, sums);
}

/// What the queries of a tile bring: log-sums and dots of a thread's columns.
template <int C>
struct QueryColumns {
  float log_sum[C], dot[C];
  int seen[C];
  __device__ QueryColumns(const FusedAttention& a, const FusedAttentionMemory& m,
                          const HeadPlace& place, std::int64_t first) {
#pragma unroll
    for (int c = 0; c < C; ++c) {
      const std::int64_t query = first + tiles::column_of(lanes, threadIdx.x % lanes, c);
      const bool is_there = query < a.sight.queries;
      seen[c] = is_there ? static_cast<int>(a.sight.seen_keys(query)) : 0;
      log_sum[c] = is_there ? m.log_sums[place.row(a, query)] : INFINITY;
      dot[c] = is_there ? m.row_dots[place.row(a, query)] : 0;
    }
  }
};

/// Block (head of keys of an image, tile of keys).
template <int W, int own>
__global__ void __launch_bounds__(backward_threads)
    attention_key_gradient(FusedAttention a, FusedAttentionMemory m) {
  using Plane = BackwardPlane<W, own>;
  constexpr int other = Plane::other;
  extern __shared__ float4 shared[];
  const BackwardTiles<W, own> tile(shared);
  const int y = threadIdx.x / lanes, x = threadIdx.x % lanes;
  const std::int64_t image = blockIdx.x / a.kv_heads, repeats = a.heads / a.kv_heads;
  const std::int64_t first_head = blockIdx.x % a.kv_heads * repeats;
  const HeadPlace keys(a, image, first_head);
  const std::int64_t first = std::int64_t{blockIdx.y} * own;
  load_tile<W, own, lanes, false>(tile.own_first, keys.of_keys(a, m.k, a.width), first);
  load_tile<W, own, lanes, false>(tile.own_second, keys.of_keys(a, m.v, a.value_width), first);
  float key_sums[Plane::rows][Plane::widths] = {};
  float value_sums[Plane::rows][Plane::widths] = {};
  const std::int64_t begin = a.sight.first_query(first) / other * other;
  for (std::int64_t head = first_head; head < first_head + repeats; ++head) {
    const HeadPlace place(a, image, head);
    const float* const mask = place.mask(a, m.mask);
    for (std::int64_t query = begin; query < a.sight.queries; query += other) {
      load_tile<W, other, lanes, false>(tile.other_first, place.of_queries(a, m.q, a.width), query);
      load_tile<W, other, lanes, false>(
          tile.other_second, place.of_queries(a, m.output_gradient, a.value_width), query);
      const QueryColumns<Plane::columns> columns(a, m, place, query);
      __syncthreads();
      float shares[Plane::rows][Plane::columns] = {};
      multiply_widths<W, lanes>(shares, tile.own_first, tile.other_first);
#pragma unroll
      for (int r = 0; r < Plane::rows; ++r) {
        const int row = static_cast<int>(first) + y * Plane::rows + r;
#pragma unroll
        for (int c = 0; c < Plane::columns; ++c) {
          const int column = static_cast<int>(query) + tiles::column_of(lanes, x, c);
          shares[r][c] =
              exp2f(seen_score(a, mask, column, row, row < columns.seen[c], shares[r][c]) -
                    columns.log_sum[c]);
        }
      }
      write_tile<lanes, false>(tile.middle, shares);
      __syncthreads();
      multiply_rows<other, lanes>(value_sums, tile.middle, tile.other_second);
      float slopes[Plane::rows][Plane::columns] = {};
      multiply_widths<W, lanes>(slopes, tile.own_second, tile.other_second);
#pragma unroll
      for (int r = 0; r < Plane::rows; ++r) {
#pragma unroll
        for (int c = 0; c < Plane::columns; ++c)
          slopes[r][c] = shares[r][c] * (slopes[r][c] - columns.dot[c]) * a.scale;
      }
      __syncthreads();
      write_tile<lanes, false>(tile.middle, slopes);
      __syncthreads();
      multiply_rows<other, lanes>(key_sums, tile.middle, tile.other_first);
      __syncthreads();
    }
  }
  if (m.dk != nullptr) store_rows<lanes>(keys.of_keys(a, m.dk, a.width), first, key_sums);
  if (m.dv != nullptr) store_rows<lanes>(keys.of_keys(a, m.dv, a.value_width), first, value_sums);
}

/// Calls `launch` with the width and the rows of a block that owns some of `rows`.
template <class Launch>
void with_backward_tile(const FusedAttention& attention, std::int64_t rows, const Launch& launch) {
  const int padded = tiles::padded_width(attention.width, attention.value_width);
  with_tile(padded, tiles::backward_tile(padded, rows).own, [&](auto width, auto own) {
    // Wide heads have low tiles alone.
    if constexpr (tiles::backward_tile(width, own).own == own) launch(width, own);
  });
}

}  // namespace

bool allow_backward_shared_memory(const FusedAttention& attention) {
  if (attention.is_one_tile()) return allow_one_tile_shared_memory(attention);
  bool is_allowed = true;
  with_backward_tile(attention, attention.sight.queries, [&](auto width, auto own) {
    is_allowed &=
        allow_shared(attention_query_gradient<width, own>, BackwardPlane<width, own>::shared_bytes);
  });
  with_backward_tile(attention, attention.sight.keys, [&](auto width, auto own) {
    is_allowed &=
        allow_shared(attention_key_gradient<width, own>, BackwardPlane<width, own>::shared_bytes);
  });
  return is_allowed;
}

void fused_attention_backward(const FusedAttention& attention, const FusedAttentionMemory& memory,
                              cudaStream_t stream) {
  if (attention.is_one_tile()) return one_tile_attention_backward(attention, memory, stream);
  dot_output_rows<<<blocks_for(attention.rows() * 32), threads_per_block, 0, stream>>>(attention,
                                                                                       memory);
  const auto grid = [&](std::int64_t heads, std::int64_t rows, int own) {
    return dim3(static_cast<unsigned>(attention.batch * heads),
                static_cast<unsigned>((rows + own - 1) / own));
  };
  const std::int64_t queries = attention.sight.queries, keys = attention.sight.keys;
  if (memory.dq != nullptr) {
    with_backward_tile(attention, queries, [&](auto width, auto own) {
      attention_query_gradient<width, own>
          <<<grid(attention.heads, queries, own), backward_threads,
             BackwardPlane<width, own>::shared_bytes, stream>>>(attention, memory);
    });
  }
  if (memory.dk != nullptr || memory.dv != nullptr) {
    with_backward_tile(attention, keys, [&](auto width, auto own) {
      attention_key_gradient<width, own>
          <<<grid(attention.kv_heads, keys, own), backward_threads,
             BackwardPlane<width, own>::shared_bytes, stream>>>(attention, memory);
    });
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
