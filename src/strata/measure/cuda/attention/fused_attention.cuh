// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/attention_tiles.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

/// Attention whose scores stay in registers and shared memory, fp32, as functions that enqueue
/// their kernels. Forward goes over tiles of keys with a running maximum and sum of each row
/// (Milakov and Gimelshein 2018; Dao et al. 2022) and keeps one number per row, from which backward
/// makes the probabilities again. Every sum has a fixed order.
namespace strata::cuda::train {

struct FusedAttention {
  attention_tiles::Sight sight;
  std::int64_t batch = 1, heads = 1, kv_heads = 1;
  int width = 1, value_width = 1;
  float scale = 1;
  std::int64_t mask_strides[4] = {};  ///< batch, head, query, key

  std::int64_t rows() const { return batch * heads * sight.queries; }
  /// Whether all scores of a head are one tile, and no other head adds to its keys' gradients.
  bool is_one_tile() const { return sight.is_one_tile() && heads == kv_heads; }
};

struct FusedAttentionMemory {
  const float *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr;
  float* output = nullptr;
  float* log_sums = nullptr;  ///< [batch, heads, queries]: log₂ Σ 2^score; null: not kept
  const float* output_gradient = nullptr;
  float* row_dots = nullptr;                          ///< [batch, heads, queries]: Σ dO × O
  float *dq = nullptr, *dk = nullptr, *dv = nullptr;  ///< null: not made
};

void fused_attention_forward(const FusedAttention& attention, const FusedAttentionMemory& memory,
                             cudaStream_t stream);
/// Reads output and log_sums as forward left them, and fills row_dots.
void fused_attention_backward(const FusedAttention& attention, const FusedAttentionMemory& memory,
                              cudaStream_t stream);
/// The same where scores are one tile, in one kernel; needs neither output nor row_dots.
void one_tile_attention_backward(const FusedAttention& attention,
                                 const FusedAttentionMemory& memory, cudaStream_t stream);

/// Takes as much shared memory as the kernels need; false: this GPU has less.
bool allow_forward_shared_memory(const FusedAttention& attention);
bool allow_backward_shared_memory(const FusedAttention& attention);
bool allow_one_tile_shared_memory(const FusedAttention& attention);

}  // namespace strata::cuda::train
