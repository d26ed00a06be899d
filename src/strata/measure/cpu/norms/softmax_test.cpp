// SPDX-License-Identifier: Apache-2.0
// Softmax where numbers are masked, not numbers, or far from each other; that it is right on common
// numbers is checked with all operators.
#include "strata/graph/builder.hpp"
#include "strata/measure/cpu/loops/plain_vector_loops.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/engine/device.hpp"

#include <gtest/gtest.h>

#include <cmath>
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

TEST(SoftmaxLoops, powers_of_a_row_and_their_sum) {
  const VectorLoops<float> plain =
      PlainLoops<float>::table(std::make_index_sequence<unary_kinds>{});
  for (const VectorLoops<float>& loops : {vector_loops<float>(), plain}) {
    for (const std::int64_t count : {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 1000, 1024}) {
      std::vector<float> x = spread_numbers(count), y(x.size() + 1, 7);
      if (count > 3) x[2] = -endless;
      const RowPowers<float> row = loops.row_powers(x.data(), y.data(), count, x.data());
      EXPECT_EQ(row.most, *std::max_element(x.begin(), x.end()));
      double sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double power = std::exp(static_cast<double>(x[i] - row.most));
        sum += power;
        ASSERT_NEAR(static_cast<double>(y[i]), power, 2e-7 * power + 1e-37) << i << " of " << count;
      }
      EXPECT_NEAR(static_cast<double>(row.sum), sum, 1e-6 * sum);
      EXPECT_EQ(y.back(), 7) << "written behind the end of " << count;

      x[static_cast<std::size_t>(count / 2)] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(std::isnan(loops.row_powers(x.data(), y.data(), count, nullptr).sum)) << count;
      std::fill(x.begin(), x.end(), -endless);
      const RowPowers<float> masked = loops.row_powers(x.data(), y.data(), count, nullptr);
      EXPECT_EQ(masked.most, -endless);
      EXPECT_EQ(masked.sum, 0);
    }
  }
}

std::vector<float> softmax_of(const std::vector<float>& x, std::int64_t rows, std::int64_t axis,
                              bool is_log) {
  const auto device = cpu_training_device({});
  const auto length = static_cast<std::int64_t>(x.size()) / rows;
  GraphBuilder builder("softmax");
  const TensorId in = builder.input("x", {rows, length}, DType::fp32);
  const NodeId node = builder.add_node("y", Softmax{.axis = axis, .log = is_log}, std::vector{in});
  builder.output(builder.graph().nodes[node].outputs[0]);
  const Graph graph = std::move(builder).finish();
  const BoundGraph bound = bind_graph(graph, {}, DType::fp32);
  KernelsOrReason kernels = device->kernels(bound, node, true);
  std::vector<float> given = x, y(x.size(), 7);
  NodeMemory m;
  m.inputs = {given.data()};
  m.outputs = {y.data()};
  std::get<std::unique_ptr<NodeKernels>>(kernels)->run(Pass::forward, m);
  return y;
}

// A piece of the second row is masked, and so is all of the third; the last holds what is not a
// number.
std::vector<float> odd_rows(std::int64_t length) {
  std::vector<float> x = spread_numbers(4 * length);
  const auto place = [&](std::int64_t row, std::int64_t i) { return x.begin() + row * length + i; };
  std::fill(place(1, 0), place(1, length / 2), -endless);
  std::fill(place(2, 0), place(2, length), -endless);
  *place(3, length - 1) = std::numeric_limits<float>::quiet_NaN();
  return x;
}

void expect_softmax_of_odd_rows(std::int64_t length, std::int64_t axis, bool is_log) {
  const std::vector<float> x = odd_rows(length);
  // Beside each other or one below the other.
  const auto size = static_cast<std::size_t>(length);
  const auto place = [&](std::size_t row, std::size_t i) {
    return axis == 1 ? row * size + i : i * 4 + row;
  };
  std::vector<float> given(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) given[place(i / size, i % size)] = x[i];
  const std::vector<float> y = softmax_of(given, axis == 1 ? 4 : length, axis, is_log);
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

TEST(Softmax, of_masked_pieces_and_of_what_is_not_a_number) {
  const AsWithoutCaches without_caches;
  for (const std::int64_t length : {2, 33, 100, 128, 1000, 1024, 1025, 3001, 5000}) {
    for (const std::int64_t axis : {0, 1}) {
      for (const bool is_log : {false, true}) expect_softmax_of_odd_rows(length, axis, is_log);
    }
  }
}

}  // namespace
}  // namespace strata::cpu_training
