// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/graph/bind.hpp"
#include "strata/graph/builder.hpp"
#include "strata/measure/training/device.hpp"
#include "strata/measure/training/tensor_numbers.hpp"
#include "tests/device/training_cases.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <span>
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

std::vector<double> random_doubles(std::int64_t count, double low, double high,
                                   std::mt19937_64& random);
/// Numbers that the type can hold, so that both devices begin with the same.
std::vector<double> rounded(std::vector<double> numbers, DType dtype);

/// Device memory with the numbers of a type in it.
class Placed {
 public:
  Placed(TrainingDevice& device, std::span<const double> numbers, DType dtype)
      : device_(device), dtype_(dtype), count_(numbers.size()) {
    const std::vector<std::byte> bytes = tensor_bytes(numbers, dtype);
    memory_ = device.allocate(static_cast<std::int64_t>(bytes.size()) + 256);
    device.upload(memory_.get(), bytes.data(), static_cast<std::int64_t>(bytes.size()));
  }
  void* get() const { return memory_.get(); }
  std::vector<double> numbers() const {
    std::vector<std::byte> bytes(count_ * static_cast<std::size_t>(bytes_per_element(dtype_)));
    device_.download(bytes.data(), memory_.get(), static_cast<std::int64_t>(bytes.size()));
    return tensor_numbers(bytes, dtype_);
  }

 private:
  TrainingDevice& device_;
  DType dtype_;
  std::size_t count_;
  std::shared_ptr<void> memory_;
};

/// Relative, over the whole tensor; infinite where an element was never written.
double error_of(const std::vector<double>& found, const std::vector<double>& expected);

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
    SCOPED_TRACE(one.name);
    EXPECT_EQ(refusal_or_compared(*gpu_, one, separately), "");
  }
  /// Why the GPU has no kernels; empty: its results were compared.
  std::string refusal_or_compared(TrainingDevice& gpu, const TrainingCase& one, bool separately);

  std::unique_ptr<TrainingDevice> gpu_, cpu_;
};

}  // namespace strata::test
