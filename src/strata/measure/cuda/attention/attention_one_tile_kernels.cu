// SPDX-License-Identifier: Apache-2.0
// Backward where one tile has all scores of a head, as for sentences: a block makes all three
// gradients of it from one reading, and what the others sum up over several tiles it has at hand.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/attention/attention_block.cuh"

namespace strata::cuda::train {
namespace {

constexpr int rows = tiles::one_tile_rows, lanes = tiles::backward_lanes;
constexpr int block_threads = tiles::side * lanes;
constexpr int per_side = rows / tiles::side, per_lane = rows / lanes;
constexpr int pitch = tiles::row_floats(rows);

/// tile[y × R + r][column c] = numbers[r][c]: write_tile() the other way round.
template <int R, int C>
__device__ void write_rows(float* tile, const float (&numbers)[R][C]) {
  static_assert(C % 4 == 0);
  const int y = threadIdx.x / lanes, x = threadIdx.x % lanes;
#pragma unroll
  for (int r = 0; r < R; ++r) {
#pragma unroll
    for (int c = 0; c < C; c += 4) {
      *reinterpret_cast<float4*>(tile + (y * R + r) * pitch + tiles::column_of(lanes, x, c)) =
          make_float4(numbers[r][c], numbers[r][c + 1], numbers[r][c + 2], numbers[r][c + 3]);
    }
  }
}

/// to[row] = Σ_n p[n][row] × b[·][n]
template <int W>
__device__ void store_product(const HeadRows<float>& to, const float* p, const float* b) {
  float sums[per_side][W / lanes] = {};
  multiply_rows<rows, lanes>(sums, p, b);
  store_rows<lanes>(to, 0, sums);
}

/// Block (head of an image). Two of them fit a multiprocessor where heads are 64 wide.
template <int W>
__global__ void __launch_bounds__(block_threads, W <= 64 ? 2 : 1)
    attention_gradients_of_one_tile(FusedAttention a, FusedAttentionMemory m) {
  extern __shared__ float4 shared[];
  float* const q_tile = reinterpret_cast<float*>(shared);
  float* const k_tile = q_tile + W * pitch;
  float* const d_output_tile = k_tile + W * pitch;
  float* const v_tile = d_output_tile + W * pitch;
  float* const shares_tile = v_tile + W * pitch;          // [query][key]
  float* const slopes_tile = shares_tile + rows * pitch;  // [query][key]
  float* const turned_slopes_tile =                       // [key][query]
      tiles::replaces_values(W) ? v_tile : slopes_tile + rows * pitch;
  const int y = threadIdx.x / lanes, x = threadIdx.x % lanes;
  const HeadPlace place(a, blockIdx.x / a.heads, blockIdx.x % a.heads);
  const auto load = [](float* tile, const HeadRows<const float>& from) {
    load_tile<W, rows, lanes, false>(tile, from, 0);
  };
  load(q_tile, place.of_queries(a, m.q, a.width));
  load(k_tile, place.of_keys(a, m.k, a.width));
  load(d_output_tile, place.of_queries(a, m.output_gradient, a.value_width));
  load(v_tile, place.of_keys(a, m.v, a.value_width));
  const float* const mask = place.mask(a, m.mask);
  __syncthreads();
  float shares[per_side][per_lane] = {};
  float slopes[per_side][per_lane] = {};
  multiply_widths<W, lanes>(shares, q_tile, k_tile);
  multiply_widths<W, lanes>(slopes, d_output_tile, v_tile);
#pragma unroll
  for (int r = 0; r < per_side; ++r) {
    const int query = y * per_side + r;
    const bool is_there = query < a.sight.queries;
    const int seen = is_there ? static_cast<int>(a.sight.seen_keys(query)) : 0;
    const float log_sum = is_there ? m.log_sums[place.row(a, query)] : INFINITY;
    float dot = 0;  // Σ dO × O, which is Σ P × dP
#pragma unroll
    for (int c = 0; c < per_lane; ++c) {
      const int key = tiles::column_of(lanes, x, c);
      const float score = seen_score(a, mask, query, key, key < seen, shares[r][c]);
      shares[r][c] = exp2f(score - log_sum);
      dot = fmaf(shares[r][c], slopes[r][c], dot);
    }
    dot = over_lanes<lanes>(dot, Sum{});
#pragma unroll
    for (int c = 0; c < per_lane; ++c) slopes[r][c] = shares[r][c] * (slopes[r][c] - dot) * a.scale;
  }
  write_rows(shares_tile, shares);
  write_rows(slopes_tile, slopes);
  __syncthreads();  // nobody needs V any more
  write_tile<lanes, false>(turned_slopes_tile, slopes);
  if (m.dv != nullptr)
    store_product<W>(place.of_keys(a, m.dv, a.value_width), shares_tile, d_output_tile);
  if (m.dk != nullptr) store_product<W>(place.of_keys(a, m.dk, a.width), slopes_tile, q_tile);
  __syncthreads();
  if (m.dq != nullptr)
    store_product<W>(place.of_queries(a, m.dq, a.width), turned_slopes_tile, k_tile);
}

template <class Launch>
void with_width(const FusedAttention& attention, const Launch& launch) {
  with_tile(tiles::padded_width(attention.width, attention.value_width), rows,
            [&](auto width, auto own) {
              if constexpr (own == rows) launch(width);
            });
}

}  // namespace

bool allow_one_tile_shared_memory(const FusedAttention& attention) {
  bool is_allowed = false;
  with_width(attention, [&](auto width) {
    is_allowed =
        allow_shared(attention_gradients_of_one_tile<width>, tiles::one_tile_shared_bytes(width));
  });
  return is_allowed;
}

void one_tile_attention_backward(const FusedAttention& attention,
                                 const FusedAttentionMemory& memory, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(attention.batch * attention.heads);
  with_width(attention, [&](auto width) {
    attention_gradients_of_one_tile<width>
        <<<blocks, block_threads, tiles::one_tile_shared_bytes(width), stream>>>(attention, memory);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
