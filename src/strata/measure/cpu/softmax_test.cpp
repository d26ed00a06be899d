// SPDX-License-Identifier: Apache-2.0
// Softmax where numbers are masked, not numbers, or far from each other; that it is right on common
// numbers is checked with all operators.
#include "strata/graph/builder.hpp"
#include "strata/measure/cpu/device.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace strata::cpu_training {
namespace {

constexpr float endless = std::numeric_limits<float>::infinity();

std::vector<float> spread_numbers(std::int64_t count) {
  std::mt19937 random(static_cast<std::uint32_t>(count));
  std::normal_distribution<float> normal(0, 10);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = normal(random);
  return numbers;
}

std::vector<float> softmax_of(TrainingDevice& device, const std::vector<float>& x,
                              std::int64_t rows, std::int64_t axis, bool is_log) {
  const auto length = static_cast<std::int64_t>(x.size()) / rows;
  GraphBuilder builder("softmax");
  const TensorId in = builder.input("x", {rows, length}, DType::fp32);
  const NodeId node = builder.add_node("y", Softmax{.axis = axis, .log = is_log}, std::vector{in});
  builder.output(builder.graph().nodes[node].outputs[0]);
  const Graph graph = std::move(builder).finish();
  const BoundGraph bound = bind_graph(graph, {}, DType::fp32);
  KernelsOrReason kernels = device.kernels(bound, node, true);
  std::vector<float> given = x, y(x.size(), 7);
  const auto& ready = std::get<std::unique_ptr<NodeKernels>>(kernels);
  std::vector<std::byte> scratch(static_cast<std::size_t>(ready->needs().scratch_bytes));
  NodeMemory m;
  m.inputs = {given.data()};
  m.outputs = {y.data()};
  m.scratch = scratch.data();
  ready->run(Pass::forward, m);
  return y;
}

// A piece of the second row is masked, and so is all of the third; the last may hold a NaN.
std::vector<float> odd_rows(std::int64_t length, bool has_nan) {
  std::vector<float> x = spread_numbers(4 * length);
  const auto place = [&](std::int64_t row, std::int64_t i) { return x.begin() + row * length + i; };
  std::fill(place(1, 0), place(1, length / 2), -endless);
  std::fill(place(2, 0), place(2, length), -endless);
  if (has_nan) *place(3, length - 1) = std::numeric_limits<float>::quiet_NaN();
  return x;
}

void expect_softmax_of_odd_rows(TrainingDevice& device, std::int64_t length, std::int64_t axis,
                                bool is_log, bool has_nan) {
  const std::vector<float> x = odd_rows(length, has_nan);
  // Beside each other or one below the other.
  const auto size = static_cast<std::size_t>(length);
  const auto place = [&](std::size_t row, std::size_t i) {
    return axis == 1 ? row * size + i : i * 4 + row;
  };
  std::vector<float> given(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) given[place(i / size, i % size)] = x[i];
  const std::vector<float> y = softmax_of(device, given, axis == 1 ? 4 : length, axis, is_log);
  for (std::size_t row = 0; row < 4; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += std::exp(static_cast<double>(x[row * size + i]));
    for (std::size_t i = 0; i < size; ++i) {
      const double log = static_cast<double>(x[row * size + i]) - std::log(sum);
      const double wanted = is_log ? log : std::exp(log);
      const auto found = static_cast<double>(y[place(row, i)]);
      if (std::isnan(wanted) || std::isinf(wanted)) {
        ASSERT_EQ(std::isnan(wanted), std::isnan(found)) << row << ", " << i << " of " << length;
        ASSERT_TRUE(std::isnan(found) || found == wanted);
      } else {
        // As much as the rounding of x − max x allows.
        ASSERT_NEAR(found, wanted, is_log ? 2e-5 : 2e-5 * wanted + 1e-37)
            << row << ", " << i << " of " << length;
      }
    }
  }
}

// The plain loops pass a NaN on, as PyTorch does; oneDNN's vector code may not.
TEST(Softmax, of_masked_pieces_and_of_nan) {
  const auto plain = plain_cpu_device(), with_libraries = cpu_training_device({});
  for (TrainingDevice* const device : {plain.get(), with_libraries.get()}) {
    for (const std::int64_t length : {2, 33, 100, 128, 1000, 1024, 1025, 3001, 5000}) {
      for (const std::int64_t axis : {0, 1}) {
        for (const bool is_log : {false, true}) {
          expect_softmax_of_odd_rows(*device, length, axis, is_log, device == plain.get());
        }
      }
    }
  }
}

}  // namespace
}  // namespace strata::cpu_training
