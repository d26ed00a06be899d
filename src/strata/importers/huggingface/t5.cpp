// SPDX-License-Identifier: Apache-2.0
// T5: an encoder and a decoder with relative positions, which are learnt scores of distances.
#include "strata/graph/sequence_builder.hpp"
#include "strata/importers/huggingface/families.hpp"

#include <fmt/format.h>

#include <string>

namespace strata::huggingface {
namespace {

using Scope = GraphBuilder::Scope;

struct T5 {
  std::int64_t layers = 0, decoder_layers = 0, width = 0, heads = 0, head_width = 0, inner = 0,
               vocabulary = 0, buckets = 0;
  UnaryKind activation = UnaryKind::relu;
  bool is_gated = false;
  bool is_tied = true;
  double dropout = 0;

  std::int64_t attention_width() const { return heads * head_width; }
};

TensorId t5_dropout(SequenceBuilder& b, std::string_view name, TensorId x, const T5& net) {
  return net.dropout > 0 ? b.dropout(name, x, net.dropout) : x;
}

/// Scores of distances, [1, heads, seq, seq], looked up once and added in every layer.
TensorId distance_scores(SequenceBuilder& b, const T5& net) {
  const TensorId distances =
      b.stored("distances", {b.seq(), b.seq()}, TensorKind::constant, DType::int64);
  const TensorId scores = b.embedding("relative_attention_bias", distances, net.buckets, net.heads);
  const TensorId by_head = b.add("by_head", Transpose{{2, 0, 1}}, {scores});
  return b.add("scores", Reshape{{1, net.heads, b.seq(), b.seq()}}, {by_head});
}

/// `bias`: scores of distances; none between encoder and decoder.
TensorId t5_attention(SequenceBuilder& b, const T5& net, TensorId x, TensorId keys, bool causal,
                      const TensorId* bias) {
  const std::int64_t width = net.attention_width();
  const TensorId q = b.linear("q", x, width, false);
  const TensorId k = b.linear("k", keys, width, false);
  const TensorId v = b.linear("v", keys, width, false);
  const Attention attention{.heads = net.heads, .causal = causal};
  const TensorId y = bias != nullptr ? b.add("attention", attention, {q, k, v, *bias})
                                     : b.add("attention", attention, {q, k, v});
  return b.linear("o", y, net.width, false);
}

TensorId t5_feed_forward(SequenceBuilder& b, const T5& net, TensorId x) {
  const Scope scope(b, "DenseReluDense");
  TensorId y =
      b.unary("act", net.activation, b.linear(net.is_gated ? "wi_0" : "wi", x, net.inner, false));
  if (net.is_gated) y = b.product("gated", y, b.linear("wi_1", x, net.inner, false));
  return b.linear("wo", t5_dropout(b, "dropout", y, net), net.width, false);
}

/// One stack; `encoded` is what the decoder also attends to.
TensorId t5_stack(SequenceBuilder& b, const T5& net, const std::string& name, std::int64_t layers,
                  TensorId words, const TensorId* encoded) {
  const Scope stack(b, name);
  TensorId x = t5_dropout(b, "dropout", words, net);
  TensorId bias = 0;
  for (std::int64_t i = 0; i < layers; ++i) {
    const Scope block(b, "block." + std::to_string(i));
    int number = 0;
    const auto sublayer = [&](std::string_view module, const auto& compute) {
      const Scope layer(b, "layer." + std::to_string(number++));
      const TensorId normed = b.rms_norm("layer_norm", x);
      TensorId y = 0;
      {
        const Scope inner(b, module);
        y = compute(normed);
      }
      x = b.sum("residual", {t5_dropout(b, "dropout", y, net), x});
    };
    sublayer("SelfAttention", [&](TensorId in) {
      if (i == 0) bias = distance_scores(b, net);
      return t5_attention(b, net, in, in, encoded != nullptr, &bias);
    });
    if (encoded != nullptr)
      sublayer("EncDecAttention",
               [&](TensorId in) { return t5_attention(b, net, in, *encoded, false, nullptr); });
    const Scope layer(b, "layer." + std::to_string(number));
    const TensorId y = t5_feed_forward(b, net, b.rms_norm("layer_norm", x));
    x = b.sum("residual", {t5_dropout(b, "dropout", y, net), x});
  }
  return t5_dropout(b, "output_dropout", b.rms_norm("final_layer_norm", x), net);
}

T5 t5_sizes(const ModelConfig& config) {
  T5 net{.layers = config.layers({"num_layers"}),
         .width = config.size({"d_model"}),
         .heads = config.size({"num_heads"}),
         .head_width = config.size({"d_kv"}),
         .inner = config.size({"d_ff"}),
         .vocabulary = config.size({"vocab_size"}),
         .buckets = config.size({"relative_attention_num_buckets"}, 32),
         .is_tied = config.truth({"tie_word_embeddings"}, true),
         .dropout = config.probability({"dropout_rate"}, 0.1)};
  net.decoder_layers =
      config.has({"num_decoder_layers"}) ? config.layers({"num_decoder_layers"}) : net.layers;
  const std::string feed_forward = config.word({"feed_forward_proj"}, "relu");
  net.is_gated = feed_forward.starts_with("gated-");
  // "gated-gelu" means the form with tanh; the code says so, the file does not.
  net.activation = feed_forward == "gated-gelu" ? UnaryKind::gelu_tanh
                   : net.is_gated               ? UnaryKind::silu
                                                : UnaryKind::relu;
  if (config.has({"dense_act_fn"})) net.activation = config.activation({"dense_act_fn"}, "relu");
  return net;
}

}  // namespace

Graph build_t5(const ModelConfig& config) {
  constexpr std::int64_t length = 512;
  const T5 net = t5_sizes(config);
  const Head head = config.head({Head::conditional_generation, Head::none});
  SequenceBuilder b("t5", 32, length);
  const TensorId source = b.tokens("input_ids");
  const TensorId target = b.tokens("decoder_input_ids");
  const TensorId words = b.embedding("shared", source, net.vocabulary, net.width);
  const TensorId table = b.own_of(words);
  const TensorId encoded = t5_stack(b, net, "encoder", net.layers, words, nullptr);
  const TensorId begun = b.shared_embedding("decoder.embed_tokens", target, table);
  TensorId x = t5_stack(b, net, "decoder", net.decoder_layers, begun, &encoded);
  if (head == Head::conditional_generation) {
    x = net.is_tied ? b.tied_linear("lm_head", x, table)
                    : b.linear("lm_head", x, net.vocabulary, false);
  }
  b.output(x);
  return std::move(b).finish();
}

}  // namespace strata::huggingface
