// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

/// Ways to compute scaled dot product attention, and the choice among them: each is tried on the
/// GPU once per shape, forward and backward, and the fastest stays.
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

  friend auto operator<=>(const AttentionShape&, const AttentionShape&) = default;
};

/// Tensors of one run. Gradients that are null are not made.
struct AttentionMemory {
  const void *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr;
  void* output = nullptr;
  const void* output_gradient = nullptr;
  std::array<void*, 4> gradients{};  ///< of Q, K, V, mask
  void *saved = nullptr, *scratch = nullptr;
};

/// What a way keeps and needs; the same words as NodeNeeds.
struct AttentionNeeds {
  std::int64_t saved_bytes = 0, scratch_bytes = 0;
  bool output = false;           ///< backward reads it
  bool backward_is_one = false;  ///< all gradients come out of one computation
};

/// A way made ready for one shape. Memory comes with each run.
class AttentionRunner {
 public:
  virtual ~AttentionRunner() = default;
  virtual std::string name() const = 0;
  virtual AttentionNeeds needs() const = 0;
  virtual void forward(const AttentionMemory& memory) = 0;
  virtual void backward(const AttentionMemory& memory) = 0;
};
/// Or why there is none for the shape.
using AttentionOrReason = std::variant<std::unique_ptr<AttentionRunner>, std::string>;

inline constexpr std::string_view product_attention = "products", fused_attention = "fused",
                                  cudnn_attention = "cudnn:sdpa";

/// Batched products and a softmax between them; the probabilities are kept.
AttentionOrReason make_product_attention(const TrainingContext& context,
                                         const AttentionShape& shape);
/// Our kernels that never store scores, fp32.
AttentionOrReason make_fused_attention(const TrainingContext& context, const AttentionShape& shape);
/// cuDNN's kernels that never store scores, bf16 and fp16.
class CudnnAttention {
 public:
  virtual ~CudnnAttention() = default;
  virtual AttentionOrReason make(const AttentionShape& shape) = 0;
};
/// Nothing, and the reason in `problem`, when cuDNN cannot be loaded.
std::unique_ptr<CudnnAttention> load_cudnn_attention(cudaStream_t stream, std::string& problem);

class Attentions {
 public:
  explicit Attentions(const TrainingContext& context);
  /// The fastest, or the one that is forced; with a reason where that cannot do this.
  std::variant<std::shared_ptr<AttentionRunner>, std::string> runner(const AttentionShape& shape);

 private:
  AttentionOrReason make(std::string_view name, const AttentionShape& shape);
  AttentionOrReason make_if_it_fits(std::string_view name, const AttentionShape& shape);
  std::shared_ptr<AttentionRunner> fastest(const AttentionShape& shape, std::string& reason);

  const TrainingContext& context_;
  std::unique_ptr<CudnnAttention> cudnn_;  ///< when it is first asked for
  std::string no_cudnn_;
  std::map<AttentionShape, std::shared_ptr<AttentionRunner>> known_;
};

}  // namespace strata::cuda::train
