// SPDX-License-Identifier: Apache-2.0
#include "strata/api/parallel.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/huggingface/huggingface.hpp"
#include "strata/parallel/rank_views.hpp"
#include "strata/parallel/repeated_blocks.hpp"
#include "strata/parallel/tensor_split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// Context and expert parallel training of networks as people have them, against closed forms.
namespace strata {
namespace {

constexpr std::int64_t mixtral_width = 4096, mixtral_inner = 14336, mixtral_vocabulary = 32000,
                       kv_width = 1024, mixtral_experts = 8, words_per_expert_choice = 2;

/// Mixtral 8x7B (its published config.json), with so many of its 32 layers.
Graph mixtral(std::int64_t layers) {
  return read_huggingface_text(
      R"({"architectures":["MixtralForCausalLM"],"hidden_act":"silu","hidden_size":4096,
          "intermediate_size":14336,"max_position_embeddings":32768,"model_type":"mixtral",
          "num_attention_heads":32,"num_experts_per_tok":2,"num_key_value_heads":8,
          "num_local_experts":8,"sliding_window":null,"vocab_size":32000,"num_hidden_layers":)" +
          std::to_string(layers) + "}",
      "config.json");
}

PredictRequest in_bf16(std::int64_t batch, std::int64_t length) {
  PredictRequest request;
  request.sizes.batch = batch;
  request.sizes.sequence = length;
  request.sizes.dtype = DType::bf16;
  request.training.optimizer = Optimizer::adam;
  request.training.master_weights = true;
  return request;
}

/// Multiply-adds of an iteration on one rank, by what it does of each layer.
double macs_of_rank(const Graph& graph, const Strategy& strategy, const Binding& sizes) {
  const SplitGraph split = split_tensors(graph, strategy.tensor);
  const RankViews views = rank_views(split, sizes, strategy);
  double sum = 0;
  for (std::uint32_t run = 0; run < views.runs.size(); ++run) {
    const BoundGraph bound = bind_graph(split.graph, views.runs[run]);
    const Program program = make_program(bound);
    for (const Step& step : program.steps) {
      const NodeView& view = views.of(step.node);
      if (view.run == run && !view.is_absent) sum += static_cast<double>(step.mac) * view.share;
    }
  }
  return sum;
}

/// What one strategy of a network comes to.
struct Outcome {
  RankCosts costs;
  ParallelSummary summary;

  std::int64_t parameters() const {
    std::int64_t sum = 0;
    for (const UnitCost& unit : costs.units) sum += unit.parameters;
    return sum;
  }
  const RankTraffic& sent() const { return summary.result.iteration.traffic[0]; }
};

Outcome outcome_of(const Graph& graph, const std::string& on, const std::string& split,
                   const PredictRequest& request) {
  const Cluster cluster = load_cluster(on);
  ParallelModel model(graph, cluster, request);
  const Strategy strategy = parse_strategy(split);
  ParallelSummary summary = model.predict(strategy);
  return {model.planner().costs_of(strategy), std::move(summary)};
}

// Jiang et al., Mixtral of Experts, 2024: 46.7·10⁹ parameters, of which each expert of a layer has
// three products of 4096 x 14336.
TEST(ExpertParallel, a_rank_of_mixtral_has_one_expert_of_each_layer) {
  const Graph graph = mixtral(32);
  const std::int64_t expert = 3 * mixtral_width * mixtral_inner;
  const std::int64_t whole = 46'702'792'704, all_experts = 32 * mixtral_experts * expert;
  for (const std::int64_t ranks : {1, 2, 4, 8}) {
    const Outcome one =
        outcome_of(graph, "8xh100-sxm", "dp=8,ep=" + std::to_string(ranks), in_bf16(8, 1024));
    EXPECT_EQ(one.parameters(), whole - all_experts + all_experts / ranks) << ranks;
    EXPECT_EQ(one.summary.result.most_memory().parameters_bytes, 2 * one.parameters()) << ranks;
  }
}

TEST(ExpertParallel, every_layer_sends_its_words_to_the_experts_and_back) {
  constexpr std::int64_t layers = 2, batch = 8, length = 1024;
  const Graph graph = mixtral(layers);
  const Outcome one = outcome_of(graph, "8xh100-sxm", "dp=8,ep=8", in_bf16(batch, length));
  // Two all-to-alls forward and two backward, of bf16 vectors of both choices of a rank's words.
  const double words = batch / 8.0 * length * words_per_expert_choice;
  EXPECT_NEAR(one.sent().experts_bytes, 4 * layers * words * mixtral_width * 2 * 7 / 8, 1);
  EXPECT_GT(one.summary.result.iteration.ranks[0].experts_s, 0);
  EXPECT_EQ(outcome_of(graph, "8xh100-sxm", "dp=8", in_bf16(batch, length)).sent().experts_bytes,
            0);
}

// Each rank has fewer experts with as many more words: the same arithmetic, in larger products.
TEST(ExpertParallel, the_work_stays_and_memory_falls) {
  const Graph graph = mixtral(2);
  const Outcome alone = outcome_of(graph, "8xh100-sxm", "dp=8,zero=1", in_bf16(64, 2048));
  const Outcome spread = outcome_of(graph, "8xh100-sxm", "dp=8,ep=8,zero=1", in_bf16(64, 2048));
  const double before = alone.summary.result.iteration.mean().compute_s;
  const double after = spread.summary.result.iteration.mean().compute_s;
  EXPECT_LT(after, before);
  EXPECT_GT(after, 0.8 * before);
  EXPECT_LT(spread.summary.result.most_memory().total_bytes(),
            alone.summary.result.most_memory().total_bytes());
  EXPECT_LE(spread.summary.limit_s, spread.summary.result.time_s);
}

// Few words per expert: one call and one product of all have less of a host and of half-empty
// waves.
TEST(ExpertParallel, grouped_experts_are_faster_where_they_are_small) {
  const Graph graph = mixtral(2);
  for (const char* split : {"dp=4", "dp=4,ep=4"}) {
    PredictRequest request = in_bf16(4, 256);
    const Outcome apart = outcome_of(graph, "4xh100-sxm", split, request);
    request.framework_options.experts = ExpertKernels::grouped;
    const Outcome grouped = outcome_of(graph, "4xh100-sxm", split, request);
    EXPECT_LT(grouped.summary.result.time_s, apart.summary.result.time_s) << split;
    EXPECT_GE(grouped.summary.result.time_s, grouped.summary.limit_s) << split;
    EXPECT_EQ(grouped.summary.result.most_memory().total_bytes(),
              apart.summary.result.most_memory().total_bytes());
  }
  // With an expert on each rank there is nothing to group.
  PredictRequest request = in_bf16(8, 256);
  const Outcome apart = outcome_of(graph, "8xh100-sxm", "dp=8,ep=8", request);
  request.framework_options.experts = ExpertKernels::grouped;
  const Outcome grouped = outcome_of(graph, "8xh100-sxm", "dp=8,ep=8", request);
  EXPECT_NEAR(grouped.summary.result.time_s, apart.summary.result.time_s,
              1e-12 * apart.summary.result.time_s);
}

// Every multiply-add of the whole network is one of some rank, and of no other.
TEST(ExpertParallel, ranks_together_do_the_arithmetic_of_one) {
  const Graph graph = mixtral(2);
  const double alone = macs_of_rank(graph, {}, {{"batch", 8}, {"seq", 512}});
  const auto of_ranks = [&](const std::string& text, std::int64_t batch) {
    const Strategy strategy = parse_strategy(text);
    return static_cast<double>(strategy.devices()) *
           macs_of_rank(graph, strategy, {{"batch", batch}, {"seq", 512}});
  };
  EXPECT_NEAR(of_ranks("dp=8,ep=8", 1) / alone, 1, 1e-12);
  EXPECT_NEAR(of_ranks("dp=8,ep=2", 1) / alone, 1, 1e-12);
  EXPECT_NEAR(of_ranks("cp=4,dp=2,ep=4", 4) / alone, 1, 1e-12);
  EXPECT_NEAR(of_ranks("cp=8", 8) / alone, 1, 1e-12);
  // The router is the same on all ranks of a tensor parallel group.
  const double routers = 2 * 3.0 * 8 * 512 * mixtral_width * mixtral_experts;
  EXPECT_NEAR(of_ranks("dp=2,tp=4,ep=2,sp=yes", 4) / alone, 1, 4 * routers / alone);
}

TEST(ExpertParallel, goes_with_tensor_parallelism_inside_each_expert) {
  const Graph graph = mixtral(2);
  const Outcome one = outcome_of(graph, "8xh100-sxm", "dp=4,tp=2,ep=4,sp=yes", in_bf16(16, 1024));
  const std::int64_t expert = 3 * mixtral_width * mixtral_inner;
  const std::int64_t attention = 2 * mixtral_width * mixtral_width + 2 * mixtral_width * kv_width;
  const std::int64_t layer = 2 * expert / 2 + attention / 2 + 2 * mixtral_width +
                             mixtral_width * mixtral_experts;  // norms and the router are whole
  const std::int64_t vocabulary = (mixtral_vocabulary / 2) * mixtral_width;
  EXPECT_EQ(one.parameters(), 2 * layer + 2 * vocabulary + mixtral_width);
  const double words = 4 * 1024 * words_per_expert_choice / 2.0;  // of one of two tensor ranks
  EXPECT_NEAR(one.sent().experts_bytes, 4 * 2 * words * mixtral_width * 2 * 3 / 4, 1);
}

/// Every so many strategies of a search, against the network with all its blocks.
void expect_times_of_whole_network(const Graph& graph, const char* on,
                                   const PredictRequest& request, std::size_t every) {
  const Cluster cluster = load_cluster(on);
  ParallelModel model(graph, cluster, request);
  const ParallelChoice choice = model.choose();
  std::size_t checked = 0;
  for (std::size_t i = 0; i < choice.search.outcomes.size(); i += every) {
    const StrategyOutcome& one = choice.search.outcomes[i];
    if (!one.fits) continue;
    const StrategyTime alone = model.planner().time_of(one.strategy);
    EXPECT_NEAR(one.time_s, alone.time_s, 1e-6 * alone.time_s) << to_text(one.strategy);
    EXPECT_EQ(one.memory_bytes, alone.most_memory().total_bytes()) << to_text(one.strategy);
    ++checked;
  }
  EXPECT_GT(checked, 5U);
}

// The search counts one of many equal blocks as often as it stands there, also where a block has
// blocks of its own: experts. The table of strategies says the memory that the answer says.
TEST(ParallelSearch, finds_the_times_and_the_memory_that_each_strategy_has_by_itself) {
  expect_times_of_whole_network(load_model("gpt2:layers=9"), "8xa100-80gb", in_bf16(16, 1024), 7);
  const Graph with_experts = mixtral(6);
  const std::optional<ShortenedGraph> shortened = shorten(with_experts);
  ASSERT_TRUE(shortened.has_value());
  EXPECT_EQ(shortened->left_out, 3);
  expect_times_of_whole_network(with_experts, "4xh100-sxm", in_bf16(4, 1024), 23);
}

std::string refusal(const Graph& graph, const std::string& split, const char* on) {
  try {
    outcome_of(graph, on, split, in_bf16(24, 1024));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(ExpertParallel, is_refused_with_a_reason) {
  EXPECT_NE(refusal(load_model("gpt2:layers=2"), "dp=4,ep=4", "4xh100-sxm").find("has no experts"),
            std::string::npos);
  EXPECT_NE(
      refusal(mixtral(1), "dp=6,ep=3", "6xh100-sxm").find("ep=3 does not divide the 8 experts"),
      std::string::npos);
  EXPECT_NE(
      refusal(mixtral(1), "dp=2,tp=2,ep=4", "4xh100-sxm").find("ep=4 must divide dp x cp = 2"),
      std::string::npos);
}

TEST(ContextParallel, keys_and_values_go_round_once_forward_and_with_gradients_backward) {
  constexpr std::int64_t layers = 3, length = 8192;
  const Graph graph = load_model("llama2_7b:layers=3,width=2048,heads=16,kv_heads=4,ffn=4096");
  for (const auto& [split, ranks, tensor] :
       {std::tuple{"cp=4", 4, 1}, std::tuple{"cp=8", 8, 1}, std::tuple{"cp=4,tp=2,sp=yes", 4, 2}}) {
    const std::string on = std::to_string(ranks * tensor) + "xh100-sxm";
    const Outcome one = outcome_of(graph, on, split, in_bf16(1, length));
    const double keys_and_values = 2.0 * length * (2048 / 16 * 4) * 2 / tensor;
    EXPECT_NEAR(one.sent().context_bytes, 3 * layers * keys_and_values * (ranks - 1) / ranks, 1)
        << split;
  }
}

// Queries, keys, values and the result leave once forward, and their gradients once backward.
TEST(ContextParallel, positions_are_exchanged_for_heads_and_back) {
  constexpr std::int64_t layers = 3, length = 8192;
  const Graph graph = load_model("llama2_7b:layers=3,width=2048,heads=16,kv_heads=4,ffn=4096");
  for (const auto& [split, ranks, tensor, times] :
       {std::tuple{"cp=4", 4, 1, 2}, std::tuple{"cp=2,tp=2,sp=yes", 2, 2, 2},
        std::tuple{"cp=4,recompute=full", 4, 1, 3}}) {
    const std::string on = std::to_string(ranks * tensor) + "xh100-sxm";
    const Outcome one =
        outcome_of(graph, on, std::string(split) + ",exchange=all-to-all", in_bf16(1, length));
    const double moved = 2.0 * length * (2 * 2048 + 2 * 2048 / 16 * 4) / tensor / ranks;
    EXPECT_NEAR(one.sent().context_bytes, times * layers * moved * (ranks - 1) / ranks, 1) << split;
  }
  EXPECT_NE(refusal(graph, "cp=8,exchange=all-to-all", "8xh100-sxm")
                .find("4 heads of keys and values on a rank, which 8 does not divide"),
            std::string::npos);
  EXPECT_NE(refusal(graph, "cp=4,tp=2,exchange=all-to-all", "8xh100-sxm")
                .find("2 heads of keys and values on a rank, which 4 does not divide"),
            std::string::npos);
}

// What runs again in backward fetches its keys and values again.
TEST(ContextParallel, recomputation_sends_keys_and_values_once_more) {
  const Graph graph = load_model("gpt2:layers=3");
  const double keys_and_values = 2.0 * 1024 * 768 * 2;
  for (const auto& [kernels, recompute, times] :
       {std::tuple{AttentionKernels::automatic, "full", 4},
        std::tuple{AttentionKernels::eager, "none", 3},
        std::tuple{AttentionKernels::eager, "selective", 4}}) {
    PredictRequest request = in_bf16(1, 1024);
    request.framework_options.attention = kernels;
    const Outcome one =
        outcome_of(graph, "4xh100-sxm", std::string("cp=4,recompute=") + recompute, request);
    EXPECT_NEAR(one.sent().context_bytes, times * 3 * keys_and_values * 3 / 4, 1) << recompute;
  }
}

TEST(ContextParallel, the_work_of_all_ranks_is_that_of_one) {
  const Graph graph = load_model("llama2_7b:layers=4,width=2048,heads=16,kv_heads=16,ffn=5504");
  const PredictRequest request = in_bf16(1, 32768);
  const Outcome one = outcome_of(graph, "1xh100-sxm", "cp=1", request);
  const double compute_s = one.summary.result.iteration.mean().compute_s;
  const auto saved = static_cast<double>(one.costs.units[2].saved_bytes);
  for (const int ranks : {2, 4, 8}) {
    const std::string text = std::to_string(ranks);
    const Outcome shared = outcome_of(graph, text + "xh100-sxm", "cp=" + text, request);
    // Kernels of this length fill the device; what is not divided is small.
    EXPECT_NEAR(shared.summary.result.iteration.mean().compute_s * ranks / compute_s, 1, 0.1)
        << ranks;
    EXPECT_NEAR(static_cast<double>(shared.costs.units[2].saved_bytes) * ranks / saved, 1, 0.01);
    EXPECT_EQ(shared.parameters(), one.parameters());
    EXPECT_LE(shared.summary.limit_s, shared.summary.result.time_s);
    EXPECT_GT(shared.summary.limit_s, one.summary.limit_s / ranks * 0.95);
    // The same work with other exchanges.
    const Outcome heads =
        outcome_of(graph, text + "xh100-sxm", "exchange=all-to-all,cp=" + text, request);
    EXPECT_NEAR(heads.summary.result.iteration.mean().compute_s,
                shared.summary.result.iteration.mean().compute_s, 1e-12);
    EXPECT_EQ(heads.costs.units[2].saved_bytes, shared.costs.units[2].saved_bytes);
  }
}

TEST(ContextParallel, weights_are_summed_and_split_by_zero_over_all_its_ranks) {
  const Graph graph = load_model("gpt2:layers=2");
  const Outcome data = outcome_of(graph, "8xh100-sxm", "dp=8,zero=1", in_bf16(8, 1024));
  const Outcome both = outcome_of(graph, "8xh100-sxm", "dp=2,cp=4,zero=1", in_bf16(8, 1024));
  EXPECT_NEAR(both.sent().gradients_bytes, data.sent().gradients_bytes, 1);
  EXPECT_EQ(both.summary.result.most_memory().states_bytes,
            data.summary.result.most_memory().states_bytes);
}

TEST(ContextParallel, encoders_and_decoders_share_their_sequences_and_others_say_why_not) {
  const auto refusal = [](const char* model, const PredictRequest& request) {
    try {
      outcome_of(load_model(model), "4xh100-sxm", "cp=4", request);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported) << error.what();
      return std::string(error.what());
    }
    return std::string();
  };
  for (const char* model : {"gpt2:layers=1", "bert_base:layers=1", "bert_base:layers=1,head=mlm",
                            "llama2_7b:layers=1", "opt_125m:layers=1", "transformer_base:layers=1"})
    EXPECT_EQ(refusal(model, in_bf16(4, 512)), "") << model;
  EXPECT_NE(refusal("vit_b_16", {}).find("is fixed"), std::string::npos);
  EXPECT_NE(refusal("resnet18", {}).find("is fixed"), std::string::npos);
  EXPECT_NE(refusal("lstm", {}).find("has no attention"), std::string::npos);
  EXPECT_NE(refusal("gpt2:layers=1", in_bf16(4, 1020)).find("a sequence length that 8 divides"),
            std::string::npos);
}

// Long sequences are shared, and experts spread, only where the network has them.
TEST(ContextParallel, the_search_tries_what_the_network_has) {
  std::set<ContextExchange> exchanges;
  const auto tried = [&](const Graph& graph, const PredictRequest& request) {
    const Cluster cluster = load_cluster("8xh100-sxm");
    ParallelModel model(graph, cluster, request);
    std::set<std::pair<std::int64_t, std::int64_t>> found;
    for (const StrategyOutcome& one : model.choose().search.outcomes) {
      found.emplace(one.strategy.context, one.strategy.expert);
      exchanges.insert(one.strategy.exchange);
    }
    return found;
  };
  using Pairs = std::set<std::pair<std::int64_t, std::int64_t>>;
  const Graph gpt2 = load_model("gpt2:layers=2,positions=16384");
  EXPECT_EQ(tried(gpt2, in_bf16(2, 1024)), (Pairs{{1, 1}}));
  EXPECT_EQ(exchanges.size(), 1U);
  EXPECT_EQ(tried(gpt2, in_bf16(2, 16384)), (Pairs{{1, 1}, {2, 1}, {4, 1}}));
  EXPECT_EQ(exchanges.size(), 2U);
  EXPECT_EQ(tried(mixtral(1), in_bf16(8, 1024)), (Pairs{{1, 1}, {1, 2}, {1, 4}, {1, 8}}));
}

std::int64_t learnt_by_rank(const Graph& graph, std::int64_t ranks) {
  const SplitGraph split = split_tensors(graph, ranks);
  const BoundGraph bound = bind_graph(split.graph, {});
  std::int64_t sum = 0;
  for (TensorId id = 0; id < split.graph.tensors.size(); ++id)
    sum += split.graph.tensors[id].kind == TensorKind::parameter ? bound.tensors[id].elements : 0;
  return sum;
}

std::vector<std::int64_t> collective_sizes(const Graph& graph, std::int64_t ranks,
                                           std::int64_t batch) {
  const SplitGraph split = split_tensors(graph, ranks);
  Binding binding;
  for (const Parameter& parameter : split.graph.symbols.parameters())
    if (parameter.name == "batch") binding["batch"] = batch;
  const BoundGraph bound = bind_graph(split.graph, binding);
  std::vector<std::int64_t> sizes;
  for (const NodeCollective& one : split.collectives)
    sizes.push_back(static_cast<std::int64_t>(
        static_cast<double>(bound.tensors[one.tensor].elements) * one.share));
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

// A network is split the same, wherever it comes from.
TEST(TensorParallel, files_are_split_as_the_built_in_networks_of_the_same_sizes) {
  const Graph gpt2 = read_huggingface_text(
      R"({"activation_function":"gelu_new","architectures":["GPT2LMHeadModel"],"model_type":"gpt2",
          "n_ctx":1024,"n_embd":768,"n_head":12,"n_layer":2,"n_positions":1024,"vocab_size":50257})",
      "config.json");
  EXPECT_EQ(learnt_by_rank(gpt2, 4), learnt_by_rank(load_model("gpt2:layers=2"), 4));
  EXPECT_EQ(collective_sizes(gpt2, 4, 8), collective_sizes(load_model("gpt2:layers=2"), 4, 8));
  // T5: scores of distances have a column for every head. By hand: two stacks of six layers, with
  // attention between them, norms, two tables of 32 distances, and the words.
  const Graph t5 = read_huggingface_text(
      R"({"architectures":["T5ForConditionalGeneration"],"d_ff":2048,"d_kv":64,"d_model":512,
          "model_type":"t5","num_heads":8,"num_layers":6,"vocab_size":32128})",
      "config.json");
  for (const std::int64_t ranks : {1, 2, 4, 8}) {
    const std::int64_t products = 6 * (3 * 4 * 512 * 512 + 2 * 2 * 512 * 2048);
    EXPECT_EQ(learnt_by_rank(t5, ranks),
              (products + 2 * 32 * 8 + 32128 * 512) / ranks + (6 * 5 + 2) * 512)
        << ranks;
  }
  // The output has the table of the words as weights: it is split by words, as they are.
  const Graph opt = read_huggingface_text(
      R"({"architectures":["OPTForCausalLM"],"ffn_dim":4096,"do_layer_norm_before":false,
          "hidden_size":1024,"max_position_embeddings":2048,"model_type":"opt",
          "num_attention_heads":16,"num_hidden_layers":2,"vocab_size":50272,
          "word_embed_proj_dim":512})",
      "config.json");
  const std::int64_t layer = 4 * 1024 * 1024 + 3 * 1024 + 2 * 4096 * 1024 + 4096;
  const std::int64_t on_every_rank = 2 * (2 * 1024 + 4 * 1024) + 2050 * 1024 + 2 * 512 * 1024;
  EXPECT_EQ(learnt_by_rank(opt, 4), (2 * layer + 50272 * 512) / 4 + on_every_rank);
  const char* folder = std::getenv("STRATA_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "STRATA_MODELS is not set: no files to compare with";
  const Graph vit =
      load_model((std::filesystem::path(folder) / "onnx/torch/vit_b_16.onnx").string());
  for (const std::int64_t ranks : {2, 4, 12}) {
    // With the biases that the export left out: none of them is split.
    EXPECT_EQ(learnt_by_rank(vit, ranks), learnt_by_rank(load_model("vit_b_16"), ranks)) << ranks;
    EXPECT_EQ(collective_sizes(vit, ranks, 1), collective_sizes(load_model("vit_b_16"), ranks, 1))
        << ranks;
  }
  const Graph bert =
      load_model((std::filesystem::path(folder) / "onnx/torch/bert_base_s128.onnx").string());
  const Graph built_in = load_model("bert_base:head=mlm");  // of 128 words as well
  for (const std::int64_t ranks : {2, 4, 12})
    EXPECT_EQ(collective_sizes(bert, ranks, 1), collective_sizes(built_in, ranks, 1)) << ranks;
  // The file's output has a bias for each word besides.
  EXPECT_EQ(learnt_by_rank(bert, 2), learnt_by_rank(built_in, 2) + 30522 / 2);
}

}  // namespace
}  // namespace strata
