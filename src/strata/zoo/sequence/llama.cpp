// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/zoo/sequence/families.hpp"
#include "strata/zoo/sequence/sequence_builder.hpp"

#include <array>
#include <string>

// A decoder in the style of Llama: RMS normalisation before each sub-layer, rotary positions,
// grouped key/value heads, a gated feed-forward layer (SwiGLU), no biases; modules named as
// transformers' LlamaForCausalLM. The defaults are Llama 2 7B with 6,738,415,616 parameters.
namespace strata {
namespace {

using Scope = GraphBuilder::Scope;

constexpr std::int64_t llama_seq = 4096;  // Llama 2's context

struct Llama {
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t ffn = 0;
  std::int64_t vocabulary = 0;

  std::int64_t head_width() const { return width / heads; }
};

TensorId add_attention(SequenceBuilder& b, const Llama& llama, TensorId x) {
  const std::int64_t kv_width = llama.kv_heads * llama.head_width();
  const TensorId q = b.linear("self_attn.q_proj", x, llama.width, false);
  const TensorId k = b.linear("self_attn.k_proj", x, kv_width, false);
  const TensorId v = b.linear("self_attn.v_proj", x, kv_width, false);
  const TensorId placed_q = b.add("self_attn.q_rotary", RotaryEmbedding{llama.heads}, {q});
  const TensorId placed_k = b.add("self_attn.k_rotary", RotaryEmbedding{llama.kv_heads}, {k});
  const Attention attention{.heads = llama.heads, .kv_heads = llama.kv_heads, .causal = true};
  const TensorId attended = b.add("self_attn.attention", attention, {placed_q, placed_k, v});
  return b.linear("self_attn.o_proj", attended, llama.width, false);
}

TensorId add_mlp(SequenceBuilder& b, const Llama& llama, TensorId x) {
  const TensorId gate =
      b.unary("mlp.act_fn", UnaryKind::silu, b.linear("mlp.gate_proj", x, llama.ffn, false));
  const TensorId up = b.linear("mlp.up_proj", x, llama.ffn, false);
  return b.linear("mlp.down_proj", b.product("mlp.gated", gate, up), llama.width, false);
}

TensorId add_layer(SequenceBuilder& b, const Llama& llama, TensorId x) {
  const TensorId before_attention = b.add("input_layernorm", RmsNorm{}, {x});
  x = b.sum("self_attn.residual", {add_attention(b, llama, before_attention), x});
  const TensorId before_mlp = b.add("post_attention_layernorm", RmsNorm{}, {x});
  return b.sum("mlp.residual", {add_mlp(b, llama, before_mlp), x});
}

constexpr std::array llama_parameters{
    NetworkParameter{"layers", "32", "decoder layers"},
    NetworkParameter{"width", "4096", "width of the model"},
    NetworkParameter{"heads", "32", "query heads; they divide the width into even parts"},
    NetworkParameter{"kv_heads", "32", "key and value heads; they divide the query heads"},
    NetworkParameter{"ffn", "11008", "inner width of the feed-forward layers"},
    NetworkParameter{"vocabulary", "32000", "tokens"},
    NetworkParameter{"head", "separate",
                     "separate: the output has its own weight; tied: it shares the embedding's"},
};

constexpr std::array llama_sizes{
    NetworkSize{"llama2_7b", "Llama 2 7B", ""},
    NetworkSize{"llama2_13b", "Llama 2 13B", "layers=40,width=5120,heads=40,kv_heads=40,ffn=13824"},
    NetworkSize{"llama2_70b", "Llama 2 70B", "layers=80,width=8192,heads=64,kv_heads=8,ffn=28672"},
    NetworkSize{"llama3_8b", "Llama 3 8B", "kv_heads=8,ffn=14336,vocabulary=128256"},
    NetworkSize{"llama3_70b", "Llama 3 70B",
                "layers=80,width=8192,heads=64,kv_heads=8,ffn=28672,vocabulary=128256"},
    NetworkSize{"llama3.2_1b", "Llama 3.2 1B",
                "layers=16,width=2048,kv_heads=8,ffn=8192,vocabulary=128256,head=tied"},
};

Llama checked_arguments(const NetworkArguments& arguments) {
  const Llama llama{.layers = layers_argument(arguments),
                    .width = arguments.number("width"),
                    .heads = arguments.number("heads"),
                    .kv_heads = arguments.number("kv_heads"),
                    .ffn = arguments.number("ffn"),
                    .vocabulary = arguments.number("vocabulary")};
  if (llama.width % llama.heads != 0 || llama.head_width() % 2 != 0) {
    fail(ErrorKind::usage, "heads={} does not divide width={} into even parts", llama.heads,
         llama.width);
  }
  if (llama.heads % llama.kv_heads != 0) {
    fail(ErrorKind::usage, "kv_heads={} does not divide heads={}", llama.kv_heads, llama.heads);
  }
  return llama;
}

Graph build_llama(const NetworkArguments& arguments) {
  constexpr std::array<std::string_view, 2> outputs{"separate", "tied"};
  const Llama llama = checked_arguments(arguments);
  SequenceBuilder b("llama", 32, llama_seq);
  const TensorId words =
      b.embedding("model.embed_tokens", b.tokens("input_ids"), llama.vocabulary, llama.width);
  TensorId x = words;
  for (std::int64_t i = 0; i < llama.layers; ++i) {
    const Scope scope(b, "model.layers." + std::to_string(i));
    x = add_layer(b, llama, x);
  }
  x = b.add("model.norm", RmsNorm{}, {x});
  const bool is_tied = arguments.word("head", outputs) == 1;
  b.output(is_tied ? b.tied_linear("lm_head", x, b.own_of(words))
                   : b.linear("lm_head", x, llama.vocabulary, false));
  return std::move(b).finish();
}

}  // namespace

constinit const Network llama_network{
    .name = "llama",
    .title = "Llama-style decoder",
    .source =
        "Touvron et al., Llama 2, 2023, as transformers' LlamaForCausalLM; the defaults are Llama "
        "2 7B",
    .parameters = llama_parameters,
    .build = build_llama,
    .sizes = llama_sizes,
};

}  // namespace strata
