// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/huggingface/experts.hpp"

#include "strata/base/error.hpp"

#include <string>
#include <vector>

namespace strata::huggingface {
namespace {

using Scope = GraphBuilder::Scope;

TensorId row_numbers(SequenceBuilder& b, const std::string& name, Dim count) {
  return b.stored(name, {count}, TensorKind::constant, DType::int64);
}

/// One expert on the words that are its own: w2(act(w1 x) · w3 x).
TensorId expert_on(SequenceBuilder& b, const Experts& experts, TensorId words) {
  const TensorId gate =
      b.unary("act_fn", experts.activation, b.linear("w1", words, experts.inner, false));
  const TensorId up = b.linear("w3", words, experts.inner, false);
  return b.linear("w2", b.product("gated", gate, up), experts.width, false);
}

}  // namespace

Experts experts_of(const ModelConfig& config, std::int64_t layers, std::int64_t width,
                   std::int64_t inner) {
  constexpr std::int64_t most_experts_of_all_layers = 20'000;  // each becomes six nodes
  const Experts experts{.count = config.size({"num_local_experts"}, 8),
                        .per_word = config.size({"num_experts_per_tok"}, 2),
                        .width = width,
                        .inner = inner,
                        .activation = config.activation({"hidden_act"}, "silu")};
  if (experts.per_word > experts.count)
    fail(ErrorKind::input, "each word goes to {} experts, but there are {}", experts.per_word,
         experts.count);
  if (experts.count > most_experts_of_all_layers / layers)
    fail(ErrorKind::input, "{} experts in each of {} layers are more than {}", experts.count,
         layers, most_experts_of_all_layers);
  config.note(WarningCode::value_assumed,
              "every expert gets the same number of words, as a balanced router gives them");
  return experts;
}

TensorId add_experts(SequenceBuilder& b, const Experts& experts, TensorId x) {
  const Scope scope(b, "block_sparse_moe");
  Symbols& symbols = b.symbols();
  const Dim words = symbols.multiply(b.batch(), b.seq());
  const Dim routed = symbols.multiply(words, experts.per_word);
  const Dim share = symbols.divide_ceil(routed, experts.count);
  const TensorId rows = b.add("words", Reshape{{words, experts.width}}, {x});
  const TensorId scores =
      b.add("softmax", Softmax{-1}, {b.linear("gate", rows, experts.count, false)});
  std::vector<TensorId> results;
  for (std::int64_t i = 0; i < experts.count; ++i) {
    const Scope expert(b, "experts." + std::to_string(i));
    const TensorId own = b.add("words", Gather{0}, {rows, row_numbers(b, "word_numbers", share)});
    results.push_back(expert_on(b, experts, own));
  }
  const TensorId all = results.size() == 1 ? results.front() : b.add("join", Concat{0}, results);
  // Back in the order of the words, each result times the score of its expert, summed per word.
  std::vector<TensorId> parts;
  for (std::int64_t i = 0; i < experts.per_word; ++i) {
    const Scope choice(b, "choice." + std::to_string(i));
    const TensorId own = b.add("rows", Gather{0}, {all, row_numbers(b, "row_numbers", words)});
    const TensorId weight =
        b.add("weight", Slice{.axes = {1}, .begin = {i}, .end = {i + 1}, .step = {}}, {scores});
    parts.push_back(b.product("weighted", own, weight));
  }
  const TensorId sums =
      parts.size() == 1 ? parts.front() : b.add("sum", Elementwise{ElementwiseKind::add}, parts);
  return b.add("sequences", Reshape{{b.batch(), b.seq(), experts.width}}, {sums});
}

}  // namespace strata::huggingface
