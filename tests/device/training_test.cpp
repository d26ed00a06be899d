// SPDX-License-Identifier: Apache-2.0
// Every operator on the GPU, in every pass and data type, against the CPU's kernels in double
// precision on the same numbers; those are held against finite differences by the unit tests.
#include "strata/base/error.hpp"
#include "strata/cost/cost.hpp"
#include "strata/measure/training/device.hpp"
#include "strata/measure/training/tensor_numbers.hpp"
#include "tests/device/training_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <random>

namespace strata::test {
namespace {

/// Numbers of a node's tensors, by position.
struct NodeNumbers {
  std::vector<std::vector<double>> inputs, output_gradients;
  std::vector<std::vector<double>> outputs, input_gradients;  ///< empty: none
};

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
                                   std::mt19937_64& random) {
  std::uniform_real_distribution<double> numbers(low, high);
  std::vector<double> result(static_cast<std::size_t>(count));
  for (double& number : result) number = numbers(random);
  return result;
}

/// Numbers that the type can hold, so that both devices begin with the same.
std::vector<double> rounded(std::vector<double> numbers, DType dtype) {
  return tensor_numbers(tensor_bytes(numbers, dtype), dtype);
}

NodeNumbers made_up(const TrainingCase& one, const BoundGraph& bound, NodeId id,
                    std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Node& node = bound.graph->nodes[id];
  NodeNumbers numbers;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const BoundTensor& tensor = bound.tensors[node.inputs[i]];
    const bool is_own = i >= node.first_own;
    // Of both signs: gates that are all driven one way would saturate, and their gradients vanish.
    const CaseInput in = is_own ? CaseInput{{}, -0.5, 0.7} : one.inputs[i];
    const double high = in.indices_below > 0 ? static_cast<double>(in.indices_below) : in.high;
    std::vector<double> made = random_doubles(tensor.elements, in.low, high, random);
    if (!is_floating(tensor.dtype) || in.indices_below > 0) {
      for (double& number : made) number = std::floor(number);
    }
    numbers.inputs.push_back(rounded(std::move(made), tensor.dtype));
  }
  for (const TensorId output : node.outputs) {
    const BoundTensor& tensor = bound.tensors[output];
    numbers.output_gradients.push_back(
        is_floating(tensor.dtype)
            ? rounded(random_doubles(tensor.elements, -1, 1, random), tensor.dtype)
            : std::vector<double>{});
  }
  return numbers;
}

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

std::vector<double> poison(std::int64_t count, DType dtype) {
  return std::vector<double>(static_cast<std::size_t>(count),
                             is_floating(dtype) ? std::numeric_limits<double>::quiet_NaN() : 1);
}

/// Only the gradients that belong to a pass.
NodeMemory of_pass(NodeMemory memory, const Graph& graph, const Node& node, Pass pass) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_parameter = graph.tensors[node.inputs[i]].kind == TensorKind::parameter;
    if (is_parameter != (pass == Pass::backward_weight)) memory.input_gradients[i] = nullptr;
  }
  return memory;
}

/// Runs a node forward and backward; empty with a reason where the device has no kernels.
std::string run_node(TrainingDevice& device, const BoundGraph& bound, NodeId id, bool separately,
                     NodeNumbers& numbers) {
  KernelsOrReason made = device.kernels(bound, id, true);
  if (const auto* none = std::get_if<NoKernels>(&made)) return none->reason;
  NodeKernels& kernels = *std::get<std::unique_ptr<NodeKernels>>(made);
  const Node& node = bound.graph->nodes[id];
  const NodeNeeds needs = kernels.needs();
  std::vector<std::unique_ptr<Placed>> placed;
  const auto place = [&](std::span<const double> values, DType dtype) {
    placed.push_back(std::make_unique<Placed>(device, values, dtype));
    return placed.back().get();
  };
  NodeMemory memory;
  std::vector<Placed*> outputs, gradients;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const BoundTensor& tensor = bound.tensors[node.inputs[i]];
    memory.inputs.push_back(place(numbers.inputs[i], tensor.dtype)->get());
    gradients.push_back(tensor.wants_gradient
                            ? place(poison(tensor.elements, tensor.dtype), tensor.dtype)
                            : nullptr);
    memory.input_gradients.push_back(gradients.back() != nullptr ? gradients.back()->get()
                                                                 : nullptr);
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const BoundTensor& tensor = bound.tensors[node.outputs[i]];
    outputs.push_back(place(poison(tensor.elements, tensor.dtype), tensor.dtype));
    memory.outputs.push_back(outputs.back()->get());
    const bool is_wanted = tensor.wants_gradient && !numbers.output_gradients[i].empty();
    memory.output_gradients.push_back(
        is_wanted ? place(numbers.output_gradients[i], tensor.dtype)->get() : nullptr);
  }
  // Rounding and comparisons have none.
  const NodeCost cost = cost_of(bound, id);
  const bool has_gradient = cost.backward_input.exists() || cost.backward_weight.exists();
  const std::vector<double> junk(static_cast<std::size_t>(needs.scratch_bytes / 8 + 1), -1e300);
  const std::vector<double> saved(static_cast<std::size_t>(needs.saved_bytes / 8 + 1), -1e300);
  memory.scratch = place(junk, DType::fp64)->get();
  memory.saved = place(saved, DType::fp64)->get();
  kernels.run(Pass::forward, memory);
  if (has_gradient) {
    // What backward does not ask for is not there any more.
    for (std::size_t i = 0; i < node.first_own && !needs.inputs; ++i) memory.inputs[i] = nullptr;
    if (!needs.outputs) std::fill(memory.outputs.begin(), memory.outputs.end(), nullptr);
    if (separately && !needs.backward_is_one) {
      for (const Pass pass : {Pass::backward_input, Pass::backward_weight})
        kernels.run(pass, of_pass(memory, *bound.graph, node, pass));
    } else {
      kernels.run(Pass::backward, memory);
    }
  }
  device.wait();
  for (const Placed* output : outputs) numbers.outputs.push_back(output->numbers());
  for (const Placed* gradient : gradients) {
    numbers.input_gradients.push_back(gradient != nullptr && has_gradient ? gradient->numbers()
                                                                          : std::vector<double>{});
  }
  return {};
}

/// Relative, over the whole tensor; not a number where an element was never written.
double error_of(const std::vector<double>& found, const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(found[i])) return std::numeric_limits<double>::infinity();
    difference += (found[i] - expected[i]) * (found[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference / (size + 1e-12 * static_cast<double>(expected.size() + 1)));
}

double tolerance_of(const Operator& op, DType dtype) {
  switch (dtype) {
    case DType::fp64: return 1e-9;
    // cuDNN's Winograd loses digits where there are few channels.
    case DType::fp32: return std::holds_alternative<Convolution>(op) ? 2e-4 : 3e-5;
    case DType::tf32: return 3e-3;
    case DType::fp16: return 6e-3;
    default: return 5e-2;
  }
}

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

std::string OnBoth::refusal_or_compared(TrainingDevice& gpu, const TrainingCase& one,
                                        bool separately) {
  const CaseGraph graph(one);
  const BoundGraph of_gpu = graph.bound(GetParam()), of_cpu = graph.bound(DType::fp64);
  NodeNumbers found = made_up(one, of_gpu, graph.node(), 7);
  NodeNumbers expected;
  expected.inputs = found.inputs;
  expected.output_gradients = found.output_gradients;
  try {
    const std::string refusal = run_node(gpu, of_gpu, graph.node(), separately, found);
    if (!refusal.empty()) return refusal;
    EXPECT_EQ(run_node(*cpu_, of_cpu, graph.node(), false, expected), "");
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
    return {};
  }
  const double tolerance = tolerance_of(one.op, GetParam());
  for (std::size_t i = 0; i < expected.outputs.size(); ++i)
    EXPECT_LT(error_of(found.outputs[i], expected.outputs[i]), tolerance) << "output " << i;
  for (std::size_t i = 0; i < expected.input_gradients.size(); ++i)
    EXPECT_LT(error_of(found.input_gradients[i], expected.input_gradients[i]), tolerance)
        << "gradient " << i;
  return {};
}

TEST_P(OnBoth, every_operator_agrees) {
  for (const TrainingCase& one : training_cases()) compare(one, false);
}

TEST_P(OnBoth, gradients_agree_one_by_one) {
  for (const TrainingCase& one : training_cases()) compare(one, true);
}

/// Those of the list, and some as large as networks have them: persistent kernels want whole tiles.
std::vector<TrainingCase> recurrent_cases() {
  std::vector<TrainingCase> cases;
  for (TrainingCase& one : training_cases()) {
    if (std::holds_alternative<Recurrent>(one.op)) cases.push_back(std::move(one));
  }
  for (const CellKind cell : {CellKind::lstm, CellKind::gru, CellKind::rnn_tanh}) {
    const Recurrent op{.cell = cell, .hidden = 128, .layers = 2};
    cases.push_back({"recurrent of whole tiles", op, {{{16, 6, 64}}}});
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

INSTANTIATE_TEST_SUITE_P(Training, OnBoth,
                         testing::Values(DType::fp64, DType::fp32, DType::tf32, DType::bf16,
                                         DType::fp16),
                         [](const auto& one) { return std::string(name_of(one.param)); });

class TrainingGpu : public testing::Test {
 protected:
  void SetUp() override {
    try {
      gpu_ = cuda_training_device(0, {});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  std::unique_ptr<TrainingDevice> gpu_;
};

TEST_F(TrainingGpu, updates_as_the_cpu_does) {
  const auto cpu = cpu_training_device({});
  std::mt19937_64 random(3);
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam}) {
    const std::int64_t count = 1003;
    const std::vector<double> start = random_doubles(count, -1, 1, random);
    const std::vector<double> gradient = random_doubles(count, -1, 1, random);
    std::vector<std::vector<double>> results;
    for (TrainingDevice* device : {gpu_.get(), cpu.get()}) {
      const Placed parameter(*device, start, DType::fp32), slope(*device, gradient, DType::fp32);
      const std::vector<double> zeros(static_cast<std::size_t>(count), 0);
      const Placed first(*device, zeros, DType::fp32), second(*device, zeros, DType::fp32);
      UpdateMemory memory;
      memory.parameter = parameter.get();
      memory.gradient = slope.get();
      if (optimizer != Optimizer::sgd) memory.states.push_back(static_cast<float*>(first.get()));
      if (optimizer == Optimizer::adam) memory.states.push_back(static_cast<float*>(second.get()));
      memory.elements = count;
      for (memory.iteration = 1; memory.iteration <= 3; ++memory.iteration)
        device->update({.optimizer = optimizer}, memory);
      device->wait();
      results.push_back(parameter.numbers());
    }
    EXPECT_LT(error_of(results[0], results[1]), 1e-6);
    EXPECT_GT(error_of(results[0], rounded(start, DType::fp32)), 1e-4);
  }
}

TEST_F(TrainingGpu, adds_records_and_takes_the_time) {
  std::mt19937_64 random(5);
  const std::vector<double> a = random_doubles(4099, -1, 1, random);
  const Placed first(*gpu_, a, DType::fp32), sum(*gpu_, a, DType::fp32);
  const auto work =
      gpu_->record([&] { gpu_->add(sum.get(), sum.get(), first.get(), 4099, DType::fp32); });
  ASSERT_NE(work, nullptr);
  const auto stopwatch = gpu_->stopwatch(3);
  stopwatch->mark(0);
  work->launch();
  stopwatch->mark(1);
  work->launch();
  stopwatch->mark(2);
  const std::vector<double> seconds = stopwatch->seconds();
  EXPECT_EQ(seconds[0], 0);
  EXPECT_GT(seconds[1], 0);
  EXPECT_GT(seconds[2], seconds[1]);
  std::vector<double> tripled = rounded(a, DType::fp32);
  for (double& number : tripled) number *= 3;
  EXPECT_LT(error_of(sum.numbers(), tripled), 1e-6);
  gpu_->fill_zero(sum.get(), 8);
  EXPECT_EQ(sum.numbers()[0], 0);
}

// Where tracing cannot be had there is nothing, and the device goes on.
TEST_F(TrainingGpu, traces_kernels_by_part) {
  std::mt19937_64 random(6);
  const std::vector<double> a = random_doubles(100'000, -1, 1, random);
  const Placed sum(*gpu_, a, DType::fp32);
  const auto runs = gpu_->trace([&](const std::function<void(std::size_t)>& begin_part) {
    for (const std::size_t part : {4, 7}) {
      begin_part(part);
      gpu_->add(sum.get(), sum.get(), sum.get(), 100'000, DType::fp32);
    }
  });
  if (runs.empty()) GTEST_SKIP() << "no tracing here";
  EXPECT_NEAR(sum.numbers()[5], 4 * a[5], 1e-5);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].part, 4U);
  EXPECT_EQ(runs[1].part, 7U);
  EXPECT_GT(runs[0].seconds, 0);
  EXPECT_GE(runs[1].begin_s, runs[0].begin_s + runs[0].seconds);
}

}  // namespace
}  // namespace strata::test
