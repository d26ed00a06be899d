// SPDX-License-Identifier: Apache-2.0
#include "tests/device/training_comparison.hpp"

#include "strata/base/error.hpp"
#include "strata/cost/cost.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata::test {

namespace {

/// Numbers of a node's tensors, by position.
struct NodeNumbers {
  std::vector<std::vector<double>> inputs, output_gradients;
  std::vector<std::vector<double>> outputs, input_gradients;  ///< empty: none
};

/// Numbers of which none comes twice within any window: of equal maxima devices may take different
/// ones. bf16 can hold all of them.
std::vector<double> distinct_numbers(std::int64_t count, std::mt19937_64& random) {
  std::vector<double> table;
  for (int exponent = 0; exponent < 8; ++exponent) {
    for (int mantissa = 0; mantissa < 128; ++mantissa) {
      const double number = std::ldexp(1 + mantissa / 128.0, -exponent);
      table.push_back(number);
      table.push_back(-number);
    }
  }
  std::shuffle(table.begin(), table.end(), random);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i)
    numbers.push_back(table[static_cast<std::size_t>(i) % table.size()]);
  return numbers;
}

bool is_max_pool(const Operator& op) {
  const auto* const pool = std::get_if<Pool>(&op);
  const auto* const adaptive = std::get_if<AdaptivePool>(&op);
  return (pool != nullptr && pool->kind == PoolKind::maximum) ||
         (adaptive != nullptr && adaptive->kind == PoolKind::maximum);
}

NodeNumbers made_up(const TrainingCase& one, const BoundGraph& bound, NodeId id,
                    std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Node& node = bound.graph->nodes[id];
  NodeNumbers numbers;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const BoundTensor& tensor = bound.tensors[node.inputs[i]];
    const bool is_own = i >= node.first_own;
    const CaseInput in = is_own ? CaseInput{{}, one.own_low, one.own_high} : one.inputs[i];
    const double high = in.indices_below > 0 ? static_cast<double>(in.indices_below) : in.high;
    std::vector<double> made = is_max_pool(one.op)
                                   ? distinct_numbers(tensor.elements, random)
                                   : random_doubles(tensor.elements, in.low, high, random);
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

/// cuDNN's Winograd loses digits where there are few channels, and more with windows of 5 and above
/// (up to 3e-3, measured); its fastest engine may be that, as it is for PyTorch.
double fp32_tolerance(const Operator& op) {
  const auto* const convolution = std::get_if<Convolution>(&op);
  if (convolution == nullptr) return 3e-5;
  const bool is_large = std::any_of(convolution->kernel.begin(), convolution->kernel.end(),
                                    [](std::int64_t extent) { return extent >= 5; });
  return is_large ? 4e-3 : 2e-4;
}

double tolerance_of(const Operator& op, DType dtype) {
  switch (dtype) {
    case DType::fp64: return 1e-9;
    case DType::fp32: return fp32_tolerance(op);
    case DType::tf32: return std::max(3e-3, fp32_tolerance(op));
    case DType::fp16: return 6e-3;
    default: return 5e-2;
  }
}

}  // namespace

std::string described(const TrainingCase& one) {
  std::string text = one.name;
  for (const CaseInput& in : one.inputs) text += fmt::format(" [{}]", fmt::join(in.shape, ", "));
  return text;
}

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

namespace {

TEST(TrainingComparison, says_which_shapes_differ) {
  const TrainingCase one{"sum", Reduce{}, {{{300, 72}}, {{9}}}};
  EXPECT_EQ(described(one), "sum [300, 72] [9]");
}

TEST(TrainingComparison, sees_what_was_never_written) {
  EXPECT_EQ(error_of({1, 2}, {1, 2}), 0);
  EXPECT_NEAR(error_of({1, 2.2}, {1, 2}), 0.2 / std::sqrt(5.0), 1e-9);
  EXPECT_TRUE(std::isinf(error_of({1, std::numeric_limits<double>::quiet_NaN()}, {1, 2})));
}

}  // namespace
}  // namespace strata::test
