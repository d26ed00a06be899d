// SPDX-License-Identifier: Apache-2.0
#include "strata/api/predict.hpp"
#include "strata/base/error.hpp"
#include "strata/explain/explain.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

namespace strata {
namespace {

/// ResNet-18 at a batch of 8, recorded with PyTorch 1.13.
Graph recorded_resnet18() {
  return load_model(STRATA_SOURCE_DIR "/tests/recordings/resnet18.json");
}

PredictRequest of_batch(std::optional<std::int64_t> batch) {
  PredictRequest request;
  request.sizes.batch = batch;
  request.wants_alternatives = false;
  return request;
}

double apart(double one, double other) { return std::abs(one / other - 1); }

// The same network twice: as PyTorch ran it, and as the rules derive it.
TEST(Recording, agrees_with_the_built_in_network) {
  const Machine machine = load_machine("h200");
  const PredictedIteration recorded = predict_model(recorded_resnet18(), machine, of_batch({}));
  const PredictedIteration derived = predict_model(load_model("resnet18"), machine, of_batch(8));
  const PredictionTotals &a = recorded.summary.totals, &b = derived.summary.totals;
  EXPECT_EQ(a.samples, 8);
  EXPECT_LT(apart(static_cast<double>(a.flop), static_cast<double>(b.flop)), 1e-6);
  EXPECT_LT(apart(a.time_s, b.time_s), 0.02);
  ASSERT_TRUE(recorded.summary.expected && derived.summary.expected);
  EXPECT_LT(apart(recorded.summary.expected->busy_s, derived.summary.expected->busy_s), 0.03);
  EXPECT_LT(apart(static_cast<double>(recorded.summary.expected->launches),
                  static_cast<double>(derived.summary.expected->launches)),
            0.03);
  EXPECT_LT(apart(recorded.summary.expected->time_s, derived.summary.expected->time_s), 0.04);
}

TEST(Recording, has_the_parameters_of_its_module_and_layers_by_their_paths) {
  const Graph graph = recorded_resnet18();
  std::int64_t parameters = 0;
  const BoundGraph bound = bind_model(graph);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].kind == TensorKind::parameter) parameters += bound.tensors[id].elements;
  }
  EXPECT_EQ(parameters, 11'689'512);  // torchvision's count
  const auto has = [&](std::string_view name) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                       [&](const Node& node) { return node.name == name; });
  };
  EXPECT_TRUE(has("layer1.0.conv1"));
  EXPECT_TRUE(has("layer4.1.bn2"));
  EXPECT_TRUE(has("fc"));
}

std::string refusal(PredictRequest request) {
  try {
    predict_model(recorded_resnet18(), load_machine("h200"), request);
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal);
    return error.what();
  }
  return "";
}

TEST(Recording, refuses_what_it_does_not_say_with_the_way_out) {
  EXPECT_NE(refusal(of_batch(64)).find("record it again with inputs of that batch"),
            std::string::npos);
  EXPECT_EQ(refusal(of_batch(8)), "");
  for (const auto& [name, value] : {std::pair{"optimizer", "adam"},
                                    {"micro-batches", "2"},
                                    {"amp", "bf16"},
                                    {"inference", "true"}}) {
    PredictRequest request = of_batch({});
    set_option(request, name, value);
    EXPECT_NE(refusal(request).find("record it"), std::string::npos) << name;
  }
  PredictRequest compiled = of_batch({});
  compiled.framework = "pytorch-compile";
  EXPECT_NE(refusal(compiled).find("needs the network from a file"), std::string::npos);
}

TEST(Recording, may_multiply_in_tf32) {
  PredictRequest request = of_batch({});
  request.sizes.dtype = DType::tf32;
  const Machine machine = load_machine("h200");
  const PredictedIteration tf32 = predict_model(recorded_resnet18(), machine, request);
  const PredictedIteration fp32 = predict_model(recorded_resnet18(), machine, of_batch({}));
  EXPECT_LT(tf32.summary.expected->busy_s, 0.8 * fp32.summary.expected->busy_s);
}

}  // namespace
}  // namespace strata
