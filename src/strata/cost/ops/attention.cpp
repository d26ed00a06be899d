// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/sheet.hpp"

#include <algorithm>

namespace strata {
namespace {

constexpr std::size_t query = 0, key = 1, value = 2, mask = 3;

struct AttentionSizes {
  Count pairs;  // (sample, head, query, key) in which the query sees the key
  Count rows;   // (sample, head, query) in which the query sees any key
  std::int64_t key_width;
  std::int64_t value_width;
  bool has_mask;
};

// Query i of S sees key j of T when j ≤ i + T − S: the last query sees all keys, and of S > T
// queries the first S − T see none.
AttentionSizes sizes_of(const Attention& op, const CostSheet& sheet) {
  const BoundTensor& q = sheet.input(query);
  const std::int64_t queries = q[1];
  const std::int64_t keys = sheet.input(key)[1];
  const Count heads = Count(q[0]) * op.heads;
  const std::int64_t seeing = op.causal ? std::min(queries, keys) : queries;
  const Count unseen = op.causal ? (Count(seeing) * (seeing - 1)).value() / 2 : 0;
  return {heads * (Count(seeing) * keys - unseen), heads * seeing, q[2] / op.heads,
          sheet.output()[2] / op.heads, sheet.input_count() > mask};
}

// The gradients that one of the two backward passes computes. Each pass makes its own scores, so
// inputs learnt directly (queries of a latent transformer, a table of position biases) do not hang
// on the other pass.
void write_gradients(CostSheet& sheet, const AttentionSizes& n, PassSheet pass,
                     bool of_parameters) {
  const auto wants = [&](std::size_t input) {
    return sheet.wants_gradient(input) && sheet.is_parameter(input) == of_parameters;
  };
  const bool wants_scores = wants(query) || wants(key) || wants(mask);
  if (!wants_scores && !wants(value)) return;

  pass.reads_output_gradient().reads_input(query).reads_input(key).reads_saved(0);
  if (n.has_mask) pass.reads_input(mask);
  pass.add_mac(n.pairs * n.key_width)
      .add_flop(n.pairs * (n.has_mask ? 4 : 3));  // P = exp(Q Kᵀ·scale (+ mask) − L)
  if (wants_scores) {
    pass.reads_input(value).reads_output();
    pass.add_flop(n.rows * n.value_width * 2);                    // D = Σ dO∘O per row
    pass.add_mac(n.pairs * n.value_width).add_flop(n.pairs * 2);  // dS = P∘(dO Vᵀ − D)
  }
  if (wants(query) || wants(key)) pass.add_flop(n.pairs);                        // dS·scale
  if (wants(query)) sheet.gradient_of(query)->add_mac(n.pairs * n.key_width);    // dQ = dS K
  if (wants(key)) sheet.gradient_of(key)->add_mac(n.pairs * n.key_width);        // dK = dSᵀ Q
  if (wants(value)) sheet.gradient_of(value)->add_mac(n.pairs * n.value_width);  // dV = Pᵀ dO
  if (wants(mask)) sheet.gradient_of(mask)->add_flop(n.pairs);                   // dM = Σ dS
}

}  // namespace

// The fused form (Dao et al., "FlashAttention", 2022): scores never reach memory. Per pair of a
// query and a key it sees,
//   forward   Q Kᵀ (d MAC), ·scale, (+ mask), max, −max, exp, sum: 5 or 6 FLOP; P V (dv MAC)
//             per row, O/sum (dv) and the log-sum-exp L = max + log sum (2), which is kept
//   backward  makes the scores again from Q, K and L: five products instead of four
void write_cost(const Attention& op, CostSheet& sheet) {
  const AttentionSizes n = sizes_of(op, sheet);
  sheet.forward_of_all()
      .add_mac(n.pairs * (n.key_width + Count(n.value_width)))
      .add_flop(n.pairs * (n.has_mask ? 6 : 5))
      .add_flop(n.rows * (n.value_width + Count(2)));
  if (!sheet.has_backward()) return;

  const BoundTensor& q = sheet.input(query);
  sheet.save("statistics", Count(q[0]) * op.heads * q[1] * statistic_bytes(q.dtype));
  write_gradients(sheet, n, sheet.backward_input(), false);
  write_gradients(sheet, n, sheet.backward_weight(), true);
}

// (a, b) → (a cos − b sin, a sin + b cos): 6 FLOP per pair of features, and the same with the angle
// reversed for the gradient.
void write_cost(const RotaryEmbedding&, CostSheet& sheet) {
  const Count flop = Count(sheet.input(0).elements) * 3;
  const std::size_t cosine = sheet.first_own();
  const std::size_t sine = cosine + 1;
  sheet.forward_of_all().add_flop(flop);
  if (auto dx = sheet.gradient_of(0)) {
    dx->reads_output_gradient().reads_input(cosine).reads_input(sine).add_flop(flop);
  }
}

}  // namespace strata
