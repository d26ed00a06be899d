// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/api.cuh"
#include "strata/measure/cuda/training/attention_block.cuh"

namespace strata::cuda::train {
namespace {

constexpr int forward_rows = tiles::forward_tile.own / tiles::lanes;
constexpr int forward_columns = tiles::forward_tile.other / tiles::lanes;

/// Maximum and sum of the rows of a thread so far; sums are of the thread's own columns.
struct RunningRows {
  float most[forward_rows], sum[forward_rows];
};

/// Scores become 2^(score − maximum), and what was added before shrinks where the maximum grew.
template <int C>
__device__ void add_to_rows(RunningRows& rows, float (&scores)[forward_rows][forward_columns],
                            float (&mixed)[forward_rows][C]) {
#pragma unroll
  for (int r = 0; r < forward_rows; ++r) {
    float most = scores[r][0];
#pragma unroll
    for (int c = 1; c < forward_columns; ++c) most = fmaxf(most, scores[r][c]);
    most = fmaxf(over_lanes(most, Larger{}), rows.most[r]);
    // Of a row that sees nothing yet all powers are 0.
    const float base = most == -INFINITY ? 0.0F : most;
    const float shrink = exp2f(rows.most[r] - base);
    rows.most[r] = most;
    float sum = rows.sum[r] * shrink;
#pragma unroll
    for (int c = 0; c < forward_columns; ++c) {
      scores[r][c] = exp2f(scores[r][c] - base);
      sum += scores[r][c];
    }
    rows.sum[r] = sum;
#pragma unroll
    for (int c = 0; c < C; ++c) mixed[r][c] *= shrink;
  }
}

/// Block (head of an image, tile of queries).
template <int W>
__global__ void __launch_bounds__(tiles::threads, W <= 64 ? 2 : 1)
    attention_forward(FusedAttention a, FusedAttentionMemory m) {
  constexpr int own = tiles::forward_tile.own, other = tiles::forward_tile.other;
  constexpr int columns = W / tiles::lanes;
  extern __shared__ float4 shared[];
  float* const q_tile = reinterpret_cast<float*>(shared);
  float* const k_tile = q_tile + W * (own + tiles::row_padding);
  float* const v_tile = k_tile + W * (other + tiles::row_padding);
  float* const p_tile = v_tile + W * (other + tiles::row_padding);
  const int y = threadIdx.x / tiles::lanes, x = threadIdx.x % tiles::lanes;
  const HeadPlace place(a, blockIdx.x / a.heads, blockIdx.x % a.heads);
  // The last queries see most: they begin first.
  const std::int64_t first = std::int64_t{gridDim.y - 1 - blockIdx.y} * own;
  const HeadRows<const float> keys = place.of_keys(a, m.k, a.width);
  const HeadRows<const float> values = place.of_keys(a, m.v, a.value_width);
  const float* const mask = place.mask(a, m.mask);
  load_tile<W, own, false>(q_tile, place.of_queries(a, m.q, a.width), first);
  RunningRows rows;
  float mixed[forward_rows][columns] = {};
  int seen[forward_rows];
#pragma unroll
  for (int r = 0; r < forward_rows; ++r) {
    rows.most[r] = -INFINITY;
    rows.sum[r] = 0;
    const std::int64_t query = first + y * forward_rows + r;
    seen[r] = query < a.sight.queries ? static_cast<int>(a.sight.seen_keys(query)) : 0;
  }
  const std::int64_t key_end = a.sight.key_end(first + own);
  for (std::int64_t key = 0; key < key_end; key += other) {
    load_tile<W, other, false>(k_tile, keys, key);
    load_tile<W, other, true>(v_tile, values, key);
    __syncthreads();
    float scores[forward_rows][forward_columns] = {};
    multiply_widths<W>(scores, q_tile, k_tile);
#pragma unroll
    for (int r = 0; r < forward_rows; ++r) {
      const int query = static_cast<int>(first) + y * forward_rows + r;
#pragma unroll
      for (int c = 0; c < forward_columns; ++c) {
        const int column = static_cast<int>(key) + x * forward_columns + c;
        scores[r][c] = seen_score(a, mask, query, column, column < seen[r], scores[r][c]);
      }
    }
    add_to_rows(rows, scores, mixed);
    write_tile<forward_rows, forward_columns, true>(p_tile, scores);
    __syncthreads();
    multiply_rows<forward_rows, columns, other>(mixed, p_tile, v_tile);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < forward_rows; ++r) {
    const std::int64_t query = first + y * forward_rows + r;
    const float sum = over_lanes(rows.sum[r], Sum{});
    if (query >= a.sight.queries) continue;
    const float share = sum > 0 ? 1 / sum : 0.0F;
    float* const to =
        m.output + ((place.batch * a.sight.queries + query) * a.heads + place.head) * a.value_width;
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      const int d = x + c * tiles::lanes;
      if (d < a.value_width) to[d] = mixed[r][c] * share;
    }
    // +∞ makes every probability of a row that sees nothing 0.
    if (x == 0 && m.log_sums != nullptr)
      m.log_sums[place.row(a, query)] = sum > 0 ? rows.most[r] + log2f(sum) : INFINITY;
  }
}

}  // namespace

bool allow_forward_shared_memory(int padded) {
  bool is_allowed = false;
  with_padded_width(padded, [&](auto width) {
    constexpr int W = decltype(width)::value;
    is_allowed =
        cudaFuncSetAttribute(attention_forward<W>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             tiles::forward_shared_bytes(W)) == cudaSuccess;
  });
  if (!is_allowed) cudaGetLastError();
  return is_allowed;
}

void fused_attention_forward(const FusedAttention& attention, const FusedAttentionMemory& memory,
                             cudaStream_t stream) {
  const std::int64_t own = tiles::forward_tile.own;
  const dim3 grid(static_cast<unsigned>(attention.batch * attention.heads),
                  static_cast<unsigned>((attention.sight.queries + own - 1) / own));
  with_padded_width(tiles::padded_width(attention.width, attention.value_width), [&](auto width) {
    constexpr int W = decltype(width)::value;
    attention_forward<W>
        <<<grid, tiles::threads, tiles::forward_shared_bytes(W), stream>>>(attention, memory);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
