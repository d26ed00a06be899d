// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/builder.hpp"
#include "strata/measure/cpu/device.hpp"
#include "strata/measure/engine/constants.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace strata {
namespace {

using namespace training_constants;

struct NormShape {
  std::int64_t batch, channels, space;
  std::int64_t elements() const { return batch * channels * space; }
};

/// What batch norm without scale and shift keeps of x after one run in training: running means and
/// variances, which were 0 before.
std::vector<std::vector<float>> running_after(TrainingDevice& device, const NormShape& shape,
                                              std::vector<float>& x) {
  GraphBuilder builder("batch norm");
  Shape extents = {shape.batch, shape.channels};
  if (shape.space > 1) extents.push_back(shape.space);
  const std::vector<TensorId> inputs = {builder.input("x", extents, DType::fp32)};
  const NodeId node = builder.add_node("norm", BatchNorm{.scale = false, .shift = false}, inputs);
  for (const TensorId output : builder.graph().nodes[node].outputs) builder.output(output);
  const Graph graph = std::move(builder).finish();
  const BoundGraph bound = bind_graph(graph, {}, DType::fp32);
  KernelsOrReason made = device.kernels(bound, node, true);
  const auto& kernels = std::get<std::unique_ptr<NodeKernels>>(made);
  std::vector<std::vector<float>> running(
      2, std::vector<float>(static_cast<std::size_t>(shape.channels)));
  std::vector<float> y(x.size());
  std::vector<char> saved(static_cast<std::size_t>(kernels->needs().saved_bytes)),
      scratch(static_cast<std::size_t>(kernels->needs().scratch_bytes));
  NodeMemory m;
  m.inputs = {x.data(), running[0].data(), running[1].data()};
  m.outputs = {y.data()};
  m.saved = saved.data();
  m.scratch = scratch.data();
  kernels->run(Pass::forward, m);
  return running;
}

/// Compares with two plain walks in double.
void expect_statistics_by(TrainingDevice& device, const NormShape& shape, std::vector<float>& x,
                          double tolerance) {
  const auto running = running_after(device, shape, x);
  const double count = static_cast<double>(shape.batch * shape.space);
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    const auto each = [&](const std::function<void(double)>& take) {
      for (std::int64_t n = 0; n < shape.batch; ++n) {
        for (std::int64_t i = 0; i < shape.space; ++i) {
          const std::int64_t at = (n * shape.channels + c) * shape.space + i;
          take(static_cast<double>(x[static_cast<std::size_t>(at)]));
        }
      }
    };
    double mean = 0, variance = 0;
    each([&](double number) { mean += number / count; });
    each([&](double number) { variance += (number - mean) * (number - mean) / (count - 1); });
    const auto k = static_cast<std::size_t>(c);
    EXPECT_NEAR(static_cast<double>(running[0][k]), batch_norm_momentum * mean,
                1e-6 * (std::fabs(mean) + std::sqrt(variance)))
        << "channel " << c << " of " << shape.batch << ", " << shape.space;
    EXPECT_NEAR(static_cast<double>(running[1][k]), batch_norm_momentum * variance,
                tolerance * variance)
        << "channel " << c << " of " << shape.batch << ", " << shape.space;
  }
}

/// By the plain loops and by the libraries.
void expect_statistics(const NormShape& shape, std::vector<float>& x, double tolerance) {
  expect_statistics_by(*cpu_training::plain_cpu_device(), shape, x, tolerance);
  SCOPED_TRACE("libraries");
  expect_statistics_by(*cpu_training_device({}), shape, x, tolerance);
}

// Rows, short stretches, long ones; one sample, one channel, more samples than are summed up at
// once; shared among threads by samples and by channels.
const std::vector<NormShape> norm_shapes = {{70, 33, 1},  {301, 5, 1},  {9, 2100, 1}, {2, 7, 3},
                                            {90, 6, 49},  {700, 1, 49}, {5, 40, 196}, {1, 9, 260},
                                            {13, 3, 784}, {3, 2, 4099}, {1, 1, 5000}, {64, 17, 16}};

TEST(BatchNorm, statistics_are_those_of_two_walks) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const NormShape& shape : norm_shapes) {
    std::vector<float> x(static_cast<std::size_t>(shape.elements()));
    for (float& number : x) number = 0.5F + normal(random);
    expect_statistics(shape, x, 2e-6);
  }
}

TEST(BatchNorm, a_mean_far_from_zero_leaves_the_variance_its_digits) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (const NormShape& shape : norm_shapes) {
    std::vector<float> x(static_cast<std::size_t>(shape.elements()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto c = static_cast<std::int64_t>(i) / shape.space % shape.channels;
      const float mean = c % 3 == 0 ? 1e4F : c % 3 == 1 ? 0.0F : -300.0F;
      x[i] = mean + normal(random);
    }
    expect_statistics(shape, x, 1e-5);
  }
}

TEST(BatchNorm, squares_of_a_mean_may_be_beyond_all_numbers) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  for (const NormShape& shape : norm_shapes) {
    std::vector<float> x(static_cast<std::size_t>(shape.elements()));
    for (float& number : x) number = 1e20F + 1e16F * normal(random);
    expect_statistics(shape, x, 1e-4);
  }
}

// The base of the first numbers is none of the later ones.
TEST(BatchNorm, a_mean_may_move_from_sample_to_sample) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const NormShape& shape : norm_shapes) {
    std::vector<float> x(static_cast<std::size_t>(shape.elements()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto n = static_cast<std::int64_t>(i) / (shape.space * shape.channels);
      x[i] = normal(random) + (2 * n < shape.batch ? 0.0F : 5e3F);
    }
    expect_statistics(shape, x, 1e-5);
  }
}

TEST(BatchNorm, equal_numbers_have_no_variance) {
  for (const NormShape& shape : norm_shapes) {
    std::vector<float> x(static_cast<std::size_t>(shape.elements()), 1.1F);
    const auto running = running_after(*cpu_training::plain_cpu_device(), shape, x);
    for (const float variance : running[1]) EXPECT_NEAR(variance, 0, 1e-12F);
    for (const float mean : running[0]) EXPECT_NEAR(mean, 0.11F, 1e-7F);
  }
}

}  // namespace
}  // namespace strata
