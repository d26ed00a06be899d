// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/framework.hpp"

#include "strata/base/error.hpp"
#include "strata/framework/operations.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/machine/calibration.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace strata {
namespace {

std::string rules_with(const std::string& operators) {
  return fmt::format(R"({{"strata_framework": 1, "name": "mine", "title": "Mine",
                          "operators": {{{}}}}})",
                     operators);
}

/// Why a rules file is refused; "accepted" when it is not.
std::string refusal_of_rules(const std::string& text) {
  try {
    read_framework(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

bool says(const std::string& message, std::string_view what) {
  return message.find(what) != std::string::npos;
}

TEST(Framework, rules_are_read_word_by_word) {
  const Framework mine = read_framework(R"({"strata_framework": 1, "name": "mine", "title": "Mine",
    "iteration_calls": 7,
    "operators": {"convolution": {"host": "convolution", "calls": 3,
      "forward": ["convolution.forward", "channels.add_bias of output when bias"],
      "backward": ["stream.copy when broadcast of input"],
      "saves": ["2.25 of scores", "8 bytes of output"]}},
    "autocast": {"lower": ["convolution"], "fp32": ["softmax"]}})");
  ASSERT_NE(mine.find("convolution"), nullptr);
  EXPECT_EQ(mine.find("linear"), nullptr);
  const OperatorRule& rule = *mine.find("convolution");
  const auto class_named = [](std::string_view name) { return *operation_class_named(name); };
  EXPECT_EQ(rule.host, "convolution");
  EXPECT_EQ(rule.calls, 3);
  EXPECT_EQ(rule.forward,
            (std::vector<LaunchRule>{
                {class_named("convolution.forward"), RuleTensor::output, RuleCondition::always},
                {class_named("channels.add_bias"), RuleTensor::output, RuleCondition::bias}}));
  EXPECT_EQ(rule.backward, (std::vector<LaunchRule>{{class_named("stream.copy"), RuleTensor::input,
                                                     RuleCondition::broadcast}}));
  EXPECT_EQ(rule.saves,
            (std::vector<SavedTensor>{{2.25, 0, RuleTensor::scores}, {0, 8, RuleTensor::output}}));
  EXPECT_EQ(mine.iteration_calls, 7);
  EXPECT_EQ(mine.autocast.lower, std::vector<std::string>{"convolution"});
  EXPECT_EQ(mine.autocast.fp32, std::vector<std::string>{"softmax"});
}

TEST(Framework, rules_that_mean_nothing_are_refused_with_their_place) {
  const auto forward = [](const std::string& rule) {
    return refusal_of_rules(rules_with(fmt::format(R"("relu": {{"forward": ["{}"]}})", rule)));
  };
  const std::string place = "framework.operators.relu.forward[0]";
  for (const std::string rule :
       {"relu.sideways", "", "relu.forward of nothing", "relu.forward when raining",
        "relu.forward of", "relu.forward at output", "relu.forward times", "relu.forward times two",
        "relu.forward times 0", "relu.forward times 1.5"}) {
    const std::string message = forward(rule);
    EXPECT_TRUE(says(message, place)) << rule << ": " << message;
  }
  EXPECT_TRUE(says(forward("relu.sideways"), "'relu.sideways'"));
  EXPECT_TRUE(says(forward("relu.forward of nothing"), "output, input, scores, packed, one"));
  EXPECT_TRUE(says(forward("relu.forward when raining"), "always, bias, no_bias, broadcast"));
  EXPECT_EQ(forward("relu.forward of input when always times 0.5"), "accepted");

  const auto saves = [](const std::string& rule) {
    return refusal_of_rules(rules_with(fmt::format(R"("relu": {{"saves": ["{}"]}})", rule)));
  };
  for (const std::string rule : {"output", "-1 of output", "1 of", "1 byte of output", ""}) {
    const std::string message = saves(rule);
    EXPECT_TRUE(says(message, "framework.operators.relu.saves[0]")) << rule << ": " << message;
  }
}

TEST(Framework, files_of_another_shape_are_refused) {
  EXPECT_TRUE(says(refusal_of_rules("{"), "not JSON"));
  EXPECT_TRUE(says(refusal_of_rules("[]"), "framework: expected an object"));
  EXPECT_TRUE(says(refusal_of_rules("{}"), "strata_framework"));
  EXPECT_TRUE(says(refusal_of_rules(rules_with(R"("relu": [])")), "framework.operators.relu"));
  EXPECT_TRUE(says(refusal_of_rules(rules_with(R"("relu": {"forwards": []})")), "forwards"));
  EXPECT_TRUE(says(refusal_of_rules(rules_with(R"("relu": {"forward": [3]})")), "forward[0]"));
  EXPECT_TRUE(says(refusal_of_rules(rules_with(R"("relu": {"calls": -1})")), "relu.calls"));
  std::string list;
  for (int i = 0; i < 100; ++i) list += R"("relu.forward",)";
  list.pop_back();
  EXPECT_TRUE(says(refusal_of_rules(rules_with(R"("relu": {"forward": [)" + list + "]}")),
                   "framework.operators.relu.forward"));
}

/// A compiler's file; `fusion` replaces keys of its rules of fusion.
std::string compiler_with(const std::string& fusion, const std::string& more = "") {
  return fmt::format(R"({{"strata_framework": 1, "name": "mine", "title": "Mine", {}
                          "operators": {{}}, "fusion": {{{}}}}})",
                     more, fusion);
}
const std::string compiler_kernels =
    R"("pointwise_kernel": "stream.copy", "reduction_kernel": "stream.sum", "kernel_calls": 1)";

TEST(Framework, one_that_is_based_on_another_has_its_rules_but_for_those_it_replaces) {
  const Framework mine = read_framework(compiler_with(
      R"("pointwise": ["relu.forward"], "reductions": ["column_sum"], "copies": ["stream.cast"],
         "random": ["dropout.forward"], "random_bytes": 8, "channels_last": true, "pad_products": true, )" +
          compiler_kernels,
      R"("based_on": "pytorch-eager", "calibration": "pytorch-eager", "sigma": 0.2,)"));
  const Framework& eager = framework_named("pytorch-eager");
  EXPECT_EQ(mine.operators, eager.operators);
  EXPECT_EQ(mine.autocast.lower, eager.autocast.lower);
  EXPECT_EQ(mine.iteration_calls, eager.iteration_calls);
  EXPECT_EQ(mine.name, "mine");
  EXPECT_EQ(mine.calibration, "pytorch-eager");
  EXPECT_EQ(mine.sigma, 0.2);
  ASSERT_TRUE(mine.fusion);
  EXPECT_EQ(mine.fusion->kind_of(*operation_class_named("relu.forward")), FusionKind::pointwise);
  EXPECT_EQ(mine.fusion->kind_of(*operation_class_named("column_sum")), FusionKind::reduction);
  EXPECT_EQ(mine.fusion->kind_of(*operation_class_named("stream.cast")), FusionKind::copy);
  EXPECT_EQ(mine.fusion->kind_of(*operation_class_named("linear.forward")), FusionKind::stays);
  EXPECT_EQ(mine.fusion->random_bytes, 8);
  EXPECT_TRUE(mine.fusion->lays_channels_last);
  EXPECT_TRUE(mine.fusion->pads_products);
  EXPECT_EQ(eager.calibration, "pytorch-eager");
  EXPECT_FALSE(eager.fusion);
}

TEST(Framework, a_compiler_that_means_nothing_is_refused_with_its_place) {
  const auto refusal = [](const std::string& fusion, const std::string& more = "") {
    return refusal_of_rules(compiler_with(fusion, more));
  };
  EXPECT_EQ(refusal(compiler_kernels), "accepted");
  EXPECT_TRUE(says(refusal(compiler_kernels, R"("based_on": "tensorflow",)"),
                   "framework.based_on: there is no framework 'tensorflow'"));
  EXPECT_TRUE(says(refusal(compiler_kernels, R"("based_on": "pytorch-compile",)"),
                   "framework.based_on: pytorch-compile is itself based on another"));
  EXPECT_TRUE(says(refusal(R"("pointwise": ["relu.sideways"], )" + compiler_kernels),
                   "framework.fusion.pointwise[0]: there is no class of kernels"));
  EXPECT_TRUE(says(
      refusal(R"("pointwise": ["relu.forward"], "copies": ["relu.forward"], )" + compiler_kernels),
      "framework.fusion.copies: relu.forward is in two lists"));
  EXPECT_TRUE(says(refusal(R"("pointwise_kernel": "linear.forward",
                              "reduction_kernel": "stream.sum", "kernel_calls": 1)"),
                   "linear.forward does not depend on elements alone"));
  EXPECT_TRUE(says(refusal(R"("pointwise_kernel": "stream.copy")"), "reduction_kernel"));
  EXPECT_TRUE(says(refusal(R"("kernel_call": 2, )" + compiler_kernels), "kernel_call"));
}

TEST(Framework, an_unknown_name_lists_those_that_ship) {
  try {
    framework_named("caffe");
    FAIL() << "there is no such framework";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_TRUE(says(error.what(), "pytorch-eager"));
  }
}

TEST(Framework, classes_have_distinct_names_and_forms_with_dimensions) {
  std::set<std::string_view> names;
  for (const std::string_view name : operation_class_names()) {
    EXPECT_TRUE(names.insert(name).second) << name;
    const OperationClass kernel_class = *operation_class_named(name);
    EXPECT_EQ(name_of(kernel_class), name);
    const std::size_t dims = dims_of(form_of(kernel_class)).size();
    EXPECT_GE(dims, 1U);
    EXPECT_LE(dims, most_kernel_dims);
  }
  EXPECT_FALSE(operation_class_named("relu"));
}

/// All rules of the framework that ships, of every pass.
std::vector<LaunchRule> shipped_launch_rules() {
  std::vector<LaunchRule> all;
  for (const auto& [name, rule] : framework_named("pytorch-eager").operators) {
    for (const auto* list :
         {&rule.forward, &rule.backward, &rule.backward_input, &rule.backward_weight})
      all.insert(all.end(), list->begin(), list->end());
  }
  return all;
}

TEST(Framework, every_class_that_rules_name_was_measured) {
  const Calibration* calibration = find_calibration("h200", "pytorch-eager");
  ASSERT_NE(calibration, nullptr);
  std::set<std::string> measured, missing;
  for (const CalibratedClass& one : calibration->classes) measured.insert(one.kernel_class);
  for (const LaunchRule& rule : shipped_launch_rules()) {
    const std::string name(name_of(rule.kernel_class));
    if (measured.count(name) == 0) missing.insert(name);
  }
  // What backward of a batched product takes for its second operand: nobody measured it.
  EXPECT_EQ(missing, std::set<std::string>{});
}

TEST(Framework, every_operator_has_a_rule_or_is_listed_here) {
  const Framework& framework = framework_named("pytorch-eager");
  const Graph graph;
  std::vector<std::string> without;
  for (const std::string_view name : operator_names()) {
    Node node;
    node.op = *operator_named(name);
    if (rule_of(framework, {}, graph, node) == nullptr) without.emplace_back(name);
  }
  EXPECT_EQ(without, (std::vector<std::string>{"cast", "yolo", "opaque"}));
}

TEST(Framework, the_engines_rules_launch_once_per_pass) {
  for (const auto& [name, rule] : framework_named("strata").operators) {
    EXPECT_TRUE(operator_named(name) || name == "gradient_sum" || name == "unary" ||
                name == "elementwise")
        << name;
    for (const auto* list :
         {&rule.forward, &rule.backward, &rule.backward_input, &rule.backward_weight}) {
      const bool is_either = list->size() == 2 && (*list)[0].when == RuleCondition::no_broadcast &&
                             (*list)[1].when == RuleCondition::broadcast;
      EXPECT_TRUE(list->size() <= 1 || is_either) << name;
    }
  }
  const Graph graph;
  std::vector<std::string> without;
  for (const std::string_view name : operator_names()) {
    Node node;
    node.op = *operator_named(name);
    if (rule_of(framework_named("strata"), {}, graph, node) == nullptr) without.emplace_back(name);
  }
  EXPECT_EQ(without, (std::vector<std::string>{"yolo", "opaque"}));
}

TEST(Framework, attention_has_one_rule_where_a_framework_has_one_way) {
  Graph graph;
  graph.source = "torchvision";
  Node node;
  node.op = Attention{};
  const Framework& engine = framework_named("strata");
  for (const AttentionKernels kernels :
       {AttentionKernels::automatic, AttentionKernels::eager, AttentionKernels::module})
    EXPECT_EQ(rule_of(engine, {.attention = kernels}, graph, node), engine.find("attention"));
  node.op = Split{};
  EXPECT_EQ(rule_of(engine, {}, graph, node), engine.find("split"));
}

TEST(Framework, rules_are_for_operators_that_exist) {
  // What no network graph contains, and families of operators.
  const std::set<std::string> others = {"gradient_sum", "attention_module", "attention_eager",
                                        "unary", "elementwise"};
  for (const auto& [name, rule] : framework_named("pytorch-eager").operators)
    EXPECT_TRUE(operator_named(name) || others.count(name) > 0) << name;
  const AutocastRules& autocast = framework_named("pytorch-eager").autocast;
  for (const auto* list : {&autocast.lower, &autocast.fp32}) {
    for (const std::string& name : *list) EXPECT_TRUE(operator_named(name)) << name;
  }
}

}  // namespace
}  // namespace strata
