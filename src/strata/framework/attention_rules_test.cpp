// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/framework/small_network_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace strata {
namespace {

using small_network::Lines;
using small_network::Net;

/// Three products and causal attention over them in a framework.
Lines attention_forward(const std::string& framework, const FrameworkOptions& options,
                        std::string_view source = "") {
  Net net{.framework = framework};
  GraphBuilder& b = net.builder;
  const TensorId x = b.input("x", {2, 5, 12});
  const TensorId q = b.add("q", Linear{.features = 12}, {x});
  const TensorId k = b.add("k", Linear{.features = 12}, {x});
  const TensorId v = b.add("v", Linear{.features = 12}, {x});
  b.add("attention", Attention{.heads = 3, .causal = true}, {q, k, v});
  b.graph().source = source;
  net.finish(options);
  return net.lines("attention forward");
}

std::string refusal_of_attention(const std::string& framework, AttentionKernels asked) {
  try {
    attention_forward(framework, {.attention = asked});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    return error.what();
  }
  return "accepted";
}

// Megatron Core and NeMo call flash attention; products and a fused softmax are the kernels of
// 2022.
TEST(AttentionRules, megatron_computes_attention_as_it_is_asked_to) {
  const Lines fused = {"attention.forward fp32 2 3 5 5 4 2"};
  EXPECT_EQ(attention_forward("megatron", {}), fused);
  EXPECT_EQ(attention_forward("megatron", {}, "torchvision 0.20"), fused);
  EXPECT_EQ(attention_forward("megatron", {.attention = AttentionKernels::fused}), fused);
  const Lines eager = attention_forward("megatron", {.attention = AttentionKernels::eager});
  EXPECT_EQ(eager, (Lines{"batched.nt fp32 6 5 5 4", "softmax.forward fp32 30 5",
                          "dropout.forward fp32 150", "batched.nn fp32 6 5 4 5",
                          "heads.permute_contiguous fp32 120"}));
}

TEST(AttentionRules, a_way_that_a_framework_does_not_have_is_refused) {
  EXPECT_EQ(refusal_of_attention("megatron", AttentionKernels::module),
            "--attention module: megatron has sdpa and eager");
  EXPECT_EQ(refusal_of_attention("strata", AttentionKernels::eager),
            "--attention eager: strata has sdpa");
  EXPECT_EQ(refusal_of_attention("strata", AttentionKernels::fused), "accepted");
  for (const AttentionKernels kernels :
       {AttentionKernels::fused, AttentionKernels::eager, AttentionKernels::module})
    EXPECT_EQ(refusal_of_attention("pytorch-compile", kernels), "accepted");
}

// PyTorch's kernels for 16 bits write their results in the order in which the module reads them.
TEST(AttentionRules, a_module_copies_less_in_16_bits) {
  const auto copies = [](const FrameworkOptions& options) {
    const Lines lines = attention_forward("pytorch-eager", options, "torchvision 0.20");
    return std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
      return line.starts_with("heads.permute_contiguous");
    });
  };
  EXPECT_EQ(copies({}), 5);
  EXPECT_EQ(copies({.autocast = DType::bf16}), 4);
}

// What a network is known for is no order: a framework with one way takes it.
TEST(AttentionRules, what_nobody_asked_for_is_not_refused) {
  EXPECT_EQ(attention_forward("strata", {}, "torchvision 0.20"),
            Lines{"attention.forward fp32 2 3 5 5 4 2"});
}

TEST(AttentionRules, a_file_may_take_a_rule_away_from_its_base) {
  const Framework changed = read_framework(R"({"strata_framework": 1, "name": "mine",
    "title": "mine", "based_on": "pytorch-eager", "operators": {"attention_eager": null}})");
  EXPECT_EQ(changed.find("attention_eager"), nullptr);
  EXPECT_NE(changed.find("attention_module"), nullptr);
}

}  // namespace
}  // namespace strata
