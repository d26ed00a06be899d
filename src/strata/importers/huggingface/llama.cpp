// SPDX-License-Identifier: Apache-2.0
// Llama and its relatives: RMS normalisation before each sub-layer, rotary positions, grouped
// key/value heads, a gated feed-forward layer; Mixtral's has several experts.
#include "strata/base/error.hpp"
#include "strata/graph/sequence_builder.hpp"
#include "strata/importers/huggingface/experts.hpp"
#include "strata/importers/huggingface/families.hpp"

#include <fmt/format.h>

#include <string>

namespace strata::huggingface {
namespace {

using Scope = GraphBuilder::Scope;

constexpr std::int64_t decoder_batch_of_llama = 32;
constexpr std::int64_t decoder_length_of_llama = 2048;

struct Llama {
  std::int64_t layers = 0, width = 0, heads = 0, kv_heads = 0, head_width = 0, inner = 0,
               vocabulary = 0, positions = 0;
  UnaryKind activation = UnaryKind::silu;
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  bool scales_embedding = false;  ///< Gemma multiplies word vectors with √width
  bool is_tied = false;
  Experts experts;  ///< of none: one feed-forward layer
};

TensorId attention_of(SequenceBuilder& b, const Llama& net, TensorId x) {
  const std::int64_t kv_width = net.kv_heads * net.head_width;
  const TensorId q = b.linear("self_attn.q_proj", x, net.heads * net.head_width, net.qkv_bias);
  const TensorId k = b.linear("self_attn.k_proj", x, kv_width, net.qkv_bias);
  const TensorId v = b.linear("self_attn.v_proj", x, kv_width, net.qkv_bias);
  const TensorId placed_q = b.add("self_attn.q_rotary", RotaryEmbedding{net.heads}, {q});
  const TensorId placed_k = b.add("self_attn.k_rotary", RotaryEmbedding{net.kv_heads}, {k});
  const Attention attention{.heads = net.heads, .kv_heads = net.kv_heads, .causal = true};
  const TensorId y = b.add("self_attn.attention", attention, {placed_q, placed_k, v});
  return b.linear("self_attn.o_proj", y, net.width, net.output_bias);
}

TensorId mlp_of(SequenceBuilder& b, const Llama& net, TensorId x) {
  if (net.experts.count > 0) return add_experts(b, net.experts, x);
  const TensorId gate =
      b.unary("mlp.act_fn", net.activation, b.linear("mlp.gate_proj", x, net.inner, net.mlp_bias));
  const TensorId up = b.linear("mlp.up_proj", x, net.inner, net.mlp_bias);
  return b.linear("mlp.down_proj", b.product("mlp.gated", gate, up), net.width, net.mlp_bias);
}

void check_llama(const Llama& net) {
  if (net.head_width % 2 != 0)
    fail(ErrorKind::input, "rotary positions need an even width of a head, got {}", net.head_width);
  if (net.heads % net.kv_heads != 0)
    fail(ErrorKind::input, "{} key/value heads do not divide {} heads", net.kv_heads, net.heads);
}

Llama llama_sizes(const ModelConfig& config) {
  const std::string& type = config.type();
  const bool is_gemma = type == "gemma";
  Llama net{.layers = config.layers({"num_hidden_layers"}),
            .width = config.size({"hidden_size"}),
            .heads = config.size({"num_attention_heads"}),
            .inner = config.size({"intermediate_size"}),
            .vocabulary = config.size({"vocab_size"}),
            .positions = config.size({"max_position_embeddings"}, 2048),
            .activation = config.activation({"hidden_activation", "hidden_act"},
                                            is_gemma ? "gelu_pytorch_tanh" : "silu"),
            .scales_embedding = is_gemma,
            .is_tied = config.truth({"tie_word_embeddings"}, is_gemma)};
  // Gemma's first files say "gelu"; its code computes the other form whatever they say.
  if (is_gemma && net.activation == UnaryKind::gelu) net.activation = UnaryKind::gelu_tanh;
  net.kv_heads = config.size({"num_key_value_heads"}, net.heads);
  if (!config.has({"head_dim"})) check_heads(net.heads, net.width);
  net.head_width = config.size({"head_dim"}, net.width / net.heads);
  const bool biases = config.truth({"attention_bias"}, false);
  net.qkv_bias = biases || type == "qwen2";  // Qwen2 has them, and says nothing of it
  net.output_bias = biases;
  net.mlp_bias = config.truth({"mlp_bias"}, false);
  check_llama(net);
  if (type == "mixtral") net.experts = experts_of(config, net.layers, net.width, net.inner);
  return net;
}

/// A window that is shorter than the sequence spares work which the network here does.
void note_window(const ModelConfig& config, const Llama& net) {
  const bool is_used = config.type() != "qwen2" || config.truth({"use_sliding_window"}, false);
  if (!is_used || !config.has({"sliding_window"})) return;
  const std::int64_t window = config.size({"sliding_window"});
  if (window >= net.positions) return;
  config.note(WarningCode::part_ignored,
              fmt::format("attention sees a window of {} words: in longer sequences it is counted "
                          "as if it saw all words before",
                          window));
}

}  // namespace

Graph build_llama(const ModelConfig& config) {
  const Llama net = llama_sizes(config);
  note_window(config, net);
  const Head head =
      config.head({Head::causal_language_model, Head::none, Head::sequence_classification});
  SequenceBuilder b(config.type(), decoder_batch_of_llama,
                    default_length(net.positions, decoder_length_of_llama));
  const TensorId tokens = b.tokens("input_ids");
  const std::string prefix = head == Head::none ? "" : "model.";
  const TensorId words = b.embedding(prefix + "embed_tokens", tokens, net.vocabulary, net.width);
  TensorId x = words;
  if (net.scales_embedding)
    x = b.product(prefix + "normalizer", x,
                  b.stored(prefix + "normalizer.scale", {1}, TensorKind::constant));
  for (std::int64_t i = 0; i < net.layers; ++i) {
    const Scope layer(b, prefix + "layers." + std::to_string(i));
    x = b.sum("self_attn.residual", {attention_of(b, net, b.rms_norm("input_layernorm", x)), x});
    x = b.sum("mlp.residual", {mlp_of(b, net, b.rms_norm("post_attention_layernorm", x)), x});
  }
  x = b.rms_norm(prefix + "norm", x);
  if (head == Head::causal_language_model) {
    x = net.is_tied ? b.tied_linear("lm_head", x, b.own_of(words))
                    : b.linear("lm_head", x, net.vocabulary, false);
  } else if (head == Head::sequence_classification) {
    x = b.linear("score", x, config.labels(), false);
  }
  b.output(x);
  return std::move(b).finish();
}

}  // namespace strata::huggingface
