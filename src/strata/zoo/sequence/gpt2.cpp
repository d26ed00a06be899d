// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/sequence/families.hpp"
#include "strata/zoo/sequence/sequence_builder.hpp"

#include <array>
#include <string>

// Radford et al., Language Models are Unsupervised Multitask Learners, 2019, with the modules of
// transformers' GPT2LMHeadModel; the output shares the table of word vectors. Parameters:
// 124,439,808 (small, the defaults), 354,823,168 (medium), 774,030,080 (large), 1,557,611,200 (XL).
// The dropout inside attention is part of the fused operator and not counted.
namespace strata {
namespace {

using Scope = GraphBuilder::Scope;

constexpr double gpt2_dropout = 0.1;

TensorId add_attention(SequenceBuilder& b, const DecoderSize& size, TensorId x) {
  const std::array qkv{b.linear("attn.c_attn", x, 3 * size.width)};
  const NodeId split = b.add_node("attn.split", Split{.axis = -1, .sizes = {}, .parts = 3}, qkv);
  const TensorId attended =
      b.add("attn.attention", Attention{.heads = size.heads, .causal = true},
            {b.output_of(split, 0), b.output_of(split, 1), b.output_of(split, 2)});
  return b.dropout("attn.resid_dropout", b.linear("attn.c_proj", attended, size.width),
                   gpt2_dropout);
}

TensorId add_mlp(SequenceBuilder& b, const DecoderSize& size, TensorId x) {
  const TensorId inner =
      b.unary("mlp.act", UnaryKind::gelu_tanh, b.linear("mlp.c_fc", x, 4 * size.width));
  return b.dropout("mlp.dropout", b.linear("mlp.c_proj", inner, size.width), gpt2_dropout);
}

Graph build_gpt2(const NetworkArguments& arguments) {
  const DecoderSize size = decoder_size(arguments);
  SequenceBuilder b("gpt2", 32, size.positions);
  const TensorId words =
      b.embedding("transformer.wte", b.tokens("input_ids"), size.vocabulary, size.width);
  const TensorId positions = b.learnt_positions("transformer.wpe", size.positions, size.width);
  TensorId x = b.dropout("transformer.drop", b.sum("transformer.add_positions", {positions, words}),
                         gpt2_dropout);
  for (std::int64_t i = 0; i < size.layers; ++i) {
    const Scope scope(b, "transformer.h." + std::to_string(i));
    x = b.sum("attn.residual", {add_attention(b, size, b.layer_norm("ln_1", x)), x});
    x = b.sum("mlp.residual", {add_mlp(b, size, b.layer_norm("ln_2", x)), x});
  }
  x = b.layer_norm("transformer.ln_f", x);
  b.output(b.tied_linear("lm_head", x, b.own_of(words)));
  return std::move(b).finish();
}

constexpr std::array gpt2_parameters{
    NetworkParameter{"layers", "12", "decoder layers"},
    NetworkParameter{"width", "768", "width of the model"},
    NetworkParameter{"heads", "12", "attention heads; they divide the width"},
    NetworkParameter{"vocabulary", "50257", "tokens"},
    NetworkParameter{"positions", "1024", "longest sequence, and the length by default"},
};

constexpr std::array gpt2_sizes{
    NetworkSize{"gpt2_medium", "GPT-2 medium", "layers=24,width=1024,heads=16"},
    NetworkSize{"gpt2_large", "GPT-2 large", "layers=36,width=1280,heads=20"},
    NetworkSize{"gpt2_xl", "GPT-2 XL", "layers=48,width=1600,heads=25"},
};

}  // namespace

constinit const Network gpt2_network{
    .name = "gpt2",
    .title = "GPT-2 small",
    .source =
        "Radford et al., Language Models are Unsupervised Multitask Learners, 2019, as "
        "transformers' GPT2LMHeadModel, tied output",
    .parameters = gpt2_parameters,
    .build = build_gpt2,
    .sizes = gpt2_sizes,
};

}  // namespace strata
