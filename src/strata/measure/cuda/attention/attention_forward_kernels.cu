// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/attention/attention_block.cuh"

namespace strata::cuda::train {
namespace {

/// Rows and columns of a tile that a thread has, and numbers of a head's width.
template <int W, int own>
struct ForwardPlane {
  static constexpr tiles::Tile tile = tiles::forward_tile(own);
  static_assert(tile.own == own);
  static constexpr int other = tile.other, shared_bytes = tiles::forward_shared_bytes(W, tile);
  static constexpr int lanes = tiles::forward_lanes(W), threads = tiles::side * lanes;
  static constexpr int rows = own / tiles::side, columns = other / lanes, widths = W / lanes;
  /// That shall share a multiprocessor.
  static constexpr int blocks = W > 64 ? 1 : 256 / own;
};

/// Maximum and sum of the rows of a thread so far; sums are of the thread's own columns.
template <int R>
struct RunningRows {
  float most[R], sum[R];
};

/// Scores become 2^(score − maximum), and what was added before shrinks where the maximum grew.
template <int L, int R, int C, int D>
__device__ void add_to_rows(RunningRows<R>& rows, float (&scores)[R][C], float (&mixed)[R][D]) {
#pragma unroll
  for (int r = 0; r < R; ++r) {
    float most = scores[r][0];
#pragma unroll
    for (int c = 1; c < C; ++c) most = fmaxf(most, scores[r][c]);
    most = fmaxf(over_lanes<L>(most, Larger{}), rows.most[r]);
    // Of a row that sees nothing yet all powers are 0.
    const float base = most == -INFINITY ? 0.0F : most;
    const float shrink = exp2f(rows.most[r] - base);
    rows.most[r] = most;
    float sum = rows.sum[r] * shrink;
#pragma unroll
    for (int c = 0; c < C; ++c) {
      scores[r][c] = exp2f(scores[r][c] - base);
      sum += scores[r][c];
    }
    rows.sum[r] = sum;
#pragma unroll
    for (int d = 0; d < D; ++d) mixed[r][d] *= shrink;
  }
}

/// Block (head of an image, tile of queries).
template <int W, int own>
__global__ void __launch_bounds__(ForwardPlane<W, own>::threads, ForwardPlane<W, own>::blocks)
    attention_forward(FusedAttention a, FusedAttentionMemory m) {
  using Plane = ForwardPlane<W, own>;
  constexpr int other = Plane::other, lanes = Plane::lanes;
  extern __shared__ float4 shared[];
  float* const q_tile = reinterpret_cast<float*>(shared);
  float* const k_tile = q_tile + W * tiles::row_floats(own);
  float* const v_tile = k_tile + W * tiles::row_floats(other);
  constexpr bool replaces_keys = tiles::replaces_keys(W, Plane::tile);
  float* const p_tile = replaces_keys ? k_tile : v_tile + W * tiles::row_floats(other);
  const int y = threadIdx.x / lanes, x = threadIdx.x % lanes;
  const HeadPlace place(a, blockIdx.x / a.heads, blockIdx.x % a.heads);
  // The last queries see most: they begin first.
  const std::int64_t first = std::int64_t{gridDim.y - 1 - blockIdx.y} * own;
  const HeadRows<const float> keys = place.of_keys(a, m.k, a.width);
  const HeadRows<const float> values = place.of_keys(a, m.v, a.value_width);
  const float* const mask = place.mask(a, m.mask);
  load_tile<W, own, lanes, false>(q_tile, place.of_queries(a, m.q, a.width), first);
  RunningRows<Plane::rows> rows;
  float mixed[Plane::rows][Plane::widths] = {};
  int seen[Plane::rows];
#pragma unroll
  for (int r = 0; r < Plane::rows; ++r) {
    rows.most[r] = -INFINITY;
    rows.sum[r] = 0;
    const std::int64_t query = first + y * Plane::rows + r;
    seen[r] = query < a.sight.queries ? static_cast<int>(a.sight.seen_keys(query)) : 0;
  }
  const std::int64_t key_end = a.sight.key_end(first + own);
  for (std::int64_t key = 0; key < key_end; key += other) {
    load_tile<W, other, lanes, false>(k_tile, keys, key);
    load_tile<W, other, lanes, true>(v_tile, values, key);
    __syncthreads();
    float scores[Plane::rows][Plane::columns] = {};
    multiply_widths<W, lanes>(scores, q_tile, k_tile);
#pragma unroll
    for (int r = 0; r < Plane::rows; ++r) {
      const int query = static_cast<int>(first) + y * Plane::rows + r;
#pragma unroll
      for (int c = 0; c < Plane::columns; ++c) {
        const int column = static_cast<int>(key) + tiles::column_of(lanes, x, c);
        scores[r][c] = seen_score(a, mask, query, column, column < seen[r], scores[r][c]);
      }
    }
    add_to_rows<lanes>(rows, scores, mixed);
    if (replaces_keys) __syncthreads();
    write_tile<lanes, true>(p_tile, scores);
    __syncthreads();
    multiply_rows<other, lanes>(mixed, p_tile, v_tile);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < Plane::rows; ++r) {
    const std::int64_t query = first + y * Plane::rows + r;
    const float sum = over_lanes<lanes>(rows.sum[r], Sum{});
    if (query >= a.sight.queries) continue;
    const float share = sum > 0 ? 1 / sum : 0.0F;
    const HeadRows<float> output = place.of_queries(a, m.output, a.value_width);
#pragma unroll
    for (int c = 0; c < Plane::widths; ++c) {
      const int d = x + c * lanes;
      if (d < a.value_width) output.first[query * output.step + d] = mixed[r][c] * share;
    }
    // +∞ makes every probability of a row that sees nothing 0.
    if (x == 0 && m.log_sums != nullptr)
      m.log_sums[place.row(a, query)] = sum > 0 ? rows.most[r] + log2f(sum) : INFINITY;
  }
}

template <class Launch>
void with_forward_tile(const FusedAttention& attention, const Launch& launch) {
  with_tile(tiles::padded_width(attention.width, attention.value_width),
            tiles::forward_tile(attention.sight.queries).own, launch);
}

}  // namespace

bool allow_forward_shared_memory(const FusedAttention& attention) {
  bool is_allowed = false;
  with_forward_tile(attention, [&](auto width, auto own) {
    is_allowed =
        allow_shared(attention_forward<width, own>, ForwardPlane<width, own>::shared_bytes);
  });
  return is_allowed;
}

void fused_attention_forward(const FusedAttention& attention, const FusedAttentionMemory& memory,
                             cudaStream_t stream) {
  with_forward_tile(attention, [&](auto width, auto own) {
    using Plane = ForwardPlane<width, own>;
    const dim3 grid(static_cast<unsigned>(attention.batch * attention.heads),
                    static_cast<unsigned>((attention.sight.queries + own - 1) / own));
    attention_forward<width, own>
        <<<grid, Plane::threads, Plane::shared_bytes, stream>>>(attention, memory);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
