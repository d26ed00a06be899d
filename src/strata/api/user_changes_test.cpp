// SPDX-License-Identifier: Apache-2.0
#include "strata/api/user_changes.hpp"

#include "strata/api/explain.hpp"
#include "strata/api/what_if.hpp"
#include "strata/importers/huggingface/huggingface.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace strata {
namespace {

PredictRequest request_without_bounds() {
  PredictRequest request;
  request.bounds = WantBounds::not_at_all;
  return request;
}

std::vector<std::string> changes_of(const Graph& graph, std::string_view machine,
                                    const PredictRequest& request) {
  std::vector<std::string> texts;
  for (const Change& change :
       user_changes(bind_model(graph, request.sizes), load_machine(machine), request, {}))
    texts.push_back(text_of(change));
  return texts;
}

std::vector<std::string> changes_of(std::string_view model, std::string_view machine,
                                    const PredictRequest& request) {
  return changes_of(load_model(model), machine, request);
}

using Texts = std::vector<std::string>;

TEST(UserChanges, group_experts_where_there_are_some_and_no_compiler) {
  const Graph graph = read_huggingface_text(
      R"({"model_type":"mixtral","architectures":["MixtralForCausalLM"],"hidden_size":64,
          "intermediate_size":128,"num_hidden_layers":1,"num_attention_heads":4,
          "num_key_value_heads":2,"num_local_experts":4,"num_experts_per_tok":2,
          "vocab_size":100,"max_position_embeddings":64,"hidden_act":"silu"})",
      "config.json");
  const auto has = [&](const PredictRequest& request) {
    const std::vector<std::string> texts = changes_of(graph, "h200", request);
    return std::find(texts.begin(), texts.end(), "--experts grouped") != texts.end();
  };
  PredictRequest request = request_without_bounds();
  EXPECT_TRUE(has(request));
  request.framework = "pytorch-compile";
  EXPECT_FALSE(has(request));
  request = request_without_bounds();
  request.framework_options.experts = ExpertKernels::grouped;
  EXPECT_FALSE(has(request));
}

TEST(UserChanges, are_those_that_apply) {
  PredictRequest request = request_without_bounds();
  EXPECT_EQ(changes_of("lenet5", "h200", request),
            (Texts{"--dtype tf32", "--amp bf16", "--framework pytorch-compile", "batch 64",
                   "--on b200", "--on b300"}));
  // No TF32 and no bf16 there.
  EXPECT_EQ(changes_of("lenet5", "v100", request).at(0), "--amp fp16");
  request.framework_options = {.autocast = DType::bf16, .attention = AttentionKernels::eager};
  EXPECT_EQ(changes_of("lenet5", "h200", request),
            (Texts{"--channels-last", "--attention sdpa", "--framework pytorch-compile", "batch 64",
                   "--on b200", "--on b300"}));
  request.framework_options.channels_last = true;
  EXPECT_EQ(changes_of("lenet5", "h200", request).at(0), "--attention sdpa");
  request.hardware.bytes_per_s = 1e12;  // of no other machine
  EXPECT_EQ(changes_of("lenet5", "h200", request),
            (Texts{"--attention sdpa", "--framework pytorch-compile", "batch 64"}));
  // A network of products alone has no layout of images.
  request = request_without_bounds();
  request.framework_options.autocast = DType::bf16;
  EXPECT_EQ(changes_of("bert_base", "h200", request),
            (Texts{"--framework pytorch-compile", "batch 64", "--on b200", "--on b300"}));
  request = request_without_bounds();
  EXPECT_EQ(changes_of("lenet5", "p100", request).at(0), "batch 64");  // Triton has no kernels
  request.framework_options.autocast = DType::bf16;
  // What is compiled is not compiled again, and lays images out by itself.
  request.framework = "pytorch-compile";
  EXPECT_EQ(changes_of("resnet18", "h200", request), (Texts{"batch 64", "--on b200", "--on b300"}));
}

TEST(UserChanges, next_gpus_are_faster_ones_of_the_same_vendor) {
  EXPECT_TRUE(next_gpus(load_machine("gb300"), DType::bf16).empty());
  EXPECT_EQ(next_gpus(load_machine("h200"), DType::bf16), (Texts{"b200", "b300"}));
  EXPECT_EQ(next_gpus(load_machine("a100-80gb"), DType::bf16), (Texts{"h100-sxm", "gh200"}));
  EXPECT_TRUE(next_gpus(load_machine("mi250x"), DType::bf16).empty());  // none has a calibration
  for (const std::string& name : next_gpus(load_machine("rtx-2080-ti"), DType::fp16))
    EXPECT_TRUE(name.starts_with("rtx")) << name;
}

TEST(UserChanges, hints_and_what_ifs_are_expected_times_with_that_change) {
  const Graph graph = load_model("resnet18");
  const Machine machine = load_machine("h200");
  const PredictRequest request = request_without_bounds();
  const PredictedIteration iteration = predict_model(graph, machine, request);
  const double now_s = iteration.summary.expected->time_s;
  const auto expected_s = [&](const PredictRequest& changed, std::string_view on = "h200") {
    return predict_model(graph, load_machine(on), changed).summary.expected->time_s;
  };
  PredictRequest tf32 = request, amp = request, twice = request, compiled = request;
  compiled.framework = "pytorch-compile";
  tf32.sizes.dtype = DType::tf32;
  amp.framework_options.autocast = DType::bf16;
  twice.sizes.batch = 64;
  const std::map<std::string, double> ratios = {
      {"--dtype tf32", now_s / expected_s(tf32)},
      {"--amp bf16", now_s / expected_s(amp)},
      {"--framework pytorch-compile", now_s / expected_s(compiled)},
      {"batch 64", 2 * now_s / expected_s(twice)},
      {"--on b200", now_s / expected_s(request, "b200")},
      {"--on b300", now_s / expected_s(request, "b300")}};
  std::size_t checked = 0;
  for (const Alternative& one : iteration.summary.alternatives) {
    if (!one.is_expected) continue;
    EXPECT_NEAR(one.speed_ratio, ratios.at(one.change), 1e-9) << one.change;
    ++checked;
  }
  EXPECT_EQ(checked, ratios.size());
  const Explanation explained = explain_iteration(graph, machine, request, iteration);
  checked = 0;
  for (const WhatIf& what_if : explained.what_ifs) {
    if (!what_if.is_expected) continue;
    EXPECT_NEAR(now_s / *what_if.time_s, ratios.at(text_of(what_if.change)), 1e-9);
    ++checked;
  }
  EXPECT_EQ(checked, ratios.size());
  EXPECT_EQ(explained.time_s, now_s);
  EXPECT_EQ(explained.limit_s, iteration.summary.totals.time_s);
}

TEST(UserChanges, of_a_host_bound_iteration_a_faster_gpu_is_none_that_helps) {
  const Graph graph = load_model("lenet5");
  const ExplainedModel explained =
      explain_model(graph, load_machine("h200"), request_without_bounds());
  EXPECT_EQ(explained.explanation.findings.at(0).code, FindingCode::host_bound);
  for (const WhatIf& what_if : explained.explanation.what_ifs) {
    if (std::holds_alternative<OnMachine>(what_if.change)) {
      EXPECT_LT(what_if.gain_share(), 0.01);
    } else if (std::holds_alternative<BatchOf>(what_if.change)) {
      EXPECT_GT(what_if.gain_share(), 0.3);
    }
  }
}

TEST(UserChanges, compiling_is_what_a_host_bound_iteration_is_told_where_it_gains) {
  PredictRequest request = request_without_bounds();
  request.framework_options.autocast = DType::bf16;
  const ExplainedModel explained =
      explain_model(load_model("resnet50"), load_machine("h200"), request);
  const ProfileFinding& first = explained.explanation.findings.at(0);
  ASSERT_EQ(first.code, FindingCode::host_bound);
  const auto compiled =
      std::find_if(first.what_ifs.begin(), first.what_ifs.end(), [](const WhatIf& what_if) {
        return text_of(what_if.change) == "--framework pytorch-compile";
      });
  ASSERT_NE(compiled, first.what_ifs.end());
  EXPECT_GT(compiled->gain_share(), 0.1);
}

TEST(MemoryNeed, the_largest_batch_fits_and_the_next_does_not) {
  const Graph graph = load_model("resnet18");
  const Machine machine = load_machine("l4");
  PredictRequest request = request_without_bounds();
  request.training.optimizer = Optimizer::adam;
  request.wants_alternatives = false;
  const auto summary_of = [&](std::int64_t batch) {
    request.sizes.batch = batch;
    return predict_model(graph, machine, request).summary;
  };
  const PredictionSummary large = summary_of(4096);
  ASSERT_FALSE(large.fits_device());
  ASSERT_TRUE(large.largest_batch);
  ASSERT_GT(*large.largest_batch, 1);
  EXPECT_TRUE(summary_of(*large.largest_batch).fits_device());
  EXPECT_FALSE(summary_of(*large.largest_batch + 1).fits_device());
  EXPECT_TRUE(summary_of(*large.largest_batch).memory_changes.empty());
  // What a change needs is what predict says with it.
  ASSERT_FALSE(large.memory_changes.empty());
  for (const MemoryChange& one : large.memory_changes) {
    EXPECT_LT(one.needed_bytes, large.needed_memory_bytes());
    if (one.change != "--recompute all") continue;
    request.training.recompute = Recompute::all;
    EXPECT_EQ(one.needed_bytes, summary_of(4096).needed_memory_bytes());
  }
}

// bf16 was named on GPUs that have none.
TEST(MemoryNeed, what_saves_memory_is_what_the_machine_can_do) {
  const Graph graph = load_model("resnet18");
  for (const char* name : {"t4", "v100-nersc", "rtx-2080-ti", "p100", "a100-40gb"}) {
    const Machine machine = load_machine(name);
    PredictRequest request = request_without_bounds();
    request.sizes.batch = 65536;
    request.wants_alternatives = false;
    const PredictionSummary large = predict_model(graph, machine, request).summary;
    ASSERT_FALSE(large.memory_changes.empty()) << name;
    bool names_bf16 = false;
    for (const MemoryChange& one : large.memory_changes)
      names_bf16 |= one.change.find("bf16") != one.change.npos;
    EXPECT_EQ(names_bf16, std::string_view(name) == "a100-40gb") << name;
  }
}

TEST(MemoryNeed, what_ifs_of_a_batch_that_does_not_fit_say_so) {
  const Graph graph = load_model("resnet18");
  PredictRequest request = request_without_bounds();
  request.sizes.batch = 32;
  const std::vector<Change> changes = {BatchOf{8192}};
  const auto answers = expect_again(graph, load_machine("l4"), request)(changes);
  EXPECT_FALSE(answers[0].time_s);
  EXPECT_TRUE(answers[0].reason.starts_with("out of memory: needs ")) << answers[0].reason;
}

// The limit of an autocast iteration is in 16 bits, for whoever predicts it again, too.
TEST(LimitRequest, autocast_is_predicted_again_as_it_was) {
  const Graph graph = load_model("lenet5");
  const Machine machine = load_machine("h200");
  PredictRequest request = request_without_bounds();
  request.framework_options.autocast = DType::bf16;
  EXPECT_EQ(predicted_time_s(graph, machine, request),
            predict_model(graph, machine, request).summary.totals.time_s);
}

}  // namespace
}  // namespace strata
