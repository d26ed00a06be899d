// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/device.hpp"

#include "strata/base/error.hpp"
#include "strata/convolution/lab/strategy.hpp"
#include "strata/cpu/allowance.hpp"
#include "strata/graph/builder.hpp"
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/engine/engine.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>

namespace strata {
namespace {

TEST(CpuTrainingDevice, updates_as_the_rules_say) {
  const auto device = cpu_training_device({});
  // More than go into vectors at once, and some that are left.
  constexpr std::size_t count = 53;
  std::vector<float> start(count), gradient(count);
  for (std::size_t i = 0; i < count; ++i) {
    start[i] = 1 - 0.25F * static_cast<float>(i % 17);
    gradient[i] = 0.5F - 0.125F * static_cast<float>(i % 11);
  }
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam}) {
    UpdateRule rule{.optimizer = optimizer};
    std::vector<float> parameter = start;
    std::vector<std::vector<float>> states(2, std::vector<float>(count, 0.0F));
    std::vector<double> expected(start.begin(), start.end()), m(count), v(count);
    for (int iteration = 1; iteration <= 3; ++iteration) {
      device->update(rule, {.parameter = parameter.data(),
                            .gradient = gradient.data(),
                            .states = {states[0].data(), states[1].data()},
                            .elements = count,
                            .iteration = iteration});
      for (std::size_t i = 0; i < count; ++i) {
        const double g = static_cast<double>(gradient[i]);
        if (optimizer == Optimizer::sgd) expected[i] -= rule.learning_rate * g;
        if (optimizer == Optimizer::momentum) {
          v[i] = rule.momentum * v[i] + g;
          expected[i] -= rule.learning_rate * v[i];
        }
        if (optimizer == Optimizer::adam) {
          m[i] = rule.beta_1 * m[i] + (1 - rule.beta_1) * g;
          v[i] = rule.beta_2 * v[i] + (1 - rule.beta_2) * g * g;
          const double first = m[i] / (1 - std::pow(rule.beta_1, iteration));
          const double second = v[i] / (1 - std::pow(rule.beta_2, iteration));
          expected[i] -= rule.learning_rate * first / (std::sqrt(second) + rule.epsilon);
        }
        EXPECT_NEAR(static_cast<double>(parameter[i]), expected[i], 1e-6);
      }
    }
  }
}

TEST(CpuTrainingDevice, adds_and_clears_and_tells_the_time) {
  const auto device = cpu_training_device({});
  constexpr std::int64_t count = 100'003;
  const auto memory = device->allocate(2 * count * 4);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 256, 0U);
  auto* const a = static_cast<float*>(memory.get());
  float* const b = a + count;
  std::iota(a, a + count, 0.0F);
  std::fill(b, b + count, 2.0F);
  device->add(a, a, b, count, DType::fp32);
  for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(a[i], static_cast<float>(i) + 2);
  device->fill_zero(b, count * 4);
  EXPECT_EQ(std::count(b, b + count, 0.0F), count);
  const auto watch = device->stopwatch(3);
  for (const std::size_t mark : {0U, 1U, 2U}) watch->mark(mark);
  const std::vector<double> seconds = watch->seconds();
  ASSERT_EQ(seconds.size(), 3U);
  EXPECT_EQ(seconds[0], 0);
  EXPECT_LE(seconds[1], seconds[2]);
}

TEST(CpuTrainingDevice, refuses_more_memory_than_there_is) {
  const auto device = cpu_training_device({});
  try {
    device->allocate(std::int64_t{1} << 50);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
  }
}

/// One convolution or cast with a gradient, run once forward and backward.
struct Ran {
  std::string implementation, reason;
  std::vector<double> output, gradient;
};

template <class Stored, class Result>
Ran run_once(TrainingDevice& device, const Operator& op, const Shape& shape, DType dtype) {
  GraphBuilder builder("one");
  const TensorId x = builder.stored("x", shape, TensorKind::parameter, dtype);
  const TensorId made = builder.add("made", Unary{UnaryKind::identity}, {x});
  const NodeId added = builder.add_node("subject", op, std::vector{made});
  const TensorId y = builder.graph().nodes[added].outputs[0];
  builder.output(y);
  const Graph graph = std::move(builder).finish();
  const BoundGraph bound = bind_graph(graph, {});
  const NodeId node = graph.tensors[y].producer;
  KernelsOrReason kernels = device.kernels(bound, node, true);
  if (const auto* none = std::get_if<NoKernels>(&kernels)) return {.reason = none->reason};
  NodeKernels& ready = *std::get<0>(kernels);
  std::vector<std::shared_ptr<void>> blocks;
  const auto block = [&](std::int64_t bytes) {
    blocks.push_back(device.allocate(bytes));
    device.fill_zero(blocks.back().get(), bytes);
    return blocks.back().get();
  };
  NodeMemory m{.saved = block(ready.needs().saved_bytes),
               .scratch = block(ready.needs().scratch_bytes)};
  for (const TensorId id : graph.nodes[node].inputs) {
    const BoundTensor& tensor = bound.tensors[id];
    m.inputs.push_back(block(tensor.bytes));
    auto* const numbers = static_cast<Stored*>(m.inputs.back());
    for (std::int64_t i = 0; i < tensor.elements; ++i) {
      numbers[i] = static_cast<Stored>(i % 7) - static_cast<Stored>(2.5);
    }
    m.input_gradients.push_back(block(tensor.bytes));
  }
  const std::int64_t results = bound.tensors[y].elements;
  for (const TensorId id : graph.nodes[node].outputs) {
    m.outputs.push_back(block(bound.tensors[id].bytes));
    m.output_gradients.push_back(id == y ? block(bound.tensors[id].bytes) : nullptr);
  }
  auto* const dy = static_cast<Result*>(m.output_gradients[0]);
  for (std::int64_t i = 0; i < results; ++i) dy[i] = static_cast<Result>(i % 5);
  ready.run(Pass::forward, m);
  ready.run(Pass::backward, m);
  const auto* const out = static_cast<const Result*>(m.outputs[0]);
  const auto* const dx = static_cast<const Stored*>(m.input_gradients[0]);
  return {.implementation = ready.implementation(Pass::forward),
          .output = {out, out + results},
          .gradient = {dx, dx + bound.tensors[made].elements}};
}

TEST(CpuTrainingDevice, a_cast_gradient_is_cast_back) {
  const auto device = cpu_training_device({});
  const Ran ran = run_once<float, double>(*device, Cast{DType::fp64}, {9}, DType::fp32);
  EXPECT_EQ(ran.reason, "");
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(ran.output[i], static_cast<double>(i % 7) - 2.5);
    EXPECT_EQ(ran.gradient[i], static_cast<double>(i % 5));
  }
}

// Every strategy of the CPU, asked for by name, computes the same.
TEST(CpuTrainingDevice, convolutions_by_any_strategy_agree) {
  const Convolution op{.channels = 8, .kernel = {3, 3}, .pad_begin = {1, 1}, .pad_end = {1, 1}};
  const Shape shape = {2, 4, 12, 10};
  const auto chosen = cpu_training_device({});
  const Ran wanted = run_once<float, float>(*chosen, op, shape, DType::fp32);
  EXPECT_NE(wanted.implementation, "");
  int ran_count = 0;
  const auto strategies = cpu_conv_device();
  for (const auto& strategy : strategies->strategies()) {
    SCOPED_TRACE(strategy->name());
    std::unique_ptr<TrainingDevice> device;
    try {
      device = cpu_training_device({.convolution = std::string(strategy->name())});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::environment);  // this build lacks it
      continue;
    }
    const Ran ran = run_once<float, float>(*device, op, shape, DType::fp32);
    ++ran_count;
    EXPECT_NE(ran.implementation.find(strategy->name()), std::string::npos) << ran.implementation;
    for (std::size_t i = 0; i < wanted.output.size(); ++i) {
      ASSERT_NEAR(ran.output[i], wanted.output[i], 2e-3);
    }
    for (std::size_t i = 0; i < wanted.gradient.size(); ++i) {
      ASSERT_NEAR(ran.gradient[i], wanted.gradient[i], 2e-3);
    }
  }
  EXPECT_GT(ran_count, 0);
}

// What a strategy cannot do is done by another, which says so.
TEST(CpuTrainingDevice, a_strategy_that_cannot_is_replaced) {
  const Convolution strided{.channels = 2, .kernel = {3, 3}, .stride = {2, 2}};
  const auto fft = [] {
    try {
      return cpu_training_device({.convolution = "fft"});
    } catch (const Error&) {
      return std::unique_ptr<TrainingDevice>();
    }
  }();
  if (!fft) GTEST_SKIP() << "this build has no FFT";
  const Ran ran = run_once<float, float>(*fft, strided, {1, 2, 9, 9}, DType::fp32);
  EXPECT_NE(ran.implementation.find("(fft: only stride 1)"), std::string::npos)
      << ran.implementation;
}

/// Peak memory of a network of one convolution and its loss.
std::int64_t peak_bytes_with(const std::string& strategy) {
  GraphBuilder builder("one convolution");
  const TensorId x = builder.input("x", {4, 8, 30, 30});
  builder.output(builder.add(
      "conv", Convolution{.channels = 16, .kernel = {5, 5}, .pad_begin = {2, 2}, .pad_end = {2, 2}},
      {x}));
  const Graph graph = with_loss(std::move(builder).finish(), Loss::squared_error);
  const BoundGraph bound = bind_graph(graph, {}, DType::fp32);
  const auto device = cpu_training_device({.convolution = strategy});
  return Engine(bound, *device, {}).peak_bytes();
}

TEST(CpuTrainingDevice, peak_memory_counts_what_strategies_hold) {
  const ConvShape shape{.batch = 4,
                        .channels = 8,
                        .height = 30,
                        .width = 30,
                        .filters = 16,
                        .kernel_height = 5,
                        .kernel_width = 5,
                        .pad_height = 2,
                        .pad_width = 2};
  const auto strategies = cpu_conv_device();
  const auto held = [&](std::string_view name) {
    for (const auto& strategy : strategies->strategies()) {
      if (strategy->name() != name) continue;
      std::int64_t bytes = 0;
      for (const ConvPass pass : {ConvPass::forward, ConvPass::weight_gradient}) {
        const ConvProblem problem{.shape = shape, .pass = pass};
        if (strategy->refusal(problem)) return std::int64_t{0};
        bytes += strategy->scratch_bytes(problem);
      }
      return bytes;
    }
    return std::int64_t{0};
  };
  for (const auto& strategy : strategies->strategies()) {
    const bool is_needed = strategy->name() == "fft" || strategy->name() == "direct";
    const auto refusal = strategy->refusal({.shape = shape});
    if (is_needed && refusal) GTEST_SKIP() << *refusal;
  }
  EXPECT_GT(held("fft"), held("direct"));
  EXPECT_EQ(peak_bytes_with("fft") - held("fft"), peak_bytes_with("direct") - held("direct"));
}

TEST(CpuTrainingDevice, the_fastest_strategy_is_found_by_measurement) {
  const Convolution op{.channels = 8, .kernel = {3, 3}, .pad_begin = {1, 1}, .pad_end = {1, 1}};
  const auto fastest = cpu_training_device({.convolution = "fastest"});
  const Ran ran = run_once<float, float>(*fastest, op, {2, 4, 12, 10}, DType::fp32);
  EXPECT_NE(ran.implementation, "");
  EXPECT_EQ(ran.implementation.find('('), std::string::npos) << ran.implementation;
}

// oneDNN's threads and those of plain loops are the same; the convolution lab's own wait awake.
TEST(CpuTrainingDevice, makes_no_threads_of_its_own_unless_a_strategy_is_asked_for) {
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto before = threads();
  const auto device = cpu_training_device({});
  EXPECT_EQ(threads(), before);
}

TEST(CpuTrainingDevice, names_the_library_that_computes) {
  const std::string onednn = cpu_training::onednn::version();
  if (onednn.empty()) GTEST_SKIP() << "this build has no oneDNN";
  const auto device = cpu_training_device({});
  EXPECT_EQ(device->versions().front(), onednn);
  const Convolution op{.channels = 8, .kernel = {3, 3}};
  const Ran single = run_once<float, float>(*device, op, {2, 4, 12, 10}, DType::fp32);
  EXPECT_TRUE(single.implementation.starts_with(onednn + " ")) << single.implementation;
  const Ran twice = run_once<double, double>(*device, op, {2, 4, 12, 10}, DType::fp64);
  EXPECT_EQ(twice.implementation, "reference code");
}

// The operators that oneDNN has, at shapes that networks have.
TEST(CpuTrainingDevice, onednn_computes_what_it_can) {
  if (cpu_training::onednn::version().empty()) GTEST_SKIP() << "this build has no oneDNN";
  const auto device = cpu_training_device({});
  const std::vector<Operator> image_operators = {
      Convolution{.channels = 16, .kernel = {3, 3}, .groups = 8},
      Convolution{.channels = 16, .kernel = {2, 2}, .stride = {2, 2}, .transposed = true},
      Linear{.features = 5},
      Pool{.kernel = {2, 2}, .stride = {2, 2}},
      Pool{.kind = PoolKind::average, .kernel = {3, 3}, .stride = {1, 1}},
      AdaptivePool{},
      BatchNorm{},
      LayerNorm{},
      LocalResponseNorm{},
      Softmax{},
      Unary{UnaryKind::relu},
      Unary{UnaryKind::prelu},
      Unary{UnaryKind::gelu},
      Reduce{.axes = {2, 3}},
      Resize{.kind = ResizeKind::linear, .scale = {2, 2}},
      Resize{.scale = {2, 2}},
      Transpose{.permutation = {0, 2, 3, 1}},
      ChannelShuffle{.groups = 2}};
  for (const Operator& op : image_operators) {
    const Ran ran = run_once<float, float>(*device, op, {2, 8, 12, 10}, DType::fp32);
    EXPECT_TRUE(ran.implementation.starts_with("oneDNN")) << op.index() << ran.implementation;
  }
  for (const CellKind cell : {CellKind::lstm, CellKind::gru, CellKind::rnn_tanh}) {
    const Recurrent op{.cell = cell, .hidden = 6, .layers = 2, .bidirectional = true};
    const Ran ran = run_once<float, float>(*device, op, {2, 5, 4}, DType::fp32);
    EXPECT_TRUE(ran.implementation.starts_with("oneDNN")) << ran.implementation;
  }
}

TEST(CpuTrainingDevice, unknown_operators_have_a_reason) {
  const auto device = cpu_training_device({});
  const Ran ran =
      run_once<float, float>(*device, Opaque{.type = "Odd", .shapes = {{3}}}, {3}, DType::fp32);
  EXPECT_NE(ran.reason.find("Odd"), std::string::npos);
}

}  // namespace
}  // namespace strata
