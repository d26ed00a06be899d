// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/sequence/families.hpp"
#include "strata/zoo/sequence/sequence_builder.hpp"

#include <array>
#include <string>

// Vaswani et al., Attention Is All You Need, 2017 (arXiv:1706.03762); modules are named as in
// fairseq. As in the paper's equations the projections of attention have no bias and the
// feed-forward layers have one; normalisation follows the residual sum. Source and target have the
// same length, seq; no sequence is padded.
//
// Parameters with the paper's 37,000 words: base 63,045,632 (its table 3 says 65·10⁶), big
// 214,171,648 (213·10⁶).
namespace strata {
namespace {

using Scope = GraphBuilder::Scope;

struct Transformer {
  std::string_view name;
  std::int64_t width = 0;
  std::int64_t ffn = 0;
  std::int64_t heads = 0;
  double dropout = 0;
};

constexpr Transformer base{
    .name = "transformer_base", .width = 512, .ffn = 2048, .heads = 8, .dropout = 0.1};
// 0.3 is the paper's rate for English-German; its English-French model uses 0.1.
constexpr Transformer big{
    .name = "transformer_big", .width = 1024, .ffn = 4096, .heads = 16, .dropout = 0.3};

/// Dropout, residual sum and normalisation: how every sub-layer ends.
TensorId end_sublayer(SequenceBuilder& b, const Transformer& net, const std::string& name,
                      TensorId y, TensorId x) {
  const TensorId dropped = b.dropout(name + ".dropout", y, net.dropout);
  return b.layer_norm(name + "_layer_norm", b.sum(name + ".residual", {dropped, x}));
}

TensorId add_attention(SequenceBuilder& b, const Transformer& net, const std::string& name,
                       TensorId x, TensorId keys, bool causal) {
  const TensorId q = b.linear(name + ".q_proj", x, net.width, false);
  const TensorId k = b.linear(name + ".k_proj", keys, net.width, false);
  const TensorId v = b.linear(name + ".v_proj", keys, net.width, false);
  const TensorId heads =
      b.add(name + ".attention", Attention{.heads = net.heads, .causal = causal}, {q, k, v});
  return end_sublayer(b, net, name, b.linear(name + ".out_proj", heads, net.width, false), x);
}

TensorId add_feed_forward(SequenceBuilder& b, const Transformer& net, TensorId x) {
  const TensorId inner = b.unary("relu", UnaryKind::relu, b.linear("fc1", x, net.ffn));
  return end_sublayer(b, net, "final", b.linear("fc2", inner, net.width), x);
}

/// √width · word vector + sinusoid of the position.
TensorId embed(SequenceBuilder& b, const Transformer& net, TensorId words) {
  const TensorId scale = b.stored("embed_scale", {1}, TensorKind::constant);
  const TensorId positions =
      b.stored("embed_positions", {b.seq(), net.width}, TensorKind::constant);
  const TensorId placed = b.sum("add_positions", {b.product("scale", words, scale), positions});
  return b.dropout("dropout", placed, net.dropout);
}

constexpr std::array transformer_parameters{
    NetworkParameter{"layers", "6", "layers of the encoder, and as many of the decoder"},
    NetworkParameter{"vocabulary", "37000", "word pieces shared by source and target"},
};

Graph build_transformer(const Transformer& net, const NetworkArguments& arguments) {
  const std::int64_t layers = layers_argument(arguments);
  SequenceBuilder b(std::string(net.name), 32, 50);
  const TensorId source = b.tokens("source");
  const TensorId target = b.tokens("target");

  TensorId x;
  TensorId table;  // one for source words, target words and the output projection
  {
    const Scope scope(b, "encoder");
    const TensorId words =
        b.embedding("embed_tokens", source, arguments.number("vocabulary"), net.width);
    table = b.own_of(words);
    x = embed(b, net, words);
  }
  for (std::int64_t i = 0; i < layers; ++i) {
    const Scope scope(b, "encoder.layers." + std::to_string(i));
    x = add_feed_forward(b, net, add_attention(b, net, "self_attn", x, x, false));
  }
  const TensorId encoded = x;
  {
    const Scope scope(b, "decoder");
    x = embed(b, net, b.shared_embedding("embed_tokens", target, table));
  }
  for (std::int64_t i = 0; i < layers; ++i) {
    const Scope scope(b, "decoder.layers." + std::to_string(i));
    x = add_attention(b, net, "self_attn", x, x, true);
    x = add_attention(b, net, "encoder_attn", x, encoded, false);
    x = add_feed_forward(b, net, x);
  }
  b.output(b.tied_linear("decoder.output_projection", x, table));
  return std::move(b).finish();
}

}  // namespace

constinit const Network transformer_base_network{
    .name = "transformer_base",
    .title = "Transformer base",
    .source =
        "Vaswani et al., Attention Is All You Need, 2017: width 512, 8 heads, 6+6 layers, one "
        "table for both embeddings and the output",
    .parameters = transformer_parameters,
    .build = [](const NetworkArguments& arguments) { return build_transformer(base, arguments); },
};

constinit const Network transformer_big_network{
    .name = "transformer_big",
    .title = "Transformer big",
    .source =
        "Vaswani et al., Attention Is All You Need, 2017: width 1024, 16 heads, 6+6 layers, one "
        "table for both embeddings and the output",
    .parameters = transformer_parameters,
    .build = [](const NetworkArguments& arguments) { return build_transformer(big, arguments); },
};

}  // namespace strata
