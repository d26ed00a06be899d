// SPDX-License-Identifier: Apache-2.0
// Operators that are computed in several ways, each of them forced.
#include "tests/device/training_comparison.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

namespace strata::test {
namespace {

/// Those of the list, and some that are larger, with weights as small as networks have them then:
/// with others each step makes the differences between devices larger.
std::vector<TrainingCase> recurrent_cases() {
  std::vector<TrainingCase> cases;
  for (TrainingCase& one : training_cases()) {
    if (std::holds_alternative<Recurrent>(one.op)) cases.push_back(std::move(one));
  }
  for (const CellKind cell : {CellKind::lstm, CellKind::gru, CellKind::rnn_tanh}) {
    const Recurrent op{.cell = cell, .hidden = 128, .layers = 2};
    cases.push_back({"recurrent of whole tiles", op, {{{16, 6, 64}}}});
    cases.back().own_low = -0.09;
    cases.back().own_high = 0.09;
  }
  return cases;
}

// What a library refuses it refuses with a reason; but the plain algorithm computes everything.
TEST_P(OnBoth, recurrent_layers_agree_in_every_way) {
  const std::vector<std::string> versions = gpu_->versions();
  const bool has_cudnn = std::any_of(versions.begin(), versions.end(), [](const auto& version) {
    return version.starts_with("cuDNN ");
  });
  for (const std::string way :
       {"own", "cudnn:rnn-standard", "cudnn:rnn-persist-static", "cudnn:rnn-persist-static-small",
        "cudnn:rnn-persist-dynamic", "cudnn"}) {
    SCOPED_TRACE(way);
    const bool must_run = way == "own" || (has_cudnn && way.find("persist") == std::string::npos);
    DeviceChoices choices;
    choices.dtype = GetParam();
    choices.recurrent = way;
    const auto gpu = cuda_training_device(0, choices);
    std::size_t computed = 0;
    for (const TrainingCase& one : recurrent_cases()) {
      SCOPED_TRACE(one.name);
      const CaseGraph graph(one);
      const BoundGraph bound = graph.bound(GetParam());
      const KernelsOrReason made = gpu->kernels(bound, graph.node(), true);
      if (const auto* none = std::get_if<NoKernels>(&made)) {
        EXPECT_FALSE(must_run) << none->reason;
        EXPECT_NE(none->reason, "");
        RecordProperty(way + ", " + one.name, none->reason);
        continue;
      }
      const std::string name =
          std::get<std::unique_ptr<NodeKernels>>(made)->implementation(Pass::backward);
      EXPECT_TRUE(name.starts_with(way == "own" ? "step by step" : way)) << name;
      EXPECT_EQ(refusal_or_compared(*gpu, one, false), "");
      ++computed;
    }
    std::printf("%s: %zu of %zu\n", way.c_str(), computed, recurrent_cases().size());
  }
}

TEST_P(OnBoth, every_way_of_attention_agrees) {
  const bool is_short = GetParam() == DType::bf16 || GetParam() == DType::fp16;
  const bool is_exact = GetParam() == DType::fp32 || GetParam() == DType::tf32;
  const std::vector<std::string> versions = gpu_->versions();
  const bool has_cudnn = std::any_of(versions.begin(), versions.end(), [](const std::string& one) {
    return one.starts_with("cuDNN");
  });
  const std::vector<TrainingCase> cases = attention_cases();
  for (const std::string way : {"products", "fused", "cudnn:sdpa"}) {
    SCOPED_TRACE(way);
    DeviceChoices choices;
    choices.dtype = GetParam();
    choices.attention = way;
    const auto gpu = cuda_training_device(0, choices);
    std::size_t compared = 0;
    for (const TrainingCase& one : cases) {
      SCOPED_TRACE(one.name);
      const std::string refusal = refusal_or_compared(*gpu, one, false);
      if (refusal.empty()) {
        ++compared;
      } else {
        std::cout << way << ", " << one.name << ": " << refusal << '\n';
      }
    }
    if (way == "products") {
      EXPECT_EQ(compared, cases.size());
    } else if (way == "fused") {
      EXPECT_EQ(compared, is_exact ? cases.size() - 1 : 0);  // not the mask that is learnt
    } else if (is_short && has_cudnn) {
      EXPECT_GE(compared, 4);
    }
  }
}

}  // namespace
}  // namespace strata::test
