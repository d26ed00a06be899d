// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/sequence/families.hpp"
#include "strata/zoo/sequence/sequence_builder.hpp"

#include <array>
#include <string>

// Radford et al., Language Models are Unsupervised Multitask Learners, 2019: the smallest model,
// with the modules of transformers' GPT2LMHeadModel: 124,439,808 parameters, the output shares the
// table of word vectors. The dropout inside attention is part of the fused operator and not
// counted.
namespace strata {
namespace {

using Scope = GraphBuilder::Scope;

constexpr std::int64_t gpt2_layers = 12;
constexpr std::int64_t gpt2_width = 768;
constexpr std::int64_t gpt2_heads = 12;
constexpr std::int64_t gpt2_vocabulary = 50'257;
constexpr std::int64_t context = 1024;  // the length of training, and of the table of positions
constexpr double gpt2_dropout = 0.1;

TensorId add_attention(SequenceBuilder& b, TensorId x) {
  const std::array qkv{b.linear("attn.c_attn", x, 3 * gpt2_width)};
  const NodeId split = b.add_node("attn.split", Split{.axis = -1, .sizes = {}, .parts = 3}, qkv);
  const TensorId attended =
      b.add("attn.attention", Attention{.heads = gpt2_heads, .causal = true},
            {b.output_of(split, 0), b.output_of(split, 1), b.output_of(split, 2)});
  return b.dropout("attn.resid_dropout", b.linear("attn.c_proj", attended, gpt2_width),
                   gpt2_dropout);
}

TensorId add_mlp(SequenceBuilder& b, TensorId x) {
  const TensorId inner =
      b.unary("mlp.act", UnaryKind::gelu_tanh, b.linear("mlp.c_fc", x, 4 * gpt2_width));
  return b.dropout("mlp.dropout", b.linear("mlp.c_proj", inner, gpt2_width), gpt2_dropout);
}

Graph build_gpt2(const NetworkArguments&) {
  SequenceBuilder b("gpt2", 32, context);
  const TensorId words =
      b.embedding("transformer.wte", b.tokens("input_ids"), gpt2_vocabulary, gpt2_width);
  const TensorId positions = b.learnt_positions("transformer.wpe", context, gpt2_width);
  TensorId x = b.dropout("transformer.drop", b.sum("transformer.add_positions", {positions, words}),
                         gpt2_dropout);
  for (std::int64_t i = 0; i < gpt2_layers; ++i) {
    const Scope scope(b, "transformer.h." + std::to_string(i));
    x = b.sum("attn.residual", {add_attention(b, b.layer_norm("ln_1", x)), x});
    x = b.sum("mlp.residual", {add_mlp(b, b.layer_norm("ln_2", x)), x});
  }
  x = b.layer_norm("transformer.ln_f", x);
  b.output(b.tied_linear("lm_head", x, b.own_of(words)));
  return std::move(b).finish();
}

}  // namespace

constinit const Network gpt2_network{
    .name = "gpt2",
    .title = "GPT-2 small",
    .source =
        "Radford et al., Language Models are Unsupervised Multitask Learners, 2019, as "
        "transformers' GPT2LMHeadModel: 12 layers, tied output",
    .parameters = {},
    .build = build_gpt2,
};

}  // namespace strata
