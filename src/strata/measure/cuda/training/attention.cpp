// SPDX-License-Identifier: Apache-2.0
// Attention by batched products and a softmax between them. Heads are laid one after the other
// first, so that all of a batch are one call; keys and values that several heads share are written
// out, and their gradients added.
#include "strata/measure/cuda/training/index_map.cuh"
#include "strata/measure/cuda/training/movement.cuh"
#include "strata/measure/cuda/training/node.cuh"
#include "strata/measure/cuda/training/reduce.cuh"
#include "strata/measure/cuda/training/softmax.cuh"

#include <cmath>

namespace strata::cuda::train {
namespace {

using SharedProduct = std::shared_ptr<const TunedProduct>;
constexpr std::size_t query_input = 0, key_input = 1, value_input = 2, mask_input = 3;

/// [batch, length, heads × width], and the same with heads apart: [batch, repeated heads, length,
/// width].
struct Heads {
  std::int64_t batch, length, heads, repeats, width;
  std::int64_t elements() const { return batch * heads * repeats * length * width; }
  /// Strides 0: heads apart, 1: as the network has it.
  StridedAxes split() const {
    return {{batch, heads, repeats, length, width},
            {{heads * repeats * length * width, repeats * length * width, length * width, width, 1},
             {length * heads * width, width, 0, heads * width, 1}}};
  }
};

class AttentionNode final : public CudaNode {
 public:
  AttentionNode(NodeFacts facts, const Attention& op) : CudaNode(std::move(facts)) {
    const std::int64_t kv = op.kv_heads == 0 ? op.heads : op.kv_heads;
    const BoundTensor &q = input(query_input), &k = input(key_input), &v = input(value_input);
    q_ = {q[0], q[1], op.heads, 1, q[2] / op.heads};
    k_ = {k[0], k[1], kv, op.heads / kv, k[2] / kv};
    v_ = {v[0], v[1], kv, op.heads / kv, v[2] / kv};
    o_ = {q[0], q[1], op.heads, 1, v[2] / kv};
    rows_.batch = q[0];
    rows_.heads = op.heads;
    rows_.queries = q[1];
    rows_.keys = k[1];
    rows_.scale = 1 / std::sqrt(static_cast<double>(q_.width));
    rows_.is_causal = op.causal;
    rows_.dtype = q.dtype;
    if (has_mask()) {
      mask_shape_ = {rows_.batch, rows_.heads, rows_.queries, rows_.keys};
      const auto strides = broadcast_strides(input(mask_input).shape, mask_shape_);
      for (std::size_t i = 0; i < 4; ++i) rows_.mask_strides[i] = strides[i];
    }
    make_products();
    plan_scratch();
  }

  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.scratch_bytes = scratch_.bytes();
    if (!facts().is_training) return needs;
    needs.inputs = true;
    needs.saved_bytes = score_elements() * element_bytes();
    return needs;
  }

  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) return forward(memory);
    backward(memory);
  }

  std::string implementation(Pass) const override { return scores_->name(); }

 private:
  bool has_mask() const { return facts().inputs.size() > mask_input; }
  std::int64_t element_bytes() const { return bytes_per_element(rows_.dtype); }
  std::int64_t score_elements() const {
    return rows_.batch * rows_.heads * rows_.queries * rows_.keys;
  }

  void make_products() {
    Products& products = *context().products;
    const std::int64_t s = rows_.queries, t = rows_.keys, d = q_.width, e = v_.width;
    const auto make = [&](std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb) {
      ProductShape shape = product_of(rows_.dtype, m, n, k, ta, tb);
      shape.batch = rows_.batch * rows_.heads;
      shape.a_matrix = m * k;
      shape.b_matrix = k * n;
      shape.c_matrix = m * n;
      return products.product(shape);
    };
    scores_ = make(s, t, d, false, true);
    mixed_ = make(s, e, t, false, false);
    if (!facts().is_training) return;
    probability_gradient_ = make(s, t, e, false, true);
    value_gradient_ = make(t, e, s, true, false);
    query_gradient_ = make(s, d, t, false, false);
    key_gradient_ = make(t, d, s, true, false);
  }

  void plan_scratch() {
    const std::int64_t bytes = element_bytes();
    q_room_ = scratch_.add(q_.elements() * bytes);
    k_room_ = scratch_.add(k_.elements() * bytes);
    v_room_ = scratch_.add(v_.elements() * bytes);
    o_room_ = scratch_.add(o_.elements() * bytes);
    p_room_ = scratch_.add(score_elements() * bytes);
    if (facts().is_training)
      gradient_room_ =
          scratch_.add(std::max({q_.elements(), k_.elements(), v_.elements()}) * bytes);
  }
  void* room(const NodeMemory& memory, std::int64_t at) const {
    return static_cast<char*>(memory.scratch) + at;
  }

  void split(void* to, const void* from, const Heads& heads) const {
    copy_strided(to, from, element_bytes(), heads.split(), stream());
  }
  /// Heads together again; what was written out several times is added.
  void join(void* to, const void* from, const Heads& heads) const {
    StridedAxes axes = heads.split();
    if (heads.repeats == 1) {
      std::swap(axes.strides[0], axes.strides[1]);
      return copy_strided(to, from, element_bytes(), axes, stream());
    }
    const std::vector<std::int64_t>& apart = axes.strides[0];
    const StridedAxes kept{{heads.batch, heads.length, heads.heads, heads.width},
                           {{apart[0], apart[3], apart[1], apart[4]}}};
    const StridedAxes repeated{{heads.repeats}, {{apart[2]}}};
    reduce(ReduceKind::sum, to, from, rows_.dtype, kept, repeated, stream());
  }

  void forward(const NodeMemory& memory) const {
    void* const p = facts().is_training ? memory.saved : room(memory, p_room_);
    split(room(memory, q_room_), memory.inputs[query_input], q_);
    split(room(memory, k_room_), memory.inputs[key_input], k_);
    split(room(memory, v_room_), memory.inputs[value_input], v_);
    scores_->run(room(memory, q_room_), room(memory, k_room_), p);
    AttentionRows rows = rows_;
    if (has_mask()) rows.mask = memory.inputs[mask_input];
    attention_softmax(rows, p, stream());
    mixed_->run(p, room(memory, v_room_), room(memory, o_room_));
    join(memory.outputs[0], room(memory, o_room_), o_);
  }

  void backward(const NodeMemory& memory) const {
    void* const d_out = room(memory, o_room_);
    void* const ds = room(memory, p_room_);
    void* const gradient = room(memory, gradient_room_);
    split(d_out, memory.output_gradients[0], o_);
    if (makes(memory, value_input)) {
      value_gradient_->run(memory.saved, d_out, gradient);
      join(memory.input_gradients[value_input], gradient, v_);
    }
    const bool makes_mask = has_mask() && makes(memory, mask_input);
    const bool makes_scores = makes(memory, query_input) || makes(memory, key_input);
    if (!makes_mask && !makes_scores) return;
    split(room(memory, v_room_), memory.inputs[value_input], v_);
    if (makes_mask) {  // it is added after the scale, so that its gradient has none
      probability_gradient_->run(d_out, room(memory, v_room_), ds);
      attention_softmax_gradient(rows_, ds, memory.saved, false, stream());
      sum_mask_gradient(memory.input_gradients[mask_input], ds);
    }
    if (!makes_scores) return;
    probability_gradient_->run(d_out, room(memory, v_room_), ds);
    attention_softmax_gradient(rows_, ds, memory.saved, true, stream());
    if (makes(memory, query_input)) {
      split(room(memory, k_room_), memory.inputs[key_input], k_);
      query_gradient_->run(ds, room(memory, k_room_), gradient);
      join(memory.input_gradients[query_input], gradient, q_);
    }
    if (makes(memory, key_input)) {
      split(room(memory, q_room_), memory.inputs[query_input], q_);
      key_gradient_->run(ds, room(memory, q_room_), gradient);
      join(memory.input_gradients[key_input], gradient, k_);
    }
  }

  void sum_mask_gradient(void* to, const void* ds) const {
    StridedAxes kept, repeated;
    kept.strides.resize(1);
    repeated.strides.resize(1);
    const std::vector<std::int64_t> whole = dense_strides(mask_shape_);
    for (std::size_t axis = 0; axis < 4; ++axis) {
      StridedAxes& part = rows_.mask_strides[axis] == 0 ? repeated : kept;
      part.extents.push_back(mask_shape_[axis]);
      part.strides[0].push_back(whole[axis]);
    }
    reduce(ReduceKind::sum, to, ds, rows_.dtype, kept, repeated, stream());
  }

  Heads q_{}, k_{}, v_{}, o_{};
  AttentionRows rows_;
  std::vector<std::int64_t> mask_shape_;
  Scratch scratch_;
  std::int64_t q_room_ = 0, k_room_ = 0, v_room_ = 0, o_room_ = 0, p_room_ = 0, gradient_room_ = 0;
  SharedProduct scores_, mixed_, probability_gradient_, value_gradient_, query_gradient_,
      key_gradient_;
};

}  // namespace

KernelsOrReason make_kernels(const Attention& op, const NodeFacts& facts) {
  if (!facts.context->products) return NoKernels{facts.context->no_products};
  for (const BoundTensor& in : facts.inputs) {
    if (in.dtype != facts.inputs[0].dtype)
      return NoKernels{"queries, keys, values and mask of different types"};
  }
  return std::make_unique<AttentionNode>(facts, op);
}

}  // namespace strata::cuda::train
