// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/measure/engine/constants.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

/// Softmax where cuDNN refuses it, attention's softmax and losses, as functions that enqueue their
/// kernels.
namespace strata::cuda::train {

/// [outer, length, inner]: along the middle axis.
struct SoftmaxRun {
  std::int64_t outer = 1, length = 1, inner = 1;
  bool is_log = false;
  DType dtype = DType::fp32;
  STRATA_HOST_AND_DEVICE std::int64_t rows() const { return outer * inner; }
};
void softmax(const SoftmaxRun& run, void* y, const void* x, cudaStream_t stream);
void softmax_gradient(const SoftmaxRun& run, void* dx, const void* dy, const void* y,
                      cudaStream_t stream);

/// Targets count from 0. `log_sums` has a number per row, fp32 (fp64 of fp64), and may be null;
/// `row_losses` has as many.
struct CrossEntropyMemory {
  const void* logits = nullptr;
  const void* targets = nullptr;
  bool targets_are_64_bit = true;
  void* log_sums = nullptr;
  void* row_losses = nullptr;
};
void cross_entropy(const SoftmaxRun& run, const CrossEntropyMemory& memory, void* loss,
                   cudaStream_t stream);
void cross_entropy_gradient(const SoftmaxRun& run, const CrossEntropyMemory& memory, void* dx,
                            const void* dloss, cudaStream_t stream);

/// Mean of (a − b)²; `partials` has squared_error_partials numbers, fp32 (fp64 of fp64).
inline constexpr int squared_error_partials = 1024;
void squared_error(void* loss, const void* a, const void* b, std::int64_t count, DType dtype,
                   void* partials, cudaStream_t stream);
/// da = 2 (a − b) dloss / count; either gradient may be null.
void squared_error_gradient(void* da, void* db, const void* a, const void* b, const void* dloss,
                            std::int64_t count, DType dtype, cudaStream_t stream);

/// Of attention. scores [rows, keys] → probabilities in place: softmax(scale × score + mask), of
/// the first `keys` that the row sees. Row r is query r mod queries of head-batch r / queries.
struct AttentionRows {
  std::int64_t batch = 1, heads = 1, queries = 1, keys = 1;
  double scale = 1;
  bool is_causal = false;
  const void* mask = nullptr;  ///< of the data's type
  std::int64_t mask_strides[4] = {};
  DType dtype = DType::fp32;
};
void attention_softmax(const AttentionRows& rows, void* scores, cudaStream_t stream);
/// In place of dP: dS = P (dP − Σ dP P), times the scale where `is_scaled`.
void attention_softmax_gradient(const AttentionRows& rows, void* dscores, const void* probabilities,
                                bool is_scaled, cudaStream_t stream);

}  // namespace strata::cuda::train
