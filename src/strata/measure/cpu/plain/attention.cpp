// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/attention_shape.hpp"
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/causal_mask.hpp"
#include "strata/measure/cpu/plain/loops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata::cpu_training::plain {
namespace {

/// Where a head's row of features begins.
struct AttentionPlaces {
  AttentionShape shape;
  Sizes mask_strides;  // along batch, heads, queries, keys

  std::int64_t q(std::int64_t n, std::int64_t head, std::int64_t query) const {
    return ((n * shape.queries + query) * shape.heads + head) * shape.width;
  }
  std::int64_t y(std::int64_t n, std::int64_t head, std::int64_t query) const {
    return ((n * shape.queries + query) * shape.heads + head) * shape.value_width;
  }
  std::int64_t k(std::int64_t n, std::int64_t kv, std::int64_t key) const {
    return ((n * shape.keys + key) * shape.kv_heads + kv) * shape.width;
  }
  std::int64_t v(std::int64_t n, std::int64_t kv, std::int64_t key) const {
    return ((n * shape.keys + key) * shape.kv_heads + kv) * shape.value_width;
  }
  std::int64_t mask(std::int64_t n, std::int64_t head, std::int64_t query) const {
    return n * mask_strides[0] + head * mask_strides[1] + query * mask_strides[2];
  }
};

template <class T>
T dot(const T* a, const T* b, std::int64_t count) {
  T sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

template <class T>
void add_scaled(const T* x, T factor, T* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += factor * x[i];
}

/// p = softmax of the scores that are visible, 0 for the others.
template <class T>
void softmax_of_visible(T* p, std::int64_t visible, std::int64_t keys) {
  std::fill(p + visible, p + keys, T(0));
  if (visible == 0) return;
  const T most = *std::max_element(p, p + visible);
  T sum = 0;
  for (std::int64_t j = 0; j < visible; ++j) sum += p[j] = std::exp(p[j] - most);
  for (std::int64_t j = 0; j < visible; ++j) p[j] /= sum;
}

/// Calls row(n, head, query, index of the row) for every row of scores, on all threads.
template <class Row>
void for_each_score_row(const AttentionShape& s, const Row& row) {
  parallel_for(s.score_rows(), s.keys * (s.width + s.value_width), [&](std::int64_t index) {
    row(index / s.queries / s.heads, index / s.queries % s.heads, index % s.queries, index);
  });
}

/// Leaves the probabilities in p, [N, heads, queries, keys].
template <class T>
void attention_forward(const AttentionPlaces& at, const NodeMemory& m, T* p) {
  const AttentionShape& s = at.shape;
  const T *const q = numbers<T>(m.inputs[0]), *const k = numbers<T>(m.inputs[1]);
  const T* const v = numbers<T>(m.inputs[2]);
  const T* const mask = s.has_mask ? numbers<T>(m.inputs[3]) : nullptr;
  const T scale = static_cast<T>(s.scale());
  for_each_score_row(s, [&](auto n, auto head, auto query, auto index) {
    const std::int64_t kv = head / s.heads_per_kv(), visible = s.visible(query);
    T* const row = p + index * s.keys;
    for (std::int64_t j = 0; j < visible; ++j) {
      row[j] = scale * dot(q + at.q(n, head, query), k + at.k(n, kv, j), s.width);
      if (mask != nullptr) row[j] += mask[at.mask(n, head, query) + j * at.mask_strides[3]];
    }
    softmax_of_visible(row, visible, s.keys);
    T* const y = numbers<T>(m.outputs[0]) + at.y(n, head, query);
    std::fill_n(y, s.value_width, T(0));
    for (std::int64_t j = 0; j < visible; ++j) {
      add_scaled(v + at.v(n, kv, j), row[j], y, s.value_width);
    }
  });
}

/// ds = p (dp − Σ p dp) with dp = dY Vᵀ, and the gradient of the queries.
template <class T>
void score_gradients(const AttentionPlaces& at, const NodeMemory& m, const T* p, T* ds) {
  const AttentionShape& s = at.shape;
  const T *const k = numbers<T>(m.inputs[1]), *const v = numbers<T>(m.inputs[2]);
  const T* const dy = numbers<T>(m.output_gradients[0]);
  T* const dq = numbers<T>(m.input_gradients[0]);
  const T scale = static_cast<T>(s.scale());
  for_each_score_row(s, [&](auto n, auto head, auto query, auto index) {
    const std::int64_t kv = head / s.heads_per_kv();
    const T* const of_row = p + index * s.keys;
    T* const row = ds + index * s.keys;
    for (std::int64_t j = 0; j < s.keys; ++j) {
      row[j] = dot(dy + at.y(n, head, query), v + at.v(n, kv, j), s.value_width);
    }
    const T sum = dot(of_row, row, s.keys);
    for (std::int64_t j = 0; j < s.keys; ++j) row[j] = of_row[j] * (row[j] - sum);
    if (dq == nullptr) return;
    T* const to = dq + at.q(n, head, query);
    std::fill_n(to, s.width, T(0));
    for (std::int64_t j = 0; j < s.keys; ++j) {
      add_scaled(k + at.k(n, kv, j), scale * row[j], to, s.width);
    }
  });
}

/// The gradients of keys and values: every query of every head that shares them adds to them.
template <class T>
void key_gradients(const AttentionPlaces& at, const NodeMemory& m, const T* p, const T* ds) {
  const AttentionShape& s = at.shape;
  const T *const q = numbers<T>(m.inputs[0]), *const dy = numbers<T>(m.output_gradients[0]);
  T *const dk = numbers<T>(m.input_gradients[1]), *const dv = numbers<T>(m.input_gradients[2]);
  const T scale = static_cast<T>(s.scale());
  const std::int64_t work = s.heads_per_kv() * s.queries * (s.width + s.value_width);
  parallel_for(s.batch * s.kv_heads * s.keys, work, [&](std::int64_t index) {
    const std::int64_t n = index / s.keys / s.kv_heads, kv = index / s.keys % s.kv_heads;
    const std::int64_t j = index % s.keys;
    T* const to_k = dk != nullptr ? dk + at.k(n, kv, j) : nullptr;
    T* const to_v = dv != nullptr ? dv + at.v(n, kv, j) : nullptr;
    if (to_k != nullptr) std::fill_n(to_k, s.width, T(0));
    if (to_v != nullptr) std::fill_n(to_v, s.value_width, T(0));
    for (std::int64_t head = kv * s.heads_per_kv(); head < (kv + 1) * s.heads_per_kv(); ++head) {
      for (std::int64_t i = 0; i < s.queries; ++i) {
        const std::int64_t score = ((n * s.heads + head) * s.queries + i) * s.keys + j;
        if (to_k != nullptr) add_scaled(q + at.q(n, head, i), scale * ds[score], to_k, s.width);
        if (to_v != nullptr) add_scaled(dy + at.y(n, head, i), p[score], to_v, s.value_width);
      }
    }
  });
}

/// Heads and samples may share a mask, so one thread adds up its gradient.
template <class T>
void mask_gradient(const AttentionPlaces& at, const T* ds, std::int64_t elements, T* d_mask) {
  const AttentionShape& s = at.shape;
  std::fill_n(d_mask, elements, T(0));
  for (std::int64_t index = 0; index < s.score_rows(); ++index) {
    const std::int64_t n = index / s.queries / s.heads, head = index / s.queries % s.heads;
    T* const to = d_mask + at.mask(n, head, index % s.queries);
    for (std::int64_t j = 0; j < s.keys; ++j) {
      to[j * at.mask_strides[3]] += ds[index * s.keys + j];
    }
  }
}

template <class T>
KernelPair attention_kernels(const AttentionPlaces& at, const NodeContext& context) {
  const bool keeps = context.wants_any();
  const std::int64_t bytes = at.shape.scores() * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t mask_elements = at.shape.has_mask ? context.input(3).elements : 0;
  return {.forward =
              [=](const NodeMemory& m) {
                attention_forward<T>(at, m, numbers<T>(keeps ? m.saved : m.scratch));
              },
          .backward =
              [=](const NodeMemory& m) {
                const T* const p = numbers<T>(m.saved);
                T* const ds = numbers<T>(m.scratch);
                score_gradients<T>(at, m, p, ds);
                if (m.input_gradients[1] != nullptr || m.input_gradients[2] != nullptr) {
                  key_gradients<T>(at, m, p, ds);
                }
                if (mask_elements > 0 && m.input_gradients[3] != nullptr) {
                  mask_gradient(at, ds, mask_elements, numbers<T>(m.input_gradients[3]));
                }
              },
          .needs = {.inputs = true, .saved_bytes = keeps ? bytes : 0, .scratch_bytes = bytes}};
}

}  // namespace

void hide_later_keys(const AttentionShape& shape, float* scores) {
  parallel_for(shape.score_rows(), shape.keys, [&](std::int64_t row) {
    float* const of_row = scores + row * shape.keys;
    std::fill(of_row + shape.visible(row % shape.queries), of_row + shape.keys,
              -std::numeric_limits<float>::infinity());
  });
}

KernelPairOrReason make_kernels(const Attention& op, const NodeContext& context) {
  AttentionPlaces at{.shape = AttentionShape(op, context), .mask_strides = {}};
  if (at.shape.has_mask) {
    if (!is_floating(context.input(3).dtype)) return NoKernels{"a mask that is not added"};
    at.mask_strides = broadcast_strides(
        context.input(3).shape, {at.shape.batch, at.shape.heads, at.shape.queries, at.shape.keys});
  }
  return with_real(context.input().dtype,
                   [&](auto zero) { return attention_kernels<decltype(zero)>(at, context); });
}

}  // namespace strata::cpu_training::plain
