// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/zoo/sequence/families.hpp"
#include "strata/zoo/sequence/sequence_builder.hpp"

#include <array>
#include <string>

// The Transformer as the thesis of 2021 counts it: layer by layer, attention as products, a
// scaling and a softmax, an activation after every fully connected layer, dropout as in the
// published network (attention weights and sublayers), no embedding and no projection to words. The
// decoder's mask is left out, as every score is computed. The thesis does not list its layers;
// scaling and dropout stand as layers here because its printed share of point-wise time (26.7 %) is
// not reached without them.
namespace strata {
namespace {

using Scope = GraphBuilder::Scope;

struct ThesisTransformer {
  std::int64_t width = 0;
  std::int64_t ffn = 0;
  std::int64_t heads = 0;
};

TensorId fully_connected(SequenceBuilder& b, const std::string& name, TensorId x,
                         std::int64_t features) {
  return b.unary(name + ".relu", UnaryKind::relu, b.linear(name, x, features));
}

TensorId end_thesis_sublayer(SequenceBuilder& b, const std::string& name, TensorId y, TensorId x) {
  const TensorId dropped = b.dropout(name + ".dropout", y, 0.1);
  return b.layer_norm(name + "_layer_norm", b.sum(name + ".residual", {dropped, x}));
}

/// [batch, seq, width] seen as [batch, heads, seq, width/heads]. Batched matrix products read the
/// heads in place, by their strides; a graph knows no strides, so the view is a Reshape: like the
/// view, it moves nothing.
TensorId split_heads(SequenceBuilder& b, const ThesisTransformer& net, const std::string& name,
                     TensorId x) {
  return b.add(name, Reshape{{b.batch(), net.heads, b.seq(), net.width / net.heads}}, {x});
}

TensorId add_attention(SequenceBuilder& b, const ThesisTransformer& net, const std::string& name,
                       TensorId x, TensorId keys) {
  const auto projection = [&](const char* which, TensorId from) {
    return fully_connected(b, name + "." + which + "_proj", from, net.width);
  };
  const TensorId q = split_heads(b, net, name + ".q_heads", projection("q", x));
  const TensorId k = split_heads(b, net, name + ".k_heads", projection("k", keys));
  const TensorId v = split_heads(b, net, name + ".v_heads", projection("v", keys));
  const TensorId scores = b.add(name + ".scores", MatMul{.transpose_b = true}, {q, k});
  const TensorId factor = b.stored(name + ".factor", {1}, TensorKind::constant);
  const TensorId scaled = b.product(name + ".scaled", scores, factor);
  const TensorId weights = b.add(name + ".softmax", Softmax{}, {scaled});
  const TensorId dropped = b.dropout(name + ".weight_dropout", weights, 0.1);
  const TensorId heads = b.add(name + ".context", MatMul{}, {dropped, v});
  const TensorId joined = b.add(name + ".join", Reshape{{b.batch(), b.seq(), net.width}}, {heads});
  return end_thesis_sublayer(b, name, projection("out", joined), x);
}

TensorId add_thesis_feed_forward(SequenceBuilder& b, const ThesisTransformer& net, TensorId x) {
  const TensorId inner = fully_connected(b, "fc1", x, net.ffn);
  return end_thesis_sublayer(b, "final", fully_connected(b, "fc2", inner, net.width), x);
}

constexpr std::array transformer_thesis_parameters{
    NetworkParameter{"layers", "6", "layers of the encoder, and as many of the decoder"},
    NetworkParameter{"width", "1024", "width of every layer"},
    NetworkParameter{"heads", "16", "attention heads; they divide the width"},
    NetworkParameter{"ff", "1024", "inner width of the feed-forward layers; 4096 as published"},
};

Graph build_transformer_thesis(const NetworkArguments& arguments) {
  const std::int64_t layers = layers_argument(arguments);
  const ThesisTransformer net{.width = arguments.number("width"),
                              .ffn = arguments.number("ff"),
                              .heads = arguments.number("heads")};
  if (net.width % net.heads != 0) {
    fail(ErrorKind::usage, "heads={} does not divide width={}", net.heads, net.width);
  }
  SequenceBuilder b("transformer_thesis", 128, 50);
  TensorId x = b.features("source", net.width);
  for (std::int64_t i = 0; i < layers; ++i) {
    const Scope scope(b, "encoder.layers." + std::to_string(i));
    x = add_thesis_feed_forward(b, net, add_attention(b, net, "self_attn", x, x));
  }
  const TensorId encoded = x;
  x = b.features("target", net.width);
  for (std::int64_t i = 0; i < layers; ++i) {
    const Scope scope(b, "decoder.layers." + std::to_string(i));
    x = add_attention(b, net, "self_attn", x, x);
    x = add_attention(b, net, "encoder_attn", x, encoded);
    x = add_thesis_feed_forward(b, net, x);
  }
  b.output(x);
  return std::move(b).finish();
}

}  // namespace

constinit const Network transformer_thesis_network{
    .name = "transformer_thesis",
    .title = "Transformer, inferred from a thesis",
    .source =
        "inferred: A Performance Analytical Model for DNN Training with Focus on Memory Subsystem "
        "(thesis, National Taiwan University, 2021) prints batch 128, width 1024 and 50 tokens; ff "
        "1024, an activation after every fully connected layer and no embedding were chosen "
        "because "
        "its results come out with them. As published: transformer_big",
    .parameters = transformer_thesis_parameters,
    .build = build_transformer_thesis,
};

}  // namespace strata
