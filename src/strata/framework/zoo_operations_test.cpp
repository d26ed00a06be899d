// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/small_network_test.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

// Every built-in network, against counts that do not come from the rules.
namespace strata {
namespace {

BoundGraph bind_few_samples(const Graph& graph) {
  Binding sizes;
  for (const Parameter& parameter : graph.symbols.parameters()) {
    if (parameter.name == "batch") sizes["batch"] = 3;
    if (parameter.name == "seq") sizes["seq"] = 8;
  }
  return bind_graph(graph, sizes);
}

/// Multiply-adds of a product or convolution, from its dimensions; 0 of everything else.
double multiply_adds(const FrameworkOperation& operation) {
  const KernelDims& d = operation.dims;
  switch (form_of(operation.kernel_class)) {
    case KernelForm::product: return d[0] * d[1] * d[2] * d[3];
    case KernelForm::convolution:
    case KernelForm::depthwise: return d[0] * d[1] / d[6] * d[2] * d[4] * d[5];
    default: return 0;
  }
}

double parameters_in(const BoundGraph& bound) {
  double elements = 0;
  for (TensorId id = 0; id < bound.tensors.size(); ++id) {
    if (bound.graph->tensors[id].kind == TensorKind::parameter && bound.tensors[id].wants_gradient)
      elements += static_cast<double>(bound.tensors[id].elements);
  }
  return elements;
}

class ZooOperations : public ::testing::TestWithParam<std::string_view> {};

TEST_P(ZooOperations, have_dimensions_and_the_arithmetic_of_the_network) {
  const Graph graph = build_network(GetParam());
  const BoundGraph bound = bind_few_samples(graph);
  const Program program = make_program(bound, {.unroll_recurrent = false});
  for (const std::optional<DType> autocast : {std::optional<DType>{}, std::optional{DType::bf16}}) {
    const FrameworkOperations operations = operations_of(
        program, framework_named("pytorch-eager"), {.autocast = autocast}, Optimizer::momentum);
    std::vector<double> counted(program.steps.size(), 0.0);
    for (const FrameworkOperation& one : operations.operations) {
      for (std::size_t i = 0; i < dims_of(form_of(one.kernel_class)).size(); ++i)
        ASSERT_GT(one.dims[i], 0) << small_network::line_of(one);
      ASSERT_LT(one.step, program.steps.size());
      counted[one.step] += multiply_adds(one);
    }
    for (StepId id = 0; id < program.steps.size(); ++id) {
      const Step& step = program.steps[id];
      if (counted[id] == 0 || std::holds_alternative<Attention>(graph.nodes[step.node].op))
        continue;
      EXPECT_NEAR(counted[id], static_cast<double>(step.mac), 1e-6 * counted[id])
          << name_of(program, id);
    }
    EXPECT_EQ(operations.operations.back().dims[1], parameters_in(bound));
    const bool has_yolo =
        GetParam().starts_with("yolo");  // its last layers are no function of PyTorch
    EXPECT_EQ(operations.unknown,
              has_yolo ? std::vector<std::string>{"yolo"} : std::vector<std::string>{});
  }
}

TEST_P(ZooOperations, of_the_engine_are_one_per_step) {
  const Graph graph = build_network(GetParam());
  const BoundGraph bound = bind_few_samples(graph);
  const Program program =
      make_program(bound, {.separate_backward = true, .unroll_recurrent = false});
  const FrameworkOperations operations =
      operations_of(program, framework_named("strata"), {}, Optimizer::momentum);
  std::vector<int> per_step(program.steps.size(), 0);
  for (const FrameworkOperation& one : operations.operations) {
    // A product with a stored matrix has the gradients of both in one step.
    const bool is_second = name_of(one.kernel_class) == "linear.backward_weight";
    EXPECT_LE(++per_step[one.step], is_second ? 2 : 1) << name_of(program, one.step);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ZooOperations, ::testing::ValuesIn([] {
                           std::vector<std::string_view> names;
                           for (const Network& network : networks()) names.push_back(network.name);
                           return names;
                         }()),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace strata
