// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/attention_shape.hpp"
#include "strata/measure/cpu/onednn/operators.hpp"
#include "strata/measure/cpu/onednn/products.hpp"
#include "strata/measure/cpu/plain/causal_mask.hpp"

namespace strata::cpu_training::onednn {
namespace {

/// Tensors as [N, kv head, query head of that kv head, rows, columns] where they lie.
struct AttentionLayouts {
  Layout q, k, v, y, scores, rows_of_scores, mask;

  AttentionLayouts(const AttentionShape& s, const NodeContext& context) {
    const std::int64_t share = s.heads_per_kv();
    const auto heads = [&](std::int64_t rows, std::int64_t width, std::int64_t per_kv) {
      const std::int64_t row = s.kv_heads * per_kv * width;  // all heads of a sample's row
      return strided({s.batch, s.kv_heads, per_kv, rows, width},
                     {rows * row, per_kv * width, width, row, 1});
    };
    q = heads(s.queries, s.width, share);
    k = heads(s.keys, s.width, 1);
    v = heads(s.keys, s.value_width, 1);
    y = heads(s.queries, s.value_width, share);
    scores = dense({s.batch, s.kv_heads, share, s.queries, s.keys});
    rows_of_scores = dense({s.score_rows(), s.keys});
    if (!s.has_mask) return;
    Dims dims = dims_of(context.input(3));  // broadcasts to [N, heads, queries, keys]
    dims.insert(dims.begin(), 4 - dims.size(), 1);
    if (dims[1] == 1) {
      dims.insert(dims.begin() + 1, 1);
    } else {
      dims[1] = s.kv_heads;
      dims.insert(dims.begin() + 2, share);
    }
    mask = dense(dims);
  }
};

dnnl::softmax_v2_forward::primitive_desc softmax_of(const Layout& rows) {
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::softmax_accurate, rows, rows, 1},
          attributes(),
          cpu_engine()};
}

/// softmax(Q Kᵀ · scale + mask) V, as its parts; the probabilities are in p afterwards.
Computation attention_forward(const AttentionShape& s, const AttentionLayouts& l, bool keeps) {
  Computation forward;
  const Tensor scores{keeps ? saved(0) : forward.scratch(l.scores).place, l.scores};
  const Tensor p{scores.place, l.rows_of_scores};
  add_product(forward, {input(0), l.q}, transposed({input(1), l.k}), scores,
              static_cast<float>(s.scale()));
  if (s.has_mask) {
    forward.add(
        dnnl::binary::primitive_desc({dnnl::algorithm::binary_add, l.scores, l.mask, l.scores},
                                     attributes(), cpu_engine()),
        {{DNNL_ARG_SRC_0, scores}, {DNNL_ARG_SRC_1, {input(3), l.mask}}}, {{DNNL_ARG_DST, scores}});
  }
  if (s.is_causal) {
    forward.add_step([s, place = scores.place](const NodeMemory& m) {
      plain::hide_later_keys(s, static_cast<float*>(place.in(m)));
    });
  }
  forward.add(softmax_of(l.rows_of_scores), {{DNNL_ARG_SRC, p}}, {{DNNL_ARG_DST, p}});
  add_product(forward, scores, {input(2), l.v}, {output(0), l.y});
  return forward;
}

/// The gradient of the scores, dS = softmax' (dY Vᵀ), which all but the values' gradient need.
Tensor add_score_gradient(Computation& to, const AttentionLayouts& l) {
  const Tensor p{saved(0), l.rows_of_scores};
  const Tensor d_scores = to.scratch(l.scores);
  const Tensor d_rows{d_scores.place, l.rows_of_scores};
  add_product(to, {output_gradient(0), l.y}, transposed({input(2), l.v}), d_scores);
  to.add(dnnl::softmax_v2_backward::primitive_desc(
             {dnnl::algorithm::softmax_accurate, l.rows_of_scores, l.rows_of_scores,
              l.rows_of_scores, 1},
             attributes(), cpu_engine(), softmax_of(l.rows_of_scores)),
         {{DNNL_ARG_DST, p}, {DNNL_ARG_DIFF_DST, d_rows}}, {{DNNL_ARG_DIFF_SRC, d_rows}});
  return d_scores;
}

}  // namespace

std::optional<KernelPair> make_kernels(const Attention& op, const NodeContext& context) {
  const AttentionShape s(op, context);
  if (s.is_causal && s.queries > s.keys) return std::nullopt;  // some queries see no key
  const AttentionLayouts l(s, context);
  const bool keeps = context.wants_any();
  const auto scale = static_cast<float>(s.scale());
  std::vector<Computation> backward;
  if (context.wants(2)) {
    add_product(backward.emplace_back(), transposed({saved(0), l.scores}),
                {output_gradient(0), l.y}, {input_gradient(2), l.v});
  }
  if (context.wants(0) || context.wants(1) || context.wants(3)) {
    // One computation, so that dS is made once.
    Computation& rest = backward.emplace_back();
    const Tensor d_scores = add_score_gradient(rest, l);
    if (context.wants(0)) {
      add_product(rest, d_scores, {input(1), l.k}, {input_gradient(0), l.q}, scale);
    }
    if (context.wants(1)) {
      add_product(rest, transposed(d_scores), {input(0), l.q}, {input_gradient(1), l.k}, scale);
    }
    if (context.wants(3)) add_sum(rest, d_scores, {input_gradient(3), l.mask});
  }
  const bool is_learnt_mask = context.wants(3) && context.is_parameter(3);
  const std::int64_t probabilities = s.scores() * static_cast<std::int64_t>(sizeof(float));
  return pair_of(
      attention_forward(s, l, keeps), std::move(backward),
      {.inputs = true, .saved_bytes = keeps ? probabilities : 0, .backward_is_one = is_learnt_mask},
      context);
}

}  // namespace strata::cpu_training::onednn
