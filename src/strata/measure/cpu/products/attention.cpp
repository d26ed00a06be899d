// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/vector_loops.hpp"
#include "strata/measure/cpu/loops/walk.hpp"
#include "strata/measure/cpu/products/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace strata::cpu_training {
namespace {

/// Rows of scores are made for a block of queries at a time and never stored; backward makes them
/// again.
struct AttentionPlan {
  std::int64_t batch = 0, queries = 0, keys = 0, heads = 0, kv_heads = 0;
  std::int64_t width = 0, value_width = 0;  // of one head
  bool is_causal = false;
  bool has_mask = false;
  Sizes mask_strides;  // along batch, heads, queries, keys

  /// Queries at a time: shared evenly, as a block of few takes almost as long as one of many.
  static constexpr std::int64_t most_at_once = 96, panel = 4;
  std::int64_t block() const {
    const std::int64_t blocks = (queries + most_at_once - 1) / most_at_once;
    return ((queries + blocks - 1) / blocks + panel - 1) / panel * panel;
  }
  std::int64_t blocks() const { return (queries + block() - 1) / block(); }
  std::int64_t q_step() const { return heads * width; }
  std::int64_t k_step() const { return kv_heads * width; }
  std::int64_t v_step() const { return kv_heads * value_width; }
  std::int64_t y_step() const { return heads * value_width; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(width)); }
  std::int64_t q_at(std::int64_t n, std::int64_t head, std::int64_t query) const {
    return (n * queries + query) * q_step() + head * width;
  }
  std::int64_t y_at(std::int64_t n, std::int64_t head, std::int64_t query) const {
    return (n * queries + query) * y_step() + head * value_width;
  }
  std::int64_t kv_of(std::int64_t head) const { return head / (heads / kv_heads); }
  std::int64_t k_at(std::int64_t n, std::int64_t head) const {
    return n * keys * k_step() + kv_of(head) * width;
  }
  std::int64_t v_at(std::int64_t n, std::int64_t head) const {
    return n * keys * v_step() + kv_of(head) * value_width;
  }
  /// How many keys a query sees.
  std::int64_t visible(std::int64_t query) const {
    if (!is_causal) return keys;
    return std::clamp<std::int64_t>(query + keys - queries + 1, 0, keys);
  }
};

/// Some queries of one head, and the first keys, of which none of them sees more.
struct QueryBlock {
  std::int64_t n, head, first, count, keys;

  QueryBlock(const AttentionPlan& plan, std::int64_t sample, std::int64_t of_head,
             std::int64_t number)
      : n(sample),
        head(of_head),
        first(number * plan.block()),
        count(std::min(plan.block(), plan.queries - first)),
        keys(plan.visible(first + count - 1)) {}
};

/// softmax of the scores of a block; [count, keys].
template <class T>
void probabilities(const AttentionPlan& plan, const NodeMemory& m, const QueryBlock& of, T* p) {
  multiply(Product<T>{.m = of.count,
                      .n = of.keys,
                      .k = plan.width,
                      .a = real<T>(m.inputs[0]) + plan.q_at(of.n, of.head, of.first),
                      .a_step = plan.q_step(),
                      .b = real<T>(m.inputs[1]) + plan.k_at(of.n, of.head),
                      .b_step = plan.k_step(),
                      .b_is_turned = true,
                      .result = p,
                      .result_step = of.keys,
                      .alpha = static_cast<T>(plan.scale())});
  const VectorLoops<T>& loops = vector_loops<T>();
  for (std::int64_t i = 0; i < of.count; ++i) {
    T* const row = p + i * of.keys;
    const std::int64_t query = of.first + i, seen = plan.visible(query);
    if (plan.has_mask) {
      const Sizes& strides = plan.mask_strides;
      const T* const mask =
          real<T>(m.inputs[3]) + of.n * strides[0] + of.head * strides[1] + query * strides[2];
      for (std::int64_t j = 0; j < seen; ++j) row[j] += mask[j * strides[3]];
    }
    const T sum = seen == 0 ? T(1) : loops.exp_shifted(row, loops.maximum(row, seen), row, seen);
    const T factor = T(1) / sum;
    for (std::int64_t j = 0; j < seen; ++j) row[j] *= factor;
    std::fill(row + seen, row + of.keys, T(0));
  }
}

template <class T>
void attention_forward(const AttentionPlan& plan, const Workers& workers, const NodeMemory& m) {
  workers.ranges(plan.batch * plan.heads * plan.blocks(), 1, [&](auto begin, auto end) {
    std::vector<T> p(static_cast<std::size_t>(plan.block() * plan.keys));
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const QueryBlock of(plan, unit / plan.blocks() / plan.heads,
                          unit / plan.blocks() % plan.heads, unit % plan.blocks());
      probabilities<T>(plan, m, of, p.data());
      multiply(Product<T>{.m = of.count,
                          .n = plan.value_width,
                          .k = of.keys,
                          .a = p.data(),
                          .a_step = of.keys,
                          .b = real<T>(m.inputs[2]) + plan.v_at(of.n, of.head),
                          .b_step = plan.v_step(),
                          .result = real<T>(m.outputs[0]) + plan.y_at(of.n, of.head, of.first),
                          .result_step = plan.y_step()});
    }
  });
}

/// The gradients of one block of queries. `is_first` for the first block that reaches the keys and
/// values of a kv head, which sees them all: it sets, the others add.
template <class T>
struct BlockGradient {
  const AttentionPlan& plan;
  const NodeMemory& m;
  const QueryBlock& of;
  bool is_first;
  T* p;  // room for probabilities and for the gradient of scores
  T* ds;

  void run() const {
    probabilities<T>(plan, m, of, p);
    const T* const dy = real<T>(m.output_gradients[0]) + plan.y_at(of.n, of.head, of.first);
    if (T* const dv = real<T>(m.input_gradients[2])) {
      to_keys(p, plan.value_width, dy, plan.y_step(), dv + plan.v_at(of.n, of.head), plan.v_step(),
              T(1));
    }
    multiply(Product<T>{.m = of.count,
                        .n = of.keys,
                        .k = plan.value_width,
                        .a = dy,
                        .a_step = plan.y_step(),
                        .b = real<T>(m.inputs[2]) + plan.v_at(of.n, of.head),
                        .b_step = plan.v_step(),
                        .b_is_turned = true,
                        .result = ds,
                        .result_step = of.keys});
    through_softmax();
    const T scale = static_cast<T>(plan.scale());
    if (T* const dq = real<T>(m.input_gradients[0])) {
      multiply(Product<T>{.m = of.count,
                          .n = plan.width,
                          .k = of.keys,
                          .a = ds,
                          .a_step = of.keys,
                          .b = real<T>(m.inputs[1]) + plan.k_at(of.n, of.head),
                          .b_step = plan.k_step(),
                          .result = dq + plan.q_at(of.n, of.head, of.first),
                          .result_step = plan.q_step(),
                          .alpha = scale});
    }
    if (T* const dk = real<T>(m.input_gradients[1])) {
      to_keys(ds, plan.width, real<T>(m.inputs[0]) + plan.q_at(of.n, of.head, of.first),
              plan.q_step(), dk + plan.k_at(of.n, of.head), plan.k_step(), scale);
    }
    if (plan.has_mask && m.input_gradients[3] != nullptr) add_mask_gradient();
  }

 private:
  /// result[keys, width] (+)= alpha · scoresᵀ · rows
  void to_keys(const T* scores, std::int64_t width, const T* rows, std::int64_t step, T* result,
               std::int64_t result_step, T alpha) const {
    multiply(Product<T>{.m = of.keys,
                        .n = width,
                        .k = of.count,
                        .a = scores,
                        .a_step = of.keys,
                        .a_is_turned = true,
                        .b = rows,
                        .b_step = step,
                        .result = result,
                        .result_step = result_step,
                        .adds = !is_first,
                        .alpha = alpha});
  }

  /// ds = p (dp − Σ p dp)
  void through_softmax() const {
    for (std::int64_t i = 0; i < of.count; ++i) {
      T *const row = ds + i * of.keys, *const powers = p + i * of.keys;
      const T sum = vector_loops<T>().dot(row, powers, of.keys);
      for (std::int64_t j = 0; j < of.keys; ++j) row[j] = powers[j] * (row[j] - sum);
    }
  }

  void add_mask_gradient() const {
    const Sizes& strides = plan.mask_strides;
    for (std::int64_t i = 0; i < of.count; ++i) {
      T* const to = real<T>(m.input_gradients[3]) + of.n * strides[0] + of.head * strides[1] +
                    (of.first + i) * strides[2];
      for (std::int64_t j = 0; j < of.keys; ++j) to[j * strides[3]] += ds[i * of.keys + j];
    }
  }
};

template <class T>
void attention_backward(const AttentionPlan& plan, const Workers& workers,
                        std::int64_t mask_elements, const NodeMemory& m) {
  const std::int64_t share = plan.heads / plan.kv_heads;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> room(static_cast<std::size_t>(2 * plan.block() * plan.keys));
    for (std::int64_t unit = begin; unit < end; ++unit) {
      for (std::int64_t part = 0; part < share * plan.blocks(); ++part) {
        // From the last queries on, which see all keys.
        const QueryBlock of(plan, unit / plan.kv_heads,
                            unit % plan.kv_heads * share + part / plan.blocks(),
                            plan.blocks() - 1 - part % plan.blocks());
        BlockGradient<T>{plan,      m,           of,
                         part == 0, room.data(), room.data() + plan.block() * plan.keys}
            .run();
      }
    }
  };
  if (plan.has_mask && m.input_gradients[3] != nullptr) {
    // Heads and samples may share a mask, so its gradient is added up by one thread.
    T* const d_mask = real<T>(m.input_gradients[3]);
    std::fill(d_mask, d_mask + mask_elements, T(0));
    run(0, plan.batch * plan.kv_heads);
  } else {
    workers.ranges(plan.batch * plan.kv_heads, 1, run);
  }
}

}  // namespace

KernelsOrReason make_kernels(const Attention& op, const Setting& s) {
  AttentionPlan plan{.batch = s.input(0)[0],
                     .queries = s.input(0)[1],
                     .keys = s.input(1)[1],
                     .heads = op.heads,
                     .kv_heads = op.kv_heads == 0 ? op.heads : op.kv_heads,
                     .is_causal = op.causal,
                     .has_mask = s.input_count() == 4};
  plan.width = s.input(0)[2] / plan.heads;
  plan.value_width = s.input(2)[2] / plan.kv_heads;
  std::int64_t mask_elements = 0;
  if (plan.has_mask) {
    if (!is_floating(s.input(3).dtype)) return NoKernels{"a mask that is not added"};
    plan.mask_strides =
        broadcast_strides(s.input(3).shape, {plan.batch, plan.heads, plan.queries, plan.keys});
    mask_elements = s.input(3).elements;
  }
  return with_real(s.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    const Workers& workers = s.workers;
    return kernels_by(
        {[=, &workers](const NodeMemory& m) { attention_forward<T>(plan, workers, m); },
         [=, &workers](const NodeMemory& m) {
           attention_backward<T>(plan, workers, mask_elements, m);
         },
         {.inputs = true},
         [is_fp64 = s.input().dtype == DType::fp64](Pass) { return product_name(is_fp64); }},
        s);
  });
}

}  // namespace strata::cpu_training
