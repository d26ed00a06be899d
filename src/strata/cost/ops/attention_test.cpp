// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/naive_check_test.hpp"

#include <limits>

namespace strata::naive {
namespace {

/// softmax(Q Kᵀ·scale + mask) V per head, row by row; a row that sees no key is zero.
struct NaiveAttention {
  Attention op;

  template <class T>
  void forward(Run<T>& run) const {
    const std::size_t statistics =
        run.has_backward() ? run.save("statistics", rows(run), run.statistic_bytes()) : 0;
    Tensor<T>& out = run.output();
    for_each_index(rows(run), [&](const Index& row) {
      const std::int64_t keys = visible(run, row[2]);
      Buffer<T> score({std::max<std::int64_t>(keys, 1)});
      T most = -std::numeric_limits<double>::infinity();
      for (std::int64_t j = 0; j < keys; ++j) {
        score[{j}] = score_of(run, row, j);
        most = larger(most, score[{j}]);
      }
      T sum = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        score[{j}] = exp_of(score[{j}] - most);
        sum += score[{j}];
      }
      for (std::int64_t e = 0; e < value_width(run); ++e) {
        T mixed = 0;
        for (std::int64_t j = 0; j < keys; ++j)
          mixed = multiply_add(mixed, score[{j}], value(run, row, j, e));
        out.set(out_at(run, row, e), keys > 0 ? mixed / sum : mixed);
      }
      if (keys > 0) {
        const T log_sum_exp = most + log_of(sum);
        if (run.has_backward()) run.saved(statistics).set(row, log_sum_exp);
      } else if (run.has_backward()) {
        run.saved(statistics).set(row, T(0));
      }
    });
  }

  template <class T>
  void backward(Run<T>& run) const {
    const bool wants_scores = run.wants(0) || run.wants(1) || run.wants(3);
    if (!wants_scores && !run.wants(2)) return;
    std::vector<Buffer<T>> gradients;
    for (std::size_t i = 0; i < run.input_count(); ++i)
      gradients.emplace_back(run.input(i).shape());
    for_each_index(rows(run), [&](const Index& row) {
      const std::int64_t keys = visible(run, row[2]);
      if (keys == 0) return;
      T dot = 0;
      if (wants_scores) {
        for (std::int64_t e = 0; e < value_width(run); ++e) {
          dot += run.output_gradient()(out_at(run, row, e)) * run.output()(out_at(run, row, e));
        }
      }
      for (std::int64_t j = 0; j < keys; ++j)
        pair_gradients(run, row, j, wants_scores, dot, gradients);
    });
    for (std::size_t i = 0; i < run.input_count(); ++i) {
      if (run.wants(i)) run.input_gradient(i).set_all(gradients[i]);
    }
  }

 private:
  template <class T>
  void pair_gradients(Run<T>& run, const Index& row, std::int64_t j, bool wants_scores, T dot,
                      std::vector<Buffer<T>>& gradients) const {
    Tensor<T>& dout = run.output_gradient();
    const T p = exp_of(score_of(run, row, j) - run.saved(0)(row));
    if (run.wants(2)) {
      for (std::int64_t e = 0; e < value_width(run); ++e) {
        T& dv = gradients[2][value_at(run, row, j, e)];
        dv = multiply_add(dv, p, dout(out_at(run, row, e)));
      }
    }
    if (!wants_scores) return;
    T dp = 0;
    for (std::int64_t e = 0; e < value_width(run); ++e) {
      dp = multiply_add(dp, dout(out_at(run, row, e)), value(run, row, j, e));
    }
    const T ds = p * (dp - dot);
    if (run.wants(3)) gradients[3][joined(part(row, 0, 3), {j})] += ds;
    if (!run.wants(0) && !run.wants(1)) return;
    const T scaled = ds * scale(run);
    for (std::int64_t e = 0; e < key_width(run); ++e) {
      const Index q_at = query_at(run, row, e), k_at = key_at(run, row, j, e);
      if (run.wants(0))
        gradients[0][q_at] = multiply_add(gradients[0][q_at], scaled, run.input(1)(k_at));
      if (run.wants(1))
        gradients[1][k_at] = multiply_add(gradients[1][k_at], scaled, run.input(0)(q_at));
    }
  }

  std::int64_t kv_heads() const { return op.kv_heads == 0 ? op.heads : op.kv_heads; }
  template <class T>
  std::int64_t key_width(Run<T>& run) const {
    return run.input(0)[2] / op.heads;
  }
  template <class T>
  std::int64_t value_width(Run<T>& run) const {
    return run.input(2)[2] / kv_heads();
  }
  template <class T>
  T scale(Run<T>& run) const {
    return 1 / std::sqrt(static_cast<double>(key_width(run)));
  }
  /// sample, head, query
  template <class T>
  Index rows(Run<T>& run) const {
    return {run.input(0)[0], op.heads, run.input(0)[1]};
  }

  template <class T>
  std::int64_t visible(Run<T>& run, std::int64_t i) const {
    const std::int64_t queries = run.input(0)[1], keys = run.input(1)[1];
    std::int64_t count = 0;
    for (std::int64_t j = 0; j < keys; ++j) count += !op.causal || j <= i + keys - queries ? 1 : 0;
    return count;
  }

  template <class T>
  T score_of(Run<T>& run, const Index& row, std::int64_t j) const {
    T sum = 0;
    for (std::int64_t e = 0; e < key_width(run); ++e) {
      sum = multiply_add(sum, run.input(0)(query_at(run, row, e)),
                         run.input(1)(key_at(run, row, j, e)));
    }
    sum = sum * scale(run);
    return run.input_count() == 4 ? sum + run.input(3)(joined(part(row, 0, 3), {j})) : sum;
  }

  template <class T>
  Index query_at(Run<T>& run, const Index& row, std::int64_t e) const {
    return {row[0], row[2], row[1] * key_width(run) + e};
  }
  template <class T>
  Index key_at(Run<T>& run, const Index& row, std::int64_t j, std::int64_t e) const {
    return {row[0], j, row[1] / (op.heads / kv_heads()) * key_width(run) + e};
  }
  template <class T>
  Index value_at(Run<T>& run, const Index& row, std::int64_t j, std::int64_t e) const {
    return {row[0], j, row[1] / (op.heads / kv_heads()) * value_width(run) + e};
  }
  template <class T>
  T value(Run<T>& run, const Index& row, std::int64_t j, std::int64_t e) const {
    return run.input(2)(value_at(run, row, j, e));
  }
  template <class T>
  Index out_at(Run<T>& run, const Index& row, std::int64_t e) const {
    return {row[0], row[2], row[1] * value_width(run) + e};
  }
};

std::vector<Source> any_sources(Random& random, const Attention& op) {
  const std::int64_t batch = random.between(1, 2), queries = random.between(1, 4),
                     keys = random.between(1, 4);
  const std::int64_t width = random.between(1, 3), value_width = random.between(1, 3);
  const std::int64_t kv_heads = op.kv_heads == 0 ? op.heads : op.kv_heads;
  std::vector<Source> sources = {{{batch, queries, op.heads * width}, any_role(random)},
                                 {{batch, keys, kv_heads * width}, any_role(random)},
                                 {{batch, keys, kv_heads * value_width}, any_role(random)}};
  if (random.coin()) {
    const Index mask = random.pick<Index>({{queries, keys},
                                           {batch, 1, queries, keys},
                                           {1, op.heads, queries, keys},
                                           {batch, 1, 1, keys}});
    sources.push_back({mask, any_role(random)});
  }
  return sources;
}

TEST(AttentionCost, equals_the_loops) {
  for_random_cases(200, [](Random& random) {
    const std::int64_t kv_heads = random.between(1, 2);
    Attention op{
        .heads = kv_heads * random.between(1, 3), .kv_heads = kv_heads, .causal = random.coin()};
    if (op.heads == op.kv_heads && random.coin()) op.kv_heads = 0;
    // What a causal mask hides is not touched, yet counted whole with its tensor.
    check(NaiveAttention{op}, any_sources(random, op),
          {.touch = op.causal ? Touch::gaps : Touch::whole, .dtype = any_dtype(random)});
  });
}

TEST(AttentionCost, of_one_tensor_with_itself) {
  const Source other{.shape = {2, 3, 4}, .same_as = 0};
  check(NaiveAttention{{.heads = 2}}, {{{2, 3, 4}}, other, other});
}

TEST(AttentionCost, inference_keeps_nothing) {
  const Attention op{.heads = 2, .causal = true};
  const std::vector<Source> sources = {{{2, 3, 4}}, {{2, 3, 4}}, {{2, 3, 4}}};
  check(NaiveAttention{op}, sources, {.mode = Mode::inference});
}

/// Pairs (a, b) of features turn by an angle: (a cos − b sin, a sin + b cos). Features k and k +
/// d/2 are a pair.
struct NaiveRotary {
  RotaryEmbedding op;

  template <class T>
  void forward(Run<T>& run) const {
    rotate(run, run.input(0), run.output(), false);
  }
  template <class T>
  void backward(Run<T>& run) const {
    if (run.wants(0)) rotate(run, run.output_gradient(), run.input_gradient(0), true);
  }

 private:
  template <class T>
  void rotate(Run<T>& run, Tensor<T>& from, Tensor<T>& to, bool is_reversed) const {
    const std::int64_t pairs = from[2] / op.heads / 2;
    for_each_index({from[0], from[1], op.heads, pairs}, [&](const Index& at) {
      const std::int64_t first = at[2] * 2 * pairs + at[3];
      const Index a_at = {at[0], at[1], first}, b_at = {at[0], at[1], first + pairs};
      const T cosine = run.own(0)({at[1], at[3]});
      const T sine = is_reversed ? -run.own(1)({at[1], at[3]}) : run.own(1)({at[1], at[3]});
      const T a = from(a_at), b = from(b_at);
      to.set(a_at, a * cosine - b * sine);
      to.set(b_at, a * sine + b * cosine);
    });
  }
};

TEST(RotaryEmbeddingCost, equals_the_loops) {
  for_random_cases(50, [](Random& random) {
    const RotaryEmbedding op{.heads = random.between(1, 3)};
    const Index x = {random.between(1, 2), random.between(1, 4),
                     op.heads * 2 * random.between(1, 3)};
    check(NaiveRotary{op}, {{x, any_role(random)}}, {.dtype = any_dtype(random)});
  });
}

}  // namespace
}  // namespace strata::naive
