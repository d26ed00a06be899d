// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/huggingface/huggingface.hpp"

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/cost/cost.hpp"
#include "strata/graph/bind.hpp"
#include "strata/importers/importers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace strata {
namespace {

std::int64_t learnt_numbers(const Graph& graph) {
  std::int64_t sum = 0;
  const BoundGraph bound = bind_graph(graph, {});
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].kind == TensorKind::parameter) sum += bound.tensors[i].elements;
  }
  return sum;
}

bool has_layer(const Graph& graph, std::string_view name) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return node.name == name; });
}

std::string refusal_of(std::string_view text) {
  try {
    read_huggingface_text(text, "config.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

struct PublishedModel {
  std::string_view name;
  std::string_view config;  ///< the keys that matter, with the values of the published file
  std::int64_t parameters;  ///< as transformers counts them (num_parameters)
};

constexpr PublishedModel published_models[] = {
    {"bert-base-uncased",
     R"({"architectures":["BertForMaskedLM"],"hidden_act":"gelu","hidden_dropout_prob":0.1,
         "hidden_size":768,"intermediate_size":3072,"max_position_embeddings":512,
         "model_type":"bert","num_attention_heads":12,"num_hidden_layers":12,"type_vocab_size":2,
         "vocab_size":30522})",
     109'514'298},
    {"bert-base-uncased, without a head",
     R"({"architectures":["BertModel"],"hidden_size":768,"intermediate_size":3072,
         "max_position_embeddings":512,"model_type":"bert","num_attention_heads":12,
         "num_hidden_layers":12,"type_vocab_size":2,"vocab_size":30522})",
     109'482'240},
    {"roberta-base",
     R"({"architectures":["RobertaForMaskedLM"],"hidden_act":"gelu","hidden_size":768,
         "intermediate_size":3072,"max_position_embeddings":514,"model_type":"roberta",
         "num_attention_heads":12,"num_hidden_layers":12,"type_vocab_size":1,"vocab_size":50265})",
     124'697'433},
    {"distilbert-base-uncased",
     R"({"activation":"gelu","architectures":["DistilBertForMaskedLM"],"dim":768,"dropout":0.1,
         "hidden_dim":3072,"max_position_embeddings":512,"model_type":"distilbert","n_heads":12,
         "n_layers":6,"vocab_size":30522})",
     66'985'530},
    {"gpt2",
     R"({"activation_function":"gelu_new","architectures":["GPT2LMHeadModel"],"model_type":"gpt2",
         "n_ctx":1024,"n_embd":768,"n_head":12,"n_layer":12,"n_positions":1024,"n_inner":null,
         "vocab_size":50257})",
     124'439'808},
    {"opt-125m",
     R"({"activation_function":"relu","architectures":["OPTForCausalLM"],"ffn_dim":3072,
         "do_layer_norm_before":true,"hidden_size":768,"max_position_embeddings":2048,
         "model_type":"opt","num_attention_heads":12,"num_hidden_layers":12,"vocab_size":50272,
         "word_embed_proj_dim":768})",
     125'239'296},
    {"opt-350m",
     R"({"activation_function":"relu","architectures":["OPTForCausalLM"],"ffn_dim":4096,
         "do_layer_norm_before":false,"hidden_size":1024,"max_position_embeddings":2048,
         "model_type":"opt","num_attention_heads":16,"num_hidden_layers":24,"vocab_size":50272,
         "word_embed_proj_dim":512})",
     331'196'416},
    {"Llama-2-7b",
     R"({"architectures":["LlamaForCausalLM"],"hidden_act":"silu","hidden_size":4096,
         "intermediate_size":11008,"max_position_embeddings":4096,"model_type":"llama",
         "num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":32,
         "tie_word_embeddings":false,"vocab_size":32000})",
     6'738'415'616},
    {"Llama-3-8B",
     R"({"architectures":["LlamaForCausalLM"],"attention_bias":false,"hidden_size":4096,
         "intermediate_size":14336,"max_position_embeddings":8192,"model_type":"llama",
         "num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,
         "vocab_size":128256})",
     8'030'261'248},
    {"Llama-3.2-1B",
     R"({"architectures":["LlamaForCausalLM"],"head_dim":64,"hidden_size":2048,
         "intermediate_size":8192,"max_position_embeddings":131072,"model_type":"llama",
         "num_attention_heads":32,"num_hidden_layers":16,"num_key_value_heads":8,
         "tie_word_embeddings":true,"vocab_size":128256})",
     1'235'814'400},
    {"Mistral-7B-v0.1",
     R"({"architectures":["MistralForCausalLM"],"hidden_act":"silu","hidden_size":4096,
         "intermediate_size":14336,"max_position_embeddings":32768,"model_type":"mistral",
         "num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,
         "sliding_window":4096,"vocab_size":32000})",
     7'241'732'096},
    {"Mixtral-8x7B-v0.1",
     R"({"architectures":["MixtralForCausalLM"],"hidden_act":"silu","hidden_size":4096,
         "intermediate_size":14336,"max_position_embeddings":32768,"model_type":"mixtral",
         "num_attention_heads":32,"num_experts_per_tok":2,"num_hidden_layers":32,
         "num_key_value_heads":8,"num_local_experts":8,"sliding_window":null,"vocab_size":32000})",
     46'702'792'704},
    {"Qwen2-7B",
     R"({"architectures":["Qwen2ForCausalLM"],"hidden_act":"silu","hidden_size":3584,
         "intermediate_size":18944,"max_position_embeddings":131072,"model_type":"qwen2",
         "num_attention_heads":28,"num_hidden_layers":28,"num_key_value_heads":4,
         "tie_word_embeddings":false,"use_sliding_window":false,"sliding_window":131072,
         "vocab_size":152064})",
     7'615'616'512},
    {"Qwen2-0.5B",
     R"({"architectures":["Qwen2ForCausalLM"],"hidden_size":896,"intermediate_size":4864,
         "max_position_embeddings":131072,"model_type":"qwen2","num_attention_heads":14,
         "num_hidden_layers":24,"num_key_value_heads":2,"tie_word_embeddings":true,
         "vocab_size":151936})",
     494'032'768},
    {"gemma-2b",
     R"({"architectures":["GemmaForCausalLM"],"head_dim":256,"hidden_act":"gelu",
         "hidden_size":2048,"intermediate_size":16384,"max_position_embeddings":8192,
         "model_type":"gemma","num_attention_heads":8,"num_hidden_layers":18,
         "num_key_value_heads":1,"vocab_size":256000})",
     2'506'172'416},
    {"gemma-7b",
     R"({"architectures":["GemmaForCausalLM"],"head_dim":256,"hidden_act":"gelu",
         "hidden_size":3072,"intermediate_size":24576,"max_position_embeddings":8192,
         "model_type":"gemma","num_attention_heads":16,"num_hidden_layers":28,
         "num_key_value_heads":16,"vocab_size":256000})",
     8'537'680'896},
    {"t5-small",
     R"({"architectures":["T5ForConditionalGeneration"],"d_ff":2048,"d_kv":64,"d_model":512,
         "dropout_rate":0.1,"model_type":"t5","num_heads":8,"num_layers":6,
         "relative_attention_num_buckets":32,"vocab_size":32128})",
     60'506'624},
    {"t5-base",
     R"({"architectures":["T5ForConditionalGeneration"],"d_ff":3072,"d_kv":64,"d_model":768,
         "model_type":"t5","num_heads":12,"num_layers":12,"vocab_size":32128})",
     222'903'552},
    {"flan-t5-base",
     R"({"architectures":["T5ForConditionalGeneration"],"d_ff":2048,"d_kv":64,"d_model":768,
         "feed_forward_proj":"gated-gelu","model_type":"t5","num_decoder_layers":12,
         "num_heads":12,"num_layers":12,"tie_word_embeddings":false,"vocab_size":32128})",
     247'577'856},
    {"vit-base-patch16-224, without a head",
     R"({"architectures":["ViTModel"],"hidden_size":768,"image_size":224,"intermediate_size":3072,
         "model_type":"vit","num_attention_heads":12,"num_hidden_layers":12,"patch_size":16})",
     86'389'248},
};

TEST(HuggingFace, parameters_are_those_that_transformers_counts) {
  for (const PublishedModel& model : published_models) {
    const Graph graph = read_huggingface_text(model.config, "config.json");
    EXPECT_EQ(learnt_numbers(graph), model.parameters) << model.name;
  }
}

TEST(HuggingFace, a_classifier_has_a_row_for_each_label) {
  std::string labels;
  for (int i = 0; i < 1000; ++i)
    labels += (i > 0 ? "," : "") + ("\"" + std::to_string(i)) + "\":\"x\"";
  const Graph vit = read_huggingface_text(
      R"({"architectures":["ViTForImageClassification"],"hidden_size":768,"image_size":224,
          "intermediate_size":3072,"model_type":"vit","num_attention_heads":12,
          "num_hidden_layers":12,"patch_size":16,"id2label":{)" +
          labels + "}}",
      "config.json");
  EXPECT_EQ(learnt_numbers(vit), 86'567'656);
  EXPECT_TRUE(has_layer(vit, "vit.encoder.layer.11.attention.attention.query"));
  EXPECT_TRUE(has_layer(vit, "classifier"));
}

constexpr std::string_view small_llama =
    R"({"architectures":["LlamaForCausalLM"],"hidden_size":64,"intermediate_size":96,
        "model_type":"llama","num_attention_heads":4,"num_hidden_layers":2,"vocab_size":100})";

TEST(HuggingFace, layers_are_named_as_the_modules_of_transformers) {
  const Graph llama = read_huggingface_text(small_llama, "config.json");
  EXPECT_TRUE(has_layer(llama, "model.layers.1.self_attn.q_proj"));
  EXPECT_TRUE(has_layer(llama, "model.layers.1.mlp.down_proj"));
  EXPECT_TRUE(has_layer(llama, "lm_head"));
  EXPECT_TRUE(llama.warnings.empty());
  const Graph bert = read_huggingface_text(published_models[0].config, "config.json");
  EXPECT_TRUE(has_layer(bert, "bert.encoder.layer.0.attention.self.query"));
  EXPECT_TRUE(has_layer(bert, "cls.predictions.transform.dense"));
}

// Each word goes to two experts, however many there are; only the gate has a column for each.
TEST(HuggingFace, a_word_takes_the_work_of_its_experts_and_not_of_all) {
  const auto macs = [](std::string_view experts) {
    const Graph graph = read_huggingface_text(
        std::string(R"({"architectures":["MixtralModel"],"hidden_size":64,"intermediate_size":96,
            "model_type":"mixtral","num_attention_heads":4,"num_hidden_layers":1,
            "vocab_size":100,)") +
            std::string(experts) + "}",
        "config.json");
    const BoundGraph bound = bind_graph(graph, {{"batch", 2}, {"seq", 32}});
    double mac = 0;
    for (const NodeCost& cost : costs_of(bound)) mac += static_cast<double>(cost.forward.mac);
    return mac;
  };
  const double two_of_eight = macs(R"("num_local_experts":8,"num_experts_per_tok":2)");
  const double two_of_two = macs(R"("num_local_experts":2,"num_experts_per_tok":2)");
  const double words = 2 * 32, gate = words * 64;
  EXPECT_EQ(two_of_eight - 8 * gate, two_of_two - 2 * gate);
  EXPECT_GT(two_of_eight, words * 2 * 3 * 64 * 96) << "three products of two experts";
}

TEST(HuggingFace, what_is_assumed_is_said) {
  const Graph mixtral = read_huggingface_text(published_models[11].config, "config.json");
  ASSERT_EQ(mixtral.warnings.size(), 1U);
  EXPECT_EQ(mixtral.warnings[0].code, WarningCode::value_assumed);
  const Graph mistral = read_huggingface_text(published_models[10].config, "config.json");
  ASSERT_EQ(mistral.warnings.size(), 1U);
  EXPECT_NE(mistral.warnings[0].message.find("a window of 4096 words"), std::string::npos);
  const Graph unknown = read_huggingface_text(
      R"({"architectures":["LlamaForDreaming"],"hidden_size":64,"intermediate_size":96,
          "model_type":"llama","num_attention_heads":4,"num_hidden_layers":1,"vocab_size":100})",
      "config.json");
  ASSERT_EQ(unknown.warnings.size(), 1U);
  EXPECT_NE(unknown.warnings[0].message.find("LlamaForDreaming is not known"), std::string::npos);
}

TEST(HuggingFace, bad_files_are_refused_with_the_key) {
  EXPECT_EQ(refusal_of(R"({"model_type":"mamba"})").find("config.json: model_type 'mamba'"), 0U);
  EXPECT_NE(refusal_of(R"({"model_type":"llama","num_hidden_layers":2})").find("'hidden_size'"),
            std::string::npos);
  const std::pair<std::string_view, std::string_view> changes[] = {
      {R"("hidden_size":64)", R"("hidden_size":"many")"},
      {R"("hidden_size":64)", R"("hidden_size":-1)"},
      {R"("hidden_size":64)", R"("hidden_size":1e30)"},
      {R"("hidden_size":64)", R"("hidden_size":62)"},
      {R"("num_hidden_layers":2)", R"("num_hidden_layers":1000000)"},
      {R"("vocab_size":100)", R"("vocab_size":0)"},
      {R"("vocab_size":100)", R"("vocab_size":100,"hidden_act":"sparkle")"},
      {R"("vocab_size":100)", R"("vocab_size":100,"num_key_value_heads":3)"},
      {R"("vocab_size":100)", R"("vocab_size":100,"head_dim":15)"},
      {R"(["LlamaForCausalLM"])", R"("LlamaForCausalLM")"},
  };
  for (const auto& [from, to] : changes) {
    std::string text(small_llama);
    text.replace(text.find(from), from.size(), to);
    EXPECT_NE(refusal_of(text), "accepted") << to;
  }
  EXPECT_EQ(refusal_of(small_llama), "accepted");
}

TEST(HuggingFace, a_file_is_recognised_by_its_content_and_named_by_its_folder) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "tiny-llama");
  std::ofstream(folder.path() / "tiny-llama" / "config.json") << small_llama;
  const Graph graph = import_model(folder.path() / "tiny-llama" / "config.json");
  EXPECT_EQ(graph.name, "tiny-llama");
  EXPECT_EQ(graph.source, "config.json, as transformers' LlamaForCausalLM");
}

}  // namespace
}  // namespace strata
