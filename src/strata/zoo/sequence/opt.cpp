// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/sequence/families.hpp"
#include "strata/zoo/sequence/sequence_builder.hpp"

#include <array>
#include <string>

// Zhang et al., OPT: Open Pre-trained Transformer Language Models, 2022 (arXiv:2205.01068), with
// the modules of transformers' OPTForCausalLM; the output shares the table of word vectors.
// Parameters: 125,239,296 (125M, the defaults), 1,315,758,080 (1.3B), 6,658,473,984 (6.7B).
// OPT-350m, which normalises after its sub-layers and projects its word vectors, is another
// network.
namespace strata {
namespace {

using Scope = GraphBuilder::Scope;

constexpr double opt_dropout = 0.1;
constexpr std::int64_t opt_unused_positions = 2;  // rows of the table that no position has

TensorId add_opt_attention(SequenceBuilder& b, const DecoderSize& size, TensorId x) {
  const TensorId q = b.linear("self_attn.q_proj", x, size.width);
  const TensorId k = b.linear("self_attn.k_proj", x, size.width);
  const TensorId v = b.linear("self_attn.v_proj", x, size.width);
  const TensorId attended =
      b.add("self_attn.attention", Attention{.heads = size.heads, .causal = true}, {q, k, v});
  return b.dropout("self_attn.dropout", b.linear("self_attn.out_proj", attended, size.width),
                   opt_dropout);
}

TensorId add_opt_mlp(SequenceBuilder& b, const DecoderSize& size, TensorId x) {
  const TensorId inner =
      b.unary("activation_fn", UnaryKind::relu, b.linear("fc1", x, 4 * size.width));
  return b.dropout("dropout", b.linear("fc2", inner, size.width), opt_dropout);
}

Graph build_opt(const NetworkArguments& arguments) {
  const DecoderSize size = decoder_size(arguments);
  SequenceBuilder b("opt", 32, size.positions);
  const TensorId words =
      b.embedding("model.decoder.embed_tokens", b.tokens("input_ids"), size.vocabulary, size.width);
  const TensorId positions = b.learnt_positions("model.decoder.embed_positions",
                                                size.positions + opt_unused_positions, size.width);
  TensorId x = b.sum("model.decoder.add_positions", {positions, words});
  for (std::int64_t i = 0; i < size.layers; ++i) {
    const Scope scope(b, "model.decoder.layers." + std::to_string(i));
    const TensorId normed = b.layer_norm("self_attn_layer_norm", x);
    x = b.sum("self_attn.residual", {add_opt_attention(b, size, normed), x});
    x = b.sum("fc.residual", {add_opt_mlp(b, size, b.layer_norm("final_layer_norm", x)), x});
  }
  x = b.layer_norm("model.decoder.final_layer_norm", x);
  b.output(b.tied_linear("lm_head", x, b.own_of(words)));
  return std::move(b).finish();
}

constexpr std::array opt_parameters{
    NetworkParameter{"layers", "12", "decoder layers"},
    NetworkParameter{"width", "768", "width of the model"},
    NetworkParameter{"heads", "12", "attention heads; they divide the width"},
    NetworkParameter{"vocabulary", "50272", "tokens"},
    NetworkParameter{"positions", "2048", "longest sequence, and the length by default"},
};

constexpr std::array opt_named_sizes{
    NetworkSize{"opt_125m", "OPT-125M", ""},
    NetworkSize{"opt_1.3b", "OPT-1.3B", "layers=24,width=2048,heads=32"},
    NetworkSize{"opt_6.7b", "OPT-6.7B", "layers=32,width=4096,heads=32"},
};

}  // namespace

constinit const Network opt_network{
    .name = "opt",
    .title = "OPT-125M",
    .source = "Zhang et al., OPT, 2022, as transformers' OPTForCausalLM, tied output",
    .parameters = opt_parameters,
    .build = build_opt,
    .sizes = opt_named_sizes,
};

}  // namespace strata
