// SPDX-License-Identifier: Apache-2.0
// BERT, RoBERTa and DistilBERT: encoders that normalise after each sub-layer.
#include "strata/graph/sequence_builder.hpp"
#include "strata/importers/huggingface/families.hpp"

#include <optional>
#include <string>

namespace strata::huggingface {
namespace {

using Scope = GraphBuilder::Scope;

constexpr std::int64_t encoder_batch = 32;
constexpr std::int64_t encoder_length = 512;

struct Encoder {
  std::int64_t layers = 0, width = 0, heads = 0, inner = 0, vocabulary = 0, positions = 0;
  std::int64_t token_types = 0;  ///< 0: it has none
  UnaryKind activation = UnaryKind::gelu;
  double dropout = 0;
};

/// What the modules of a family are called.
struct EncoderNames {
  std::string_view query, key, value, attention_output, attention_norm, inner, outer, output_norm;
};

TensorId dropped(SequenceBuilder& b, const std::string& name, TensorId x, double probability) {
  return probability > 0 ? b.dropout(name, x, probability) : x;
}

TensorId embedded(SequenceBuilder& b, const Encoder& net, TensorId tokens, TensorId& words) {
  const Scope scope(b, "embeddings");
  words = b.embedding("word_embeddings", tokens, net.vocabulary, net.width);
  const TensorId positions = b.learnt_positions("position_embeddings", net.positions, net.width);
  TensorId x = 0;
  if (net.token_types > 0) {
    const TensorId numbers =
        b.stored("token_type_ids", {b.batch(), b.seq()}, TensorKind::constant, DType::int64);
    const TensorId types =
        b.embedding("token_type_embeddings", numbers, net.token_types, net.width);
    x = b.sum("sum", {positions, words, types});
  } else {
    x = b.sum("sum", {positions, words});
  }
  return dropped(b, "dropout", b.layer_norm("LayerNorm", x), net.dropout);
}

TensorId encoder_layer(SequenceBuilder& b, const Encoder& net, const EncoderNames& names,
                       TensorId x) {
  const TensorId q = b.linear(names.query, x, net.width);
  const TensorId k = b.linear(names.key, x, net.width);
  const TensorId v = b.linear(names.value, x, net.width);
  const TensorId heads = b.add("attention.attention", Attention{.heads = net.heads}, {q, k, v});
  TensorId y = b.linear(names.attention_output, heads, net.width);
  y = dropped(b, "attention.dropout", y, net.dropout);
  x = b.layer_norm(names.attention_norm, b.sum("attention.residual", {y, x}));
  y = b.unary("activation", net.activation, b.linear(names.inner, x, net.inner));
  y = dropped(b, "output.dropout", b.linear(names.outer, y, net.width), net.dropout);
  return b.layer_norm(names.output_norm, b.sum("output.residual", {y, x}));
}

constexpr EncoderNames bert_names{"attention.self.query",
                                  "attention.self.key",
                                  "attention.self.value",
                                  "attention.output.dense",
                                  "attention.output.LayerNorm",
                                  "intermediate.dense",
                                  "output.dense",
                                  "output.LayerNorm"};

constexpr EncoderNames distilbert_names{"attention.q_lin",   "attention.k_lin",  "attention.v_lin",
                                        "attention.out_lin", "sa_layer_norm",    "ffn.lin1",
                                        "ffn.lin2",          "output_layer_norm"};

TensorId pooled(SequenceBuilder& b, const Encoder& net, TensorId x) {
  const Scope scope(b, "pooler");
  return b.unary("activation", UnaryKind::tanh,
                 b.linear("dense", b.first_token("first_token", x), net.width));
}

/// Scores of masked words; the last product has the word embeddings as weights.
void add_masked_words(SequenceBuilder& b, const Encoder& net, bool is_roberta, TensorId x,
                      TensorId words) {
  const Scope scope(b, is_roberta ? "lm_head" : "cls.predictions");
  const TensorId dense = b.linear(is_roberta ? "dense" : "transform.dense", x, net.width);
  const TensorId active = b.unary("activation", net.activation, dense);
  const TensorId normed = b.layer_norm(is_roberta ? "layer_norm" : "transform.LayerNorm", active);
  b.output(b.tied_linear("decoder", normed, b.own_of(words), true));
}

/// A classifier on one vector of each sequence; RoBERTa's has a layer more.
void add_classifier(SequenceBuilder& b, const Encoder& net, std::int64_t labels, bool is_roberta,
                    TensorId x) {
  if (!is_roberta) {
    const TensorId vector = dropped(b, "dropout", pooled(b, net, x), net.dropout);
    return b.output(b.linear("classifier", vector, labels));
  }
  const Scope scope(b, "classifier");
  TensorId vector = dropped(b, "dropout", b.first_token("first_token", x), net.dropout);
  vector = b.unary("activation", UnaryKind::tanh, b.linear("dense", vector, net.width));
  b.output(b.linear("out_proj", vector, labels));
}

Encoder bert_sizes(const ModelConfig& config) {
  const Encoder net{.layers = config.layers({"num_hidden_layers"}),
                    .width = config.size({"hidden_size"}),
                    .heads = config.size({"num_attention_heads"}),
                    .inner = config.size({"intermediate_size"}),
                    .vocabulary = config.size({"vocab_size"}),
                    .positions = config.size({"max_position_embeddings"}, 512),
                    .token_types = config.size({"type_vocab_size"}, 2),
                    .activation = config.activation({"hidden_act"}, "gelu"),
                    .dropout = config.probability({"hidden_dropout_prob"}, 0.1)};
  check_heads(net.heads, net.width);
  return net;
}

}  // namespace

Graph build_bert(const ModelConfig& config) {
  const Encoder net = bert_sizes(config);
  const bool is_roberta = config.type() != "bert";
  const Head head =
      config.head({Head::masked_language_model, Head::none, Head::sequence_classification,
                   Head::token_classification, Head::question_answering});
  // RoBERTa numbers positions from 2 on: two rows of its table are never read.
  const std::int64_t longest = net.positions - (is_roberta && net.positions > 2 ? 2 : 0);
  SequenceBuilder b(config.type(), encoder_batch, default_length(longest, encoder_length));
  const TensorId tokens = b.tokens("input_ids");
  TensorId words = 0, x = 0;
  {
    std::optional<Scope> scope;
    if (head != Head::none) scope.emplace(b, config.type());
    x = embedded(b, net, tokens, words);
    for (std::int64_t i = 0; i < net.layers; ++i) {
      const Scope layer(b, "encoder.layer." + std::to_string(i));
      x = encoder_layer(b, net, bert_names, x);
    }
  }
  switch (head) {
    case Head::masked_language_model: add_masked_words(b, net, is_roberta, x, words); break;
    case Head::sequence_classification:
      add_classifier(b, net, config.labels(), is_roberta, x);
      break;
    case Head::token_classification:
      b.output(b.linear("classifier", dropped(b, "dropout", x, net.dropout), config.labels()));
      break;
    case Head::question_answering: b.output(b.linear("qa_outputs", x, 2)); break;
    default: b.output(x); b.output(pooled(b, net, x));
  }
  return std::move(b).finish();
}

Graph build_distilbert(const ModelConfig& config) {
  const Encoder net{.layers = config.layers({"n_layers", "num_hidden_layers"}),
                    .width = config.size({"dim", "hidden_size"}),
                    .heads = config.size({"n_heads", "num_attention_heads"}),
                    .inner = config.size({"hidden_dim", "intermediate_size"}),
                    .vocabulary = config.size({"vocab_size"}),
                    .positions = config.size({"max_position_embeddings"}, 512),
                    .activation = config.activation({"activation"}, "gelu"),
                    .dropout = config.probability({"dropout"}, 0.1)};
  check_heads(net.heads, net.width);
  const Head head =
      config.head({Head::masked_language_model, Head::none, Head::sequence_classification,
                   Head::token_classification, Head::question_answering});
  SequenceBuilder b("distilbert", encoder_batch, default_length(net.positions, encoder_length));
  const TensorId tokens = b.tokens("input_ids");
  TensorId words = 0, x = 0;
  {
    std::optional<Scope> scope;
    if (head != Head::none) scope.emplace(b, "distilbert");
    x = embedded(b, net, tokens, words);
    for (std::int64_t i = 0; i < net.layers; ++i) {
      const Scope layer(b, "transformer.layer." + std::to_string(i));
      x = encoder_layer(b, net, distilbert_names, x);
    }
  }
  if (head == Head::masked_language_model) {
    x = b.unary("activation", net.activation, b.linear("vocab_transform", x, net.width));
    b.output(b.tied_linear("vocab_projector", b.layer_norm("vocab_layer_norm", x), b.own_of(words),
                           true));
  } else if (head == Head::sequence_classification) {
    const TensorId first = b.linear("pre_classifier", b.first_token("first_token", x), net.width);
    const TensorId active = b.unary("pre_classifier.relu", UnaryKind::relu, first);
    b.output(b.linear("classifier", dropped(b, "dropout", active, 0.2), config.labels()));
  } else if (head == Head::token_classification) {
    b.output(b.linear("classifier", dropped(b, "dropout", x, net.dropout), config.labels()));
  } else if (head == Head::question_answering) {
    b.output(b.linear("qa_outputs", x, 2));
  } else {
    b.output(x);
  }
  return std::move(b).finish();
}

}  // namespace strata::huggingface
