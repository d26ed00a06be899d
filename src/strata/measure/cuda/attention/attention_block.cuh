// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/attention/fused_attention.cuh"
#include "strata/measure/cuda/element.cuh"

#include <type_traits>

/// What a block of attention's threads does with tiles in shared memory, where they lie with the
/// width outside: tile[d][row]. Thread (y, x) of the plane makes rows y × R … of its own side; L
/// are the threads that share a row. For nvcc only.
namespace strata::cuda::train {

namespace tiles = attention_tiles;

inline constexpr float log2_of_e = 1.44269504088896340736F;

/// Rows of one head, as the network has them; F is float or const float.
template <class F>
struct HeadRows {
  F* first;
  std::int64_t step;   ///< from row to row
  std::int64_t count;  ///< rows that there are
  int width;
};

/// tile[d][place(row)] = the rows from `first` on; 0 where there are none. A thread reads 32 bytes
/// of a row, which is what memory hands out.
template <int W, int rows, int L, bool spreads>
__device__ void load_tile(float* tile, const HeadRows<const float>& from, std::int64_t first) {
  constexpr int pitch = rows + tiles::row_padding, chunk = 8;
  const bool is_whole =
      from.width % 4 == 0 && reinterpret_cast<std::uintptr_t>(from.first) % sizeof(float4) == 0;
  for (int item = threadIdx.x; item < rows * (W / chunk); item += tiles::side * L) {
    const int row = item % rows, d = item / rows * chunk;
    const int place = spreads ? tiles::spread_row(L, row) : row;
    const float* const source = from.first + (first + row) * from.step + d;
    const bool is_there = first + row < from.count;
    float numbers[chunk] = {};
    if (is_there && is_whole) {
#pragma unroll
      for (int part = 0; part < chunk; part += 4) {
        if (d + part >= from.width) continue;
        const float4 four = *reinterpret_cast<const float4*>(source + part);
        numbers[part] = four.x;
        numbers[part + 1] = four.y;
        numbers[part + 2] = four.z;
        numbers[part + 3] = four.w;
      }
    } else if (is_there) {
#pragma unroll
      for (int i = 0; i < chunk; ++i) {
        if (d + i < from.width) numbers[i] = source[i];
      }
    }
#pragma unroll
    for (int i = 0; i < chunk; ++i) tile[(d + i) * pitch + place] = numbers[i];
  }
}

/// Four neighbours at a time, `step` from one four to the next.
template <int count>
__device__ void read_fours(float (&to)[count], const float* from, int step) {
  static_assert(count % 4 == 0);
#pragma unroll
  for (int i = 0; i < count; i += 4) {
    const float4 four = *reinterpret_cast<const float4*>(from + i / 4 * step);
    to[i] = four.x;
    to[i + 1] = four.y;
    to[i + 2] = four.z;
    to[i + 3] = four.w;
  }
}

/// sum[r][c] += Σ_d a[d][y × R + r] b[d][column c]
template <int W, int L, int R, int C>
__device__ void multiply_widths(float (&sum)[R][C], const float* a, const float* b) {
  constexpr int a_pitch = R * tiles::side + tiles::row_padding;
  constexpr int b_pitch = C * L + tiles::row_padding;
  const float* const a_own = a + threadIdx.x / L * R;
  const float* const b_own = b + threadIdx.x % L * 4;
#pragma unroll 4
  for (int d = 0; d < W; ++d) {
    float left[R], right[C];
    read_fours(left, a_own + d * a_pitch, 4);
    read_fours(right, b_own + d * b_pitch, 4 * L);
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int c = 0; c < C; ++c) sum[r][c] = fmaf(left[r], right[c], sum[r][c]);
    }
  }
}

/// sum[r][c] += Σ_n p[n][y × R + r] b[x + L × c][n], over the `count` rows of a tile.
template <int count, int L, int R, int C>
__device__ void multiply_rows(float (&sum)[R][C], const float* p, const float* b) {
  constexpr int p_pitch = R * tiles::side + tiles::row_padding;
  constexpr int b_pitch = count + tiles::row_padding;
  const float* const p_own = p + threadIdx.x / L * R;
  const float* const b_own = b + threadIdx.x % L * b_pitch;
#pragma unroll 1
  for (int n = 0; n < count; n += 4) {
    float right[C][4];
#pragma unroll
    for (int c = 0; c < C; ++c) read_fours(right[c], b_own + c * L * b_pitch + n, 4);
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      float left[R];
      read_fours(left, p_own + (n + m) * p_pitch, 4);
#pragma unroll
      for (int r = 0; r < R; ++r) {
#pragma unroll
        for (int c = 0; c < C; ++c) sum[r][c] = fmaf(left[r], right[c][m], sum[r][c]);
      }
    }
  }
}

/// p[row of column c][y × R + r] = numbers[r][c]
template <int L, bool spreads, int R, int C>
__device__ void write_tile(float* p, const float (&numbers)[R][C]) {
  static_assert(R % 4 == 0);
  constexpr int pitch = R * tiles::side + tiles::row_padding;
  float* const own = p + threadIdx.x / L * R;
  const int x = threadIdx.x % L;
#pragma unroll
  for (int c = 0; c < C; ++c) {
    const int row = spreads ? c * L + x : tiles::column_of(L, x, c);
#pragma unroll
    for (int r = 0; r < R; r += 4) {
      *reinterpret_cast<float4*>(own + row * pitch + r) =
          make_float4(numbers[r][c], numbers[r + 1][c], numbers[r + 2][c], numbers[r + 3][c]);
    }
  }
}

/// rows[first + y × R + r] = numbers[r], of which thread x has every L-th.
template <int L, int R, int C>
__device__ void store_rows(const HeadRows<float>& rows, std::int64_t first,
                           const float (&numbers)[R][C]) {
  const int y = threadIdx.x / L, x = threadIdx.x % L;
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const std::int64_t row = first + y * R + r;
    if (row >= rows.count) continue;
#pragma unroll
    for (int c = 0; c < C; ++c) {
      const int d = x + c * L;
      if (d < rows.width) rows.first[row * rows.step + d] = numbers[r][c];
    }
  }
}

/// Over the threads that share a row, which are neighbours in a warp.
template <int L, class Join>
__device__ float over_lanes(float x, Join join) {
#pragma unroll
  for (int step = L / 2; step > 0; step /= 2) x = join(x, __shfl_xor_sync(~0u, x, step));
  return x;
}

/// One head of one image.
struct HeadPlace {
  std::int64_t batch, head, kv_head;
  __device__ HeadPlace(const FusedAttention& a, std::int64_t image, std::int64_t query_head)
      : batch(image), head(query_head), kv_head(query_head / (a.heads / a.kv_heads)) {}

  /// Of Q and, with value_width, of O and dO.
  template <class F>
  __device__ HeadRows<F> of_queries(const FusedAttention& a, F* data, int width) const {
    return {data + (batch * a.sight.queries * a.heads + head) * width, a.heads * width,
            a.sight.queries, width};
  }
  template <class F>
  __device__ HeadRows<F> of_keys(const FusedAttention& a, F* data, int width) const {
    return {data + (batch * a.sight.keys * a.kv_heads + kv_head) * width, a.kv_heads * width,
            a.sight.keys, width};
  }
  __device__ const float* mask(const FusedAttention& a, const float* data) const {
    return data == nullptr ? nullptr : data + batch * a.mask_strides[0] + head * a.mask_strides[1];
  }
  __device__ std::int64_t row(const FusedAttention& a, std::int64_t query) const {
    return (batch * a.heads + head) * a.sight.queries + query;
  }
};

/// A score as a power of 2; −∞ where the query does not see the key.
__device__ inline float seen_score(const FusedAttention& a, const float* mask, std::int64_t query,
                                   std::int64_t key, bool is_seen, float product) {
  if (!is_seen) return -INFINITY;
  const float score = product * (a.scale * log2_of_e);
  if (mask == nullptr) return score;
  return fmaf(mask[query * a.mask_strides[2] + key * a.mask_strides[3]], log2_of_e, score);
}

/// Whether a block of the kernel may have so much shared memory.
template <class Kernel>
bool allow_shared(Kernel kernel, int bytes) {
  const bool is_allowed = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               bytes) == cudaSuccess;
  if (!is_allowed) cudaGetLastError();
  return is_allowed;
}

/// Calls `launch` with the padded width and the rows that a block owns, as types.
template <class Launch>
void with_tile(int padded, int own, const Launch& launch) {
  const auto with_rows = [&](auto width) {
    if (own == 64) return launch(width, std::integral_constant<int, 64>{});
    launch(width, std::integral_constant<int, 128>{});
  };
  switch (padded) {
    case 32: return with_rows(std::integral_constant<int, 32>{});
    case 64: return with_rows(std::integral_constant<int, 64>{});
    case 96: return with_rows(std::integral_constant<int, 96>{});
    default: return with_rows(std::integral_constant<int, 128>{});
  }
}

}  // namespace strata::cuda::train
