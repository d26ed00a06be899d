// SPDX-License-Identifier: Apache-2.0
// Attention by batched products and a softmax between them. Heads are copied one after the other
// first, so that all of a batch are one call; keys and values that several heads share are written
// out, and their gradients added.
#include "strata/measure/cuda/kernels/movement.cuh"
#include "strata/measure/cuda/kernels/reduce.cuh"
#include "strata/measure/cuda/kernels/softmax.cuh"
#include "strata/measure/cuda/node.cuh"
#include "strata/measure/cuda/operators/attention.cuh"

#include <fmt/format.h>

#include <algorithm>

namespace strata::cuda::train {
namespace {

using SharedProduct = std::shared_ptr<const MatrixProduct>;
constexpr std::size_t query_gradient = 0, key_gradient = 1, value_gradient = 2, mask_gradient = 3;

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
  /// Heads together, summed over the repetitions.
  Reduction sum() const {
    const std::vector<std::int64_t> apart = split().strides[0];
    return Reduction(
        StridedAxes{{batch, length, heads, width}, {{apart[0], apart[3], apart[1], apart[4]}}},
        StridedAxes{{repeats}, {{apart[2]}}});
  }
};

class ProductAttention final : public AttentionKernels {
 public:
  ProductAttention(const TrainingContext& context, const AttentionShape& shape)
      : shape_(shape),
        stream_(context.stream()),
        q_{shape.batch, shape.queries, shape.heads, 1, shape.width},
        k_{shape.batch, shape.keys, shape.kv_heads, shape.repeats(), shape.width},
        v_{shape.batch, shape.keys, shape.kv_heads, shape.repeats(), shape.value_width},
        o_{shape.batch, shape.queries, shape.heads, 1, shape.value_width} {
    rows_.batch = shape.batch;
    rows_.heads = shape.heads;
    rows_.queries = shape.queries;
    rows_.keys = shape.keys;
    rows_.scale = shape.scale();
    rows_.is_causal = shape.is_causal;
    rows_.dtype = shape.dtype;
    std::copy(shape.mask_strides.begin(), shape.mask_strides.end(), rows_.mask_strides);
    make_products(*context.products);
    plan_scratch();
  }

  std::string name() const override {
    return fmt::format("{}, softmax by a strata kernel", scores_->name());
  }

  AttentionNeeds needs() const override {
    return {.saved_bytes = shape_.is_training ? shape_.scores() * element_bytes() : 0,
            .scratch_bytes = scratch_.bytes()};
  }

  void forward(const AttentionMemory& m) override {
    void* const p = shape_.is_training ? m.saved : room(m, p_room_);
    split(room(m, q_room_), m.q, q_);
    split(room(m, k_room_), m.k, k_);
    split(room(m, v_room_), m.v, v_);
    scores_->run(room(m, q_room_), room(m, k_room_), p);
    AttentionRows rows = rows_;
    rows.mask = m.mask;
    attention_softmax(rows, p, stream_);
    mixed_->run(p, room(m, v_room_), room(m, o_room_));
    join(m, m.output, room(m, o_room_), o_);
  }

  void backward(const AttentionMemory& m) override {
    void* const d_out = room(m, o_room_);
    void* const ds = room(m, p_room_);
    void* const gradient = room(m, gradient_room_);
    const auto& made = m.gradients;
    split(d_out, m.output_gradient, o_);
    if (made[value_gradient] != nullptr) {
      value_gradient_->run(m.saved, d_out, gradient);
      join(m, made[value_gradient], gradient, v_);
    }
    const bool makes_scores = made[query_gradient] != nullptr || made[key_gradient] != nullptr;
    if (made[mask_gradient] == nullptr && !makes_scores) return;
    split(room(m, v_room_), m.v, v_);
    if (made[mask_gradient] != nullptr) {  // added after the scale: its gradient has none
      probability_gradient_->run(d_out, room(m, v_room_), ds);
      attention_softmax_gradient(rows_, ds, m.saved, false, stream_);
      reduce({.dtype = shape_.dtype}, made[mask_gradient], ds, nullptr, mask_sum(),
             room(m, sums_room_), stream_);
    }
    if (!makes_scores) return;
    probability_gradient_->run(d_out, room(m, v_room_), ds);
    attention_softmax_gradient(rows_, ds, m.saved, true, stream_);
    if (made[query_gradient] != nullptr) {
      split(room(m, k_room_), m.k, k_);
      query_gradient_->run(ds, room(m, k_room_), gradient);
      join(m, made[query_gradient], gradient, q_);
    }
    if (made[key_gradient] != nullptr) {
      split(room(m, q_room_), m.q, q_);
      key_gradient_->run(ds, room(m, q_room_), gradient);
      join(m, made[key_gradient], gradient, k_);
    }
  }

 private:
  std::int64_t element_bytes() const { return bytes_per_element(shape_.dtype); }

  void make_products(MatrixProducts& products) {
    const std::int64_t s = shape_.queries, t = shape_.keys, d = shape_.width,
                       e = shape_.value_width;
    const auto make = [&](std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb) {
      ProductShape one = product_of(shape_.dtype, m, n, k, ta, tb);
      one.batch = shape_.batch * shape_.heads;
      one.a_matrix = m * k;
      one.b_matrix = k * n;
      one.c_matrix = m * n;
      return products.product(one);
    };
    scores_ = make(s, t, d, false, true);
    mixed_ = make(s, e, t, false, false);
    if (!shape_.is_training) return;
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
    p_room_ = scratch_.add(shape_.scores() * bytes);
    if (!shape_.is_training) return;
    gradient_room_ = scratch_.add(std::max({q_.elements(), k_.elements(), v_.elements()}) * bytes);
    std::int64_t sums = mask_sum().scratch_bytes(shape_.dtype);
    for (const Heads& heads : {k_, v_})
      sums = std::max(sums, heads.sum().scratch_bytes(shape_.dtype));
    sums_room_ = scratch_.add(sums);
  }
  static void* room(const AttentionMemory& memory, std::int64_t at) {
    return static_cast<char*>(memory.scratch) + at;
  }

  void split(void* to, const void* from, const Heads& heads) const {
    copy_strided(to, from, element_bytes(), heads.split(), stream_);
  }
  /// Heads together again; what was written out several times is added.
  void join(const AttentionMemory& m, void* to, const void* from, const Heads& heads) const {
    StridedAxes axes = heads.split();
    if (heads.repeats == 1) {
      std::swap(axes.strides[0], axes.strides[1]);
      return copy_strided(to, from, element_bytes(), axes, stream_);
    }
    reduce({.dtype = shape_.dtype}, to, from, nullptr, heads.sum(), room(m, sums_room_), stream_);
  }

  /// Of the scores' gradient over the axes along which the mask is broadcast.
  Reduction mask_sum() const {
    const std::vector<std::int64_t> shape = {shape_.batch, shape_.heads, shape_.queries,
                                             shape_.keys};
    std::vector<bool> is_repeated;
    for (const std::int64_t stride : shape_.mask_strides) is_repeated.push_back(stride == 0);
    return Reduction(shape, is_repeated);
  }

  AttentionShape shape_;
  cudaStream_t stream_;
  Heads q_, k_, v_, o_;
  AttentionRows rows_;
  Scratch scratch_;
  std::int64_t q_room_ = 0, k_room_ = 0, v_room_ = 0, o_room_ = 0, p_room_ = 0, gradient_room_ = 0,
               sums_room_ = 0;
  SharedProduct scores_, mixed_, probability_gradient_, value_gradient_, query_gradient_,
      key_gradient_;
};

}  // namespace

AttentionOrReason make_product_attention(const TrainingContext& context,
                                         const AttentionShape& shape) {
  if (!context.products) return context.no_products;
  return std::make_unique<ProductAttention>(context, shape);
}

}  // namespace strata::cuda::train
