// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/attention/attention.cuh"
#include "strata/measure/cuda/attention/fused_attention.cuh"
#include "strata/measure/cuda/node.cuh"

#include <fmt/format.h>

#include <algorithm>

namespace strata::cuda::train {
namespace {

class FusedRunner final : public AttentionRunner {
 public:
  FusedRunner(cudaStream_t stream, const AttentionShape& shape)
      : stream_(stream), is_training_(shape.is_training) {
    attention_.sight = {shape.queries, shape.keys, shape.is_causal};
    attention_.batch = shape.batch;
    attention_.heads = shape.heads;
    attention_.kv_heads = shape.kv_heads;
    attention_.width = static_cast<int>(shape.width);
    attention_.value_width = static_cast<int>(shape.value_width);
    attention_.scale = static_cast<float>(shape.scale());
    std::copy(shape.mask_strides.begin(), shape.mask_strides.end(), attention_.mask_strides);
  }

  bool fits_shared_memory() const {
    return allow_forward_shared_memory(attention_) &&
           (!is_training_ || allow_backward_shared_memory(attention_));
  }
  std::string name() const override { return std::string(fused_attention); }
  AttentionNeeds needs() const override {
    const std::int64_t row_bytes = is_training_ ? attention_.rows() * std::int64_t{4} : 0;
    return {.saved_bytes = row_bytes, .scratch_bytes = row_bytes, .output = true};
  }
  void forward(const AttentionMemory& memory) override {
    fused_attention_forward(attention_, fused(memory), stream_);
  }
  void backward(const AttentionMemory& memory) override {
    fused_attention_backward(attention_, fused(memory), stream_);
  }

 private:
  static FusedAttentionMemory fused(const AttentionMemory& m) {
    const auto number = [](const void* data) { return static_cast<const float*>(data); };
    const auto result = [](void* data) { return static_cast<float*>(data); };
    FusedAttentionMemory memory;
    memory.q = number(m.q);
    memory.k = number(m.k);
    memory.v = number(m.v);
    memory.mask = number(m.mask);
    memory.output = result(m.output);
    memory.log_sums = result(m.saved);
    memory.output_gradient = number(m.output_gradient);
    memory.row_dots = result(m.scratch);
    memory.dq = result(m.gradients[0]);
    memory.dk = result(m.gradients[1]);
    memory.dv = result(m.gradients[2]);
    return memory;
  }

  cudaStream_t stream_;
  bool is_training_;
  FusedAttention attention_;
};

}  // namespace

AttentionOrReason make_fused_attention(const TrainingContext& context,
                                       const AttentionShape& shape) {
  if (shape.dtype != DType::fp32 && shape.dtype != DType::tf32)
    return fmt::format("our fused attention has no {}", name_of(shape.dtype));
  if (shape.gradients[3]) return "our fused attention makes no gradient of a mask";
  if (attention_tiles::padded_width(shape.width, shape.value_width) == 0)
    return fmt::format("our fused attention has heads of up to {} numbers",
                       attention_tiles::widest_head);
  auto runner = std::make_unique<FusedRunner>(context.stream(), shape);
  if (!runner->fits_shared_memory())
    return "our fused attention needs more shared memory than this GPU has";
  return runner;
}

}  // namespace strata::cuda::train
