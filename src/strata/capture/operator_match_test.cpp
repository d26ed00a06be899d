// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/operator_match.hpp"

#include "strata/base/byte_source.hpp"
#include "strata/capture/chrome/chrome_json.hpp"
#include "strata/capture/kernel_origins.hpp"
#include "strata/capture/model_profile.hpp"
#include "strata/capture/operator_calls.hpp"
#include "strata/graph/builder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace strata {
namespace {

/// conv, batch norm, relu, conv, batch norm, addition, relu, linear.
Graph small_residual() {
  GraphBuilder builder("residual");
  const Dim batch = builder.symbols().parameter("batch", 2);
  const TensorId x = builder.input("x", {batch, 8, 6, 6});
  Convolution conv;
  conv.channels = 8;
  conv.kernel = {3, 3};
  conv.pad_begin = conv.pad_end = {1, 1};
  TensorId y = builder.add("conv1", conv, {x});
  y = builder.add("bn1", BatchNorm{}, {y});
  y = builder.add("relu1", Unary{UnaryKind::relu}, {y});
  y = builder.add("conv2", conv, {y});
  y = builder.add("bn2", BatchNorm{}, {y});
  y = builder.add("add", Elementwise{ElementwiseKind::add}, {y, x});
  y = builder.add("relu2", Unary{UnaryKind::relu}, {y});
  builder.output(y);
  return std::move(builder).finish();
}

std::vector<const Node*> nodes_of(const Graph& graph) {
  std::vector<const Node*> nodes;
  for (const Node& node : graph.nodes) nodes.push_back(&node);
  return nodes;
}

std::vector<CalledOperator> called(std::initializer_list<const char*> names) {
  std::vector<CalledOperator> calls;
  for (const char* name : names) calls.push_back({name, ""});
  return calls;
}

TEST(OperatorMatch, PairsInOrderAndPassesOverCounters) {
  const Graph graph = small_residual();
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}});
  // PyTorch counts batches before each normalisation: additions that no layer has.
  const auto calls =
      called({"aten::conv2d", "aten::add_", "aten::batch_norm", "aten::relu_", "aten::conv2d",
              "aten::add_", "aten::batch_norm", "aten::add_", "aten::relu_"});
  const OperatorMatch match = match_operators(calls, nodes_of(graph), bound);
  EXPECT_EQ(match.refusal, "");
  const std::vector<std::size_t> expected = {0, no_index, 1, 2, 3, no_index, 4, 5, 6};
  EXPECT_EQ(match.node, expected);
  EXPECT_FALSE(match.has_sizes);
}

TEST(OperatorMatch, SaysWhereItEnds) {
  const Graph graph = small_residual();
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}});
  const OperatorMatch match =
      match_operators(called({"aten::conv2d", "aten::batch_norm", "aten::relu_", "aten::linear"}),
                      nodes_of(graph), bound);
  EXPECT_NE(match.refusal.find("aten::linear where the network has 'conv2'"), std::string::npos)
      << match.refusal;
}

TEST(OperatorMatch, SizesMustAgreeAndNameTheBatch) {
  const Graph graph = small_residual();
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}});
  auto calls = called({"aten::conv2d", "aten::batch_norm", "aten::relu_", "aten::conv2d",
                       "aten::batch_norm", "aten::add_", "aten::relu_"});
  calls[0].inputs = "2,8,6,6;8,8,3,3;";
  EXPECT_TRUE(match_operators(calls, nodes_of(graph), bound).has_sizes);
  calls[0].inputs = "16,8,6,6;8,8,3,3;";
  EXPECT_NE(match_operators(calls, nodes_of(graph), bound).refusal.find("give --batch 16"),
            std::string::npos);
}

/// An operator, the call inside it that launches, and its kernel.
std::string recorded_operator(const char* name, const char* kernel, int at, int sequence,
                              bool is_backward = false) {
  return fmt::format(
      R"({{"ph":"X","cat":"cpu_op","name":"{0}","ts":{2},"dur":8,"tid":{4},"args":{{"Sequence number":{3}{5}}}}},
         {{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":{6},"dur":2,"tid":{4},"args":{{"correlation":{2}}}}},
         {{"ph":"X","cat":"kernel","name":"{1}","ts":{7},"dur":5,"args":{{"device":0,"stream":7,"correlation":{2}}}}},)",
      name, kernel, at, sequence, is_backward ? 2 : 1, is_backward ? R"(,"Fwd thread id":1)" : "",
      at + 2, at + 4);
}

TEST(OperatorMatch, LayersOfARecordingWithoutModulesAreFoundWithTheirGradients) {
  const Graph graph = small_residual();
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}});
  const char* conv = "sm80_xmma_fprop_implicit_gemm_tf32f32";
  const char* norm = "cudnn::bn_fw_tr_1C11_kernel_NCHW<float>";
  const char* point = "at::native::vectorized_elementwise_kernel<4>";
  std::string text = R"({"traceEvents":[)";
  text += recorded_operator("aten::conv2d", conv, 100, 1);
  text += recorded_operator("aten::add_", point, 110, 2);
  text += recorded_operator("aten::batch_norm", norm, 120, 2);
  text += recorded_operator("aten::relu_", point, 130, 3);
  text += recorded_operator("aten::conv2d", conv, 140, 4);
  text += recorded_operator("aten::batch_norm", norm, 150, 5);
  text += recorded_operator("aten::add_", point, 160, 6);
  text += recorded_operator("aten::relu_", point, 170, 7);
  text += recorded_operator("ReluBackward0", point, 200, 7, true);
  text += recorded_operator("CudnnBatchNormBackward0", "cudnn::bn_bw_1C11<float>", 210, 2, true);
  text += R"({"ph":"M","name":"x"}]})";
  const Recording recording = read_chrome_json(*text_source(text));
  const ModelProfile made = model_profile_of(recording, bound);
  EXPECT_EQ(made.match.by_operator, 7);
  EXPECT_EQ(made.match.operators, 8);
  EXPECT_TRUE(made.match.nodes_without_kernel.empty());
  EXPECT_FALSE(made.is_inference);
  const auto has_row = [&](std::string_view layer, std::string_view pass) {
    return std::any_of(
        made.profile.rows.begin(), made.profile.rows.end(),
        [&](const ProfileRow& row) { return row.layer == layer && row.pass.starts_with(pass); });
  };
  EXPECT_TRUE(has_row("relu2", "backward"));
  EXPECT_TRUE(has_row("bn1", "backward"));  // not the counter with the same number
  EXPECT_FALSE(has_row("bn2", "backward"));
}

TEST(OperatorMatch, KernelsAloneAreTheLastResort) {
  const Graph graph = small_residual();
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}});
  Recording recording;
  std::int64_t now = 1000;
  for (const char* name :
       {"sm80_xmma_fprop_implicit_gemm_tf32f32", "cudnn::bn_fw_inf_1C11_kernel_NCHW<float>",
        "at::native::vectorized_elementwise_kernel<4>", "sm80_xmma_fprop_implicit_gemm_tf32f32",
        "cudnn::bn_fw_inf_1C11_kernel_NCHW<float>", "at::native::vectorized_elementwise_kernel<4>",
        "at::native::vectorized_elementwise_kernel<4>"}) {
    KernelRecord kernel;
    kernel.time = {now, now + 10};
    kernel.name = recording.names.id_of(name);
    kernel.device = 0;
    recording.kernels.push_back(kernel);
    now += 20;
  }
  const ModelProfile made = model_profile_of(recording, bound);
  EXPECT_GT(made.match.by_kernel, 0);
  EXPECT_EQ(made.match.matched_kernels, 7);
  // The two last kernels are of the two last layers; which is of which cannot be told.
  EXPECT_EQ(made.profile.rows.back().layer, "add, relu2");
}

}  // namespace
}  // namespace strata
