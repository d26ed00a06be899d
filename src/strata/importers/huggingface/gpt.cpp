// SPDX-License-Identifier: Apache-2.0
// GPT-2 and OPT: decoders with learnt positions.
#include "strata/graph/sequence_builder.hpp"
#include "strata/importers/huggingface/families.hpp"

#include <array>
#include <string>

namespace strata::huggingface {
namespace {

using Scope = GraphBuilder::Scope;

constexpr std::int64_t decoder_batch = 32;
constexpr std::int64_t decoder_length = 2048;

struct Decoder {
  std::int64_t layers = 0, width = 0, heads = 0, inner = 0, vocabulary = 0, positions = 0;
  UnaryKind activation = UnaryKind::relu;
  double dropout = 0;
};

TensorId after_dropout(SequenceBuilder& b, std::string_view name, TensorId x, double probability) {
  return probability > 0 ? b.dropout(name, x, probability) : x;
}

TensorId gpt2_layer(SequenceBuilder& b, const Decoder& net, TensorId x) {
  const std::array qkv{b.linear("attn.c_attn", b.layer_norm("ln_1", x), 3 * net.width)};
  const NodeId split = b.add_node("attn.split", Split{.axis = -1, .sizes = {}, .parts = 3}, qkv);
  TensorId y = b.add("attn.attention", Attention{.heads = net.heads, .causal = true},
                     {b.output_of(split, 0), b.output_of(split, 1), b.output_of(split, 2)});
  y = after_dropout(b, "attn.resid_dropout", b.linear("attn.c_proj", y, net.width), net.dropout);
  x = b.sum("attn.residual", {y, x});
  y = b.unary("mlp.act", net.activation, b.linear("mlp.c_fc", b.layer_norm("ln_2", x), net.inner));
  y = after_dropout(b, "mlp.dropout", b.linear("mlp.c_proj", y, net.width), net.dropout);
  return b.sum("mlp.residual", {y, x});
}

/// OPT normalises before its sub-layers, and OPT-350m after them.
TensorId opt_layer(SequenceBuilder& b, const Decoder& net, bool norm_before, bool bias,
                   TensorId x) {
  const auto sublayer = [&](std::string_view norm, std::string_view residual, const auto& compute) {
    const TensorId y = after_dropout(b, std::string(residual) + ".dropout",
                                     compute(norm_before ? b.layer_norm(norm, x) : x), net.dropout);
    x = b.sum(residual, {y, x});
    if (!norm_before) x = b.layer_norm(norm, x);
  };
  sublayer("self_attn_layer_norm", "self_attn.residual", [&](TensorId in) {
    const TensorId q = b.linear("self_attn.q_proj", in, net.width, bias);
    const TensorId k = b.linear("self_attn.k_proj", in, net.width, bias);
    const TensorId v = b.linear("self_attn.v_proj", in, net.width, bias);
    const TensorId heads =
        b.add("self_attn.attention", Attention{.heads = net.heads, .causal = true}, {q, k, v});
    return b.linear("self_attn.out_proj", heads, net.width, bias);
  });
  sublayer("final_layer_norm", "fc.residual", [&](TensorId in) {
    const TensorId inner =
        b.unary("activation_fn", net.activation, b.linear("fc1", in, net.inner, bias));
    return b.linear("fc2", inner, net.width, bias);
  });
  return x;
}

}  // namespace

Graph build_gpt2(const ModelConfig& config) {
  Decoder net{.layers = config.layers({"n_layer", "num_hidden_layers"}),
              .width = config.size({"n_embd", "hidden_size"}),
              .heads = config.size({"n_head", "num_attention_heads"}),
              .inner = 0,
              .vocabulary = config.size({"vocab_size"}),
              .positions = config.size({"n_positions", "max_position_embeddings", "n_ctx"}, 1024),
              .activation = config.activation({"activation_function"}, "gelu_new"),
              .dropout = config.probability({"resid_pdrop"}, 0.1)};
  net.inner = config.size({"n_inner"}, 4 * net.width);
  check_heads(net.heads, net.width);
  const Head head =
      config.head({Head::causal_language_model, Head::none, Head::sequence_classification});
  SequenceBuilder b("gpt2", decoder_batch, default_length(net.positions, decoder_length));
  const TensorId tokens = b.tokens("input_ids");
  const std::string prefix = head == Head::none ? "" : "transformer.";
  const TensorId words = b.embedding(prefix + "wte", tokens, net.vocabulary, net.width);
  const TensorId positions = b.learnt_positions(prefix + "wpe", net.positions, net.width);
  TensorId x =
      after_dropout(b, prefix + "drop", b.sum(prefix + "add_positions", {positions, words}),
                    config.probability({"embd_pdrop"}, 0.1));
  for (std::int64_t i = 0; i < net.layers; ++i) {
    const Scope layer(b, prefix + "h." + std::to_string(i));
    x = gpt2_layer(b, net, x);
  }
  x = b.layer_norm(prefix + "ln_f", x);
  if (head == Head::causal_language_model) x = b.tied_linear("lm_head", x, b.own_of(words));
  if (head == Head::sequence_classification) x = b.linear("score", x, config.labels(), false);
  b.output(x);
  return std::move(b).finish();
}

Graph build_opt(const ModelConfig& config) {
  constexpr std::int64_t unused_positions = 2;  // rows of the table that no position has
  const Decoder net{.layers = config.layers({"num_hidden_layers"}),
                    .width = config.size({"hidden_size"}),
                    .heads = config.size({"num_attention_heads"}),
                    .inner = config.size({"ffn_dim"}),
                    .vocabulary = config.size({"vocab_size"}),
                    .positions = config.size({"max_position_embeddings"}, 2048),
                    .activation = config.activation({"activation_function"}, "relu"),
                    .dropout = config.probability({"dropout"}, 0.1)};
  check_heads(net.heads, net.width);
  const bool norm_before = config.truth({"do_layer_norm_before"}, true);
  const bool bias = config.truth({"enable_bias"}, true);
  const std::int64_t word_width = config.size({"word_embed_proj_dim"}, net.width);
  const Head head =
      config.head({Head::causal_language_model, Head::none, Head::sequence_classification});
  SequenceBuilder b("opt", decoder_batch, default_length(net.positions, decoder_length));
  const TensorId tokens = b.tokens("input_ids");
  const std::string prefix = head == Head::none ? "decoder." : "model.decoder.";
  const TensorId words = b.embedding(prefix + "embed_tokens", tokens, net.vocabulary, word_width);
  TensorId x = words;
  if (word_width != net.width) x = b.linear(prefix + "project_in", x, net.width, false);
  const TensorId positions =
      b.learnt_positions(prefix + "embed_positions", net.positions + unused_positions, net.width);
  x = b.sum(prefix + "add_positions", {positions, x});
  for (std::int64_t i = 0; i < net.layers; ++i) {
    const Scope layer(b, prefix + "layers." + std::to_string(i));
    x = opt_layer(b, net, norm_before, bias, x);
  }
  if (norm_before && !config.truth({"_remove_final_layer_norm"}, false))
    x = b.layer_norm(prefix + "final_layer_norm", x);
  if (word_width != net.width) x = b.linear(prefix + "project_out", x, word_width, false);
  if (head == Head::causal_language_model) x = b.tied_linear("lm_head", x, b.own_of(words));
  if (head == Head::sequence_classification) x = b.linear("score", x, config.labels(), false);
  b.output(x);
  return std::move(b).finish();
}

}  // namespace strata::huggingface
