// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>

/// Scaled dot product attention: cuDNN's fused engines in 16 bits, and else batched products with a
/// softmax between them.
namespace strata::cuda::train {

struct TrainingContext;

/// Q [batch, queries, heads × width], K [batch, keys, kv_heads × width], V [batch, keys, kv_heads ×
/// value_width] → [batch, queries, heads × value_width].
struct AttentionShape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, width = 1,
               value_width = 1;
  bool is_causal = false, has_mask = false;
  std::array<std::int64_t, 4> mask_strides{};  ///< batch, head, query, key; 0: repeated
  std::array<bool, 4> gradients{};             ///< which of Q, K, V and mask are made
  /// The gradients of Q, K and V are asked for one by one: one is a parameter.
  bool is_asked_apart = false;
  bool is_training = true;
  DType dtype = DType::fp32;

  std::int64_t repeats() const { return heads / kv_heads; }
  std::int64_t rows() const { return batch * heads * queries; }
  std::int64_t scores() const { return rows() * keys; }
  std::int64_t query_elements() const { return rows() * width; }
  std::int64_t key_elements() const { return batch * keys * kv_heads * width; }
  std::int64_t value_elements() const { return batch * keys * kv_heads * value_width; }
  std::int64_t output_elements() const { return rows() * value_width; }
  /// 1/√width
  double scale() const;
};

/// Tensors of one run. Gradients that are null are not made.
struct AttentionMemory {
  const void *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr;
  void* output = nullptr;
  const void* output_gradient = nullptr;
  std::array<void*, 4> gradients{};  ///< of Q, K, V, mask
  void *saved = nullptr, *scratch = nullptr;
};

/// What a computation keeps and needs; the same words as NodeNeeds.
struct AttentionNeeds {
  std::int64_t saved_bytes = 0, scratch_bytes = 0;
  bool output = false;           ///< backward reads it
  bool backward_is_one = false;  ///< all gradients come out of one computation
};

/// Attention made ready for one shape. Memory comes with each run.
class AttentionKernels {
 public:
  virtual ~AttentionKernels() = default;
  virtual std::string name() const = 0;
  virtual AttentionNeeds needs() const = 0;
  virtual void forward(const AttentionMemory& memory) = 0;
  virtual void backward(const AttentionMemory& memory) = 0;
};
/// Or why there is none for the shape.
using AttentionOrReason = std::variant<std::unique_ptr<AttentionKernels>, std::string>;

/// Batched products by cuBLASLt and a softmax between them; the probabilities are kept.
AttentionOrReason make_product_attention(const TrainingContext& context,
                                         const AttentionShape& shape);

}  // namespace strata::cuda::train
