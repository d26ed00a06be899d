// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/sequence/families.hpp"
#include "strata/zoo/sequence/sequence_builder.hpp"

#include <string>

// Devlin et al., BERT, 2018 (arXiv:1810.04805), with the modules of transformers' BertModel:
// 109,482,240 parameters (base), 335,141,888 (large), pooler included, language-model head not. No
// sequence is padded, so attention needs no mask; the dropout inside attention is part of the fused
// operator and not counted.
namespace strata {
namespace {

using Scope = GraphBuilder::Scope;

struct BertSize {
  std::int64_t layers = 0, width = 0, heads = 0;
};

constexpr std::int64_t bert_vocabulary = 30'522;
constexpr std::int64_t bert_most_positions = 512;
constexpr std::int64_t bert_token_types = 2;
constexpr double bert_dropout = 0.1;

// Nine tenths of BERT's pre-training ran at this length (appendix A.2).
constexpr std::int64_t bert_default_seq = 128;

TensorId embed(SequenceBuilder& b, std::int64_t width, TensorId& words) {
  const TensorId input_ids = b.tokens("input_ids");
  const TensorId token_type_ids = b.tokens("token_type_ids");
  const Scope scope(b, "embeddings");
  words = b.embedding("word_embeddings", input_ids, bert_vocabulary, width);
  const TensorId types =
      b.embedding("token_type_embeddings", token_type_ids, bert_token_types, width);
  const TensorId positions = b.learnt_positions("position_embeddings", bert_most_positions, width);
  const TensorId sum = b.sum("sum", {positions, words, types});
  return b.dropout("dropout", b.layer_norm("LayerNorm", sum), bert_dropout);
}

TensorId end_sublayer(SequenceBuilder& b, const BertSize& size, const std::string& name, TensorId y,
                      TensorId x) {
  const TensorId dropped =
      b.dropout(name + ".dropout", b.linear(name + ".dense", y, size.width), bert_dropout);
  return b.layer_norm(name + ".LayerNorm", b.sum(name + ".residual", {dropped, x}));
}

TensorId add_layer(SequenceBuilder& b, const BertSize& size, TensorId x) {
  const TensorId q = b.linear("attention.self.query", x, size.width);
  const TensorId k = b.linear("attention.self.key", x, size.width);
  const TensorId v = b.linear("attention.self.value", x, size.width);
  const TensorId attended = b.add("attention.self", Attention{.heads = size.heads}, {q, k, v});
  x = end_sublayer(b, size, "attention.output", attended, x);
  const TensorId inner = b.linear("intermediate.dense", x, 4 * size.width);
  return end_sublayer(b, size, "output", b.unary("intermediate.gelu", UnaryKind::gelu, inner), x);
}

/// Predicts masked words: its last product has the word embeddings as weights.
void add_language_model_head(SequenceBuilder& b, std::int64_t width, TensorId x, TensorId words) {
  const Scope scope(b, "cls.predictions");
  const TensorId dense = b.linear("transform.dense", x, width);
  const TensorId active = b.unary("transform.gelu", UnaryKind::gelu, dense);
  b.output(b.tied_linear("decoder", b.layer_norm("transform.LayerNorm", active), b.own_of(words)));
}

Graph build_bert(const NetworkArguments& arguments) {
  constexpr std::string_view heads[] = {"none", "mlm"};
  const bool has_language_model = arguments.word("head", heads) == 1;
  const BertSize size{layers_argument(arguments), arguments.number("width"),
                      arguments.number("heads")};
  check_heads(size.heads, size.width);
  SequenceBuilder b("bert_base", 32, bert_default_seq);
  TensorId words = 0;
  TensorId x = embed(b, size.width, words);
  for (std::int64_t i = 0; i < size.layers; ++i) {
    const Scope scope(b, "encoder.layer." + std::to_string(i));
    x = add_layer(b, size, x);
  }
  if (has_language_model) {
    add_language_model_head(b, size.width, x, words);
    return std::move(b).finish();
  }
  b.output(x);
  const Scope scope(b, "pooler");
  const TensorId pooled = b.linear("dense", b.first_token("first_token", x), size.width);
  b.output(b.unary("activation", UnaryKind::tanh, pooled));
  return std::move(b).finish();
}

constexpr NetworkParameter bert_parameters[] = {
    {"layers", "12", "encoder layers"},
    {"width", "768", "width of the model"},
    {"heads", "12", "attention heads; they divide the width"},
    {"head", "none", "none: hidden states and pooler; mlm: scores of masked words"}};

constexpr NetworkSize bert_sizes[] = {
    {"bert_large", "BERT large", "layers=24,width=1024,heads=16"}};

}  // namespace

constinit const Network bert_base_network{
    .name = "bert_base",
    .title = "BERT base",
    .source =
        "Devlin et al., BERT, 2018, as transformers' BertModel (bert-base-uncased), "
        "with pooler, without language-model head unless head=mlm (BertForMaskedLM)",
    .parameters = bert_parameters,
    .build = build_bert,
    .sizes = bert_sizes,
};

}  // namespace strata
