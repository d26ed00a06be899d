// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/allocated_memory.hpp"

#include "strata/framework/small_network_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata {
namespace {

/// x [64, 256] → fc1 → [64, 512] → relu → [64, 512] → fc2 → [64, 128], no biases: everything is a
/// multiple of the allocator's blocks.
void add_two_layers(small_network::Net& net) {
  const TensorId x = net.builder.input("x", {64, 256});
  TensorId y = net.builder.add("fc1", Linear{.features = 512, .bias = false}, {x});
  y = net.builder.add("relu", Unary{}, {y});
  net.builder.add("fc2", Linear{.features = 128, .bias = false}, {y});
}

std::int64_t most_of(const small_network::Net& net, const Framework& framework,
                     const FrameworkOptions& options = {},
                     const std::vector<bool>& never_stored = {}) {
  const auto bytes = allocated_bytes(net.program, framework, options, never_stored);
  return *std::max_element(bytes.begin(), bytes.end());
}

std::int64_t memory_of(const FrameworkOptions& options, const TrainingOptions& training) {
  small_network::Net net;
  add_two_layers(net);
  net.finish(options, training);
  return most_of(net, framework_named("pytorch-eager"), options);
}

constexpr std::int64_t x_bytes = 64 * 256 * 4, h_bytes = 64 * 512 * 4, y_bytes = 64 * 128 * 4;
constexpr std::int64_t w1_bytes = 256 * 512 * 4, w2_bytes = 512 * 128 * 4;

TEST(AllocatedMemory, of_two_layers_is_what_one_counts_by_hand) {
  // x, the weights and, without a loss, the gradient of y come from outside. The most is there when
  // fc1 makes the gradient of its weight: both weight gradients, and the gradient of its output.
  const std::int64_t held = x_bytes + w1_bytes + w2_bytes + y_bytes;
  EXPECT_EQ(memory_of({}, {.optimizer = Optimizer::none, .loss = Loss::none}),
            held + w1_bytes + w2_bytes + h_bytes);
}

TEST(AllocatedMemory, has_nothing_for_values_inside_a_fused_kernel) {
  small_network::Net net;
  net.framework = "pytorch-compile";
  const TensorId x = net.builder.input("x", {64, 256});
  TensorId y = net.builder.add("fc1", Linear{.features = 512, .bias = false}, {x});
  y = net.builder.add("join", Elementwise{}, {net.builder.add("relu", Unary{}, {y}), y});
  net.builder.add("fc2", Linear{.features = 128, .bias = false}, {y});
  net.finish({}, {.inference = true});
  const Framework& framework = framework_named(net.framework);
  const std::int64_t held = x_bytes + w1_bytes + w2_bytes;
  // What relu makes is never stored: the sum is made of the result of fc1 alone.
  EXPECT_EQ(most_of(net, framework, {}, net.operations.never_stored), held + 2 * h_bytes);
  EXPECT_EQ(most_of(net, framework), held + 3 * h_bytes);
}

// The kernels of a step run one after the other, and give back what they took.
TEST(AllocatedMemory, has_the_scratch_memory_of_the_kernel_that_takes_most) {
  FrameworkOperations operations;
  for (const StepId step : {0U, 2U, 2U}) operations.operations.push_back({.step = step});
  const std::vector<KernelTime> kernels = {
      {.scratch_bytes = 10}, {.scratch_bytes = 300}, {.scratch_bytes = 200}};
  std::vector<std::int64_t> bytes = {1000, 2000, 3000};
  add_scratch(bytes, operations, kernels);
  EXPECT_EQ(bytes, (std::vector<std::int64_t>{1010, 2000, 3300}));
  add_scratch(bytes, operations, std::vector<KernelTime>(3, {.scratch_bytes = 1e300}));
  EXPECT_GT(bytes[0], std::int64_t{1} << 59);
}

TEST(AllocatedMemory, grows_by_the_states_of_the_optimizer) {
  const auto with = [](Optimizer optimizer) { return memory_of({}, {.optimizer = optimizer}); };
  EXPECT_EQ(with(Optimizer::momentum) - with(Optimizer::sgd), w1_bytes + w2_bytes);
  EXPECT_EQ(with(Optimizer::adam) - with(Optimizer::sgd), 2 * (w1_bytes + w2_bytes));
}

TEST(AllocatedMemory, under_autocast_has_activations_of_half_the_size_and_copies_of_weights) {
  // Large weights: their copies in 16 bits cost more than the activations save.
  const std::int64_t copies = (w1_bytes + w2_bytes) / 2;
  const std::int64_t more = memory_of({.autocast = DType::bf16}, {}) - memory_of({}, {});
  EXPECT_LT(more, copies);
  EXPECT_GE(more, copies - (2 * h_bytes + 2 * y_bytes) / 2);
}

TEST(AllocatedMemory, counts_whole_blocks) {
  small_network::Net net;
  const TensorId x = net.builder.input("x", {1, 3});
  net.builder.add("fc", Linear{.features = 2, .bias = false}, {x});
  net.finish({}, {.optimizer = Optimizer::none, .loss = Loss::none});
  const std::int64_t memory = most_of(net, framework_named("pytorch-eager"));
  EXPECT_EQ(memory % 512, 0);
  EXPECT_GE(memory, 3 * 512);  // x, the weight, its gradient
  EXPECT_LE(memory, 5 * 512);
}

TEST(AllocatedMemory, keeps_what_the_rules_of_an_operator_save) {
  // Max pooling keeps 8 bytes of indices per output from forward to backward.
  const auto with = [](std::int64_t index_bytes) {
    Framework framework = framework_named("pytorch-eager");
    auto& saves = framework.operators.at("max_pool").saves;
    EXPECT_EQ(saves, (std::vector<SavedTensor>{{0, 8, RuleTensor::output}}));
    saves.front().bytes = static_cast<double>(index_bytes);
    small_network::Net net;
    const TensorId x = net.builder.input("x", {2, 4, 64, 64});
    TensorId y = net.builder.add("conv", Convolution{.channels = 8, .kernel = {1, 1}}, {x});
    y = net.builder.add("pool", Pool{.kernel = {2, 2}, .stride = {2, 2}}, {y});
    y = net.builder.add("conv2", Convolution{.channels = 64, .kernel = {1, 1}}, {y});
    net.finish();
    return most_of(net, framework);
  };
  EXPECT_EQ(with(24) - with(8), 16 * 2 * 8 * 32 * 32);
}

// log_softmax keeps its result until backward, which makes one tensor more of the same size.
TEST(AllocatedMemory, of_a_loss_over_many_classes_counts_its_tensors) {
  const auto with_loss = [](std::int64_t classes) {
    small_network::Net net;
    const TensorId x = net.builder.input("x", {64, 8});
    net.builder.add("fc", Linear{.features = classes, .bias = false}, {x});
    net.finish({}, {.optimizer = Optimizer::none});
    return most_of(net, framework_named("pytorch-eager"));
  };
  const std::int64_t logits = 64 * 65536 * 4, weights = 2 * 8 * 65536 * 4;
  const std::int64_t grown = with_loss(2 * 65536) - with_loss(65536);
  EXPECT_GE(grown, 3 * logits + weights / 2);
  EXPECT_LE(grown, 3 * logits + 2 * weights);
}

}  // namespace
}  // namespace strata
