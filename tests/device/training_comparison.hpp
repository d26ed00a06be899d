// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/graph/bind.hpp"
#include "strata/graph/builder.hpp"
#include "tests/device/training_cases.hpp"
#include "tests/device/training_numbers.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

/// One operator on the GPU and on the CPU in double precision, with the same numbers.
namespace strata::test {

/// An operator as the only node of a graph whose data inputs are made from parameters, so that
/// their gradients are wanted.
class CaseGraph {
 public:
  explicit CaseGraph(const TrainingCase& one) : graph_(build(one, node_)) {}
  BoundGraph bound(DType dtype) const { return bind_graph(graph_, {}, dtype); }
  NodeId node() const { return node_; }
  const Graph& graph() const { return graph_; }

 private:
  static Graph build(const TrainingCase& one, NodeId& node) {
    GraphBuilder builder("case");
    std::vector<TensorId> inputs;
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
      const CaseInput& in = one.inputs[i];
      Shape shape;
      for (const std::int64_t extent : in.shape) shape.push_back(extent);
      const std::string name = "in" + std::to_string(i);
      if (in.dtype == DType::fp32 && in.has_gradient) {
        inputs.push_back(
            builder.add("make_" + name, Unary{UnaryKind::square}, {builder.stored(name, shape)}));
      } else {
        inputs.push_back(builder.input(name, shape, in.dtype));
      }
    }
    node = builder.add_node("node", one.op, inputs);
    return std::move(builder).finish();
  }
  NodeId node_ = 0;
  Graph graph_;
};

/// The name with the shapes of the inputs: many cases differ in nothing else.
std::string described(const TrainingCase& one);

/// The GPU in one data type, and the CPU in fp64.
class OnBoth : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    try {
      DeviceChoices choices;
      choices.dtype = GetParam();
      gpu_ = cuda_training_device(0, choices);
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    DeviceChoices exact;
    exact.dtype = DType::fp64;
    cpu_ = cpu_training_device(exact);
  }
  void compare(const TrainingCase& one, bool separately) {
    SCOPED_TRACE(described(one));
    EXPECT_EQ(refusal_or_compared(*gpu_, one, separately), "");
  }
  /// Why the GPU has no kernels; empty: its results were compared.
  std::string refusal_or_compared(TrainingDevice& gpu, const TrainingCase& one, bool separately);

  std::unique_ptr<TrainingDevice> gpu_, cpu_;
};

}  // namespace strata::test
