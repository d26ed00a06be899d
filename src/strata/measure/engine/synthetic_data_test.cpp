// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/synthetic_data.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/builder.hpp"
#include "strata/measure/engine/tensor_numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

std::vector<double> filled(const BoundGraph& bound, TensorId tensor, std::uint64_t seed = 1) {
  std::vector<double> numbers(static_cast<std::size_t>(bound.tensors[tensor].elements));
  fill(numbers, 0, initializer_of(bound, tensor), bound.tensors[tensor], fill_key(seed, tensor));
  return numbers;
}

double mean_square(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number * number;
  return sum / static_cast<double>(numbers.size());
}

TEST(SyntheticData, weights_have_the_variance_that_keeps_signals_alive) {
  GraphBuilder b("weights");
  const TensorId x = b.input("x", {2, 8, 10, 10});
  const TensorId y = b.add("conv", Convolution{.channels = 64, .kernel = {3, 3}}, {x});
  const TensorId flat = b.add("flat", Flatten{1}, {y});
  const TensorId z = b.add("fc", Linear{32}, {flat});
  const TensorId conv_weight = b.own_of(y), fc_weight = b.own_of(z), bias = b.own_of(z, 1);
  const Graph graph = std::move(b).finish();
  const BoundGraph bound = bind_graph(graph, {});
  EXPECT_NEAR(mean_square(filled(bound, conv_weight)) * (8 * 9) / 2, 1, 0.05);
  EXPECT_NEAR(mean_square(filled(bound, fc_weight)) * (64 * 8 * 8) / 2, 1, 0.05);
  EXPECT_EQ(mean_square(filled(bound, bias)), 0);
  EXPECT_NEAR(mean_square(filled(bound, x)), 1.0 / 3, 0.02);
}

TEST(SyntheticData, statistics_begin_neutral) {
  for (const bool has_scale : {false, true}) {
    GraphBuilder b("norm");
    const TensorId x = b.input("x", {2, 4, 3, 3});
    const TensorId y = b.add("bn", BatchNorm{.scale = has_scale, .shift = true}, {x});
    std::vector<TensorId> own;
    for (std::size_t i = 0; i < (has_scale ? 4U : 3U); ++i) own.push_back(b.own_of(y, i));
    const Graph graph = std::move(b).finish();
    const BoundGraph bound = bind_graph(graph, {});
    std::vector<double> first;
    for (const TensorId tensor : own) first.push_back(filled(bound, tensor).front());
    const std::vector<double> expected =
        has_scale ? std::vector<double>{1, 0, 0, 1} : std::vector<double>{0, 0, 1};
    EXPECT_EQ(first, expected);
  }
}

TEST(SyntheticData, whole_numbers_stay_within_what_they_choose_from) {
  GraphBuilder b("tokens");
  const TensorId tokens = b.input("tokens", {4, 50}, DType::int64);
  const TensorId moved = b.add("moved", Reshape{{200}}, {tokens});
  const TensorId rows = b.add("rows", Embedding{7, 3}, {moved});
  const TensorId targets = b.input("targets", {200}, DType::int64);
  b.output(b.add("loss", SoftmaxCrossEntropy{}, {rows, targets}));
  const Graph graph = std::move(b).finish();
  const BoundGraph bound = bind_graph(graph, {});
  for (const auto& [tensor, below] : {std::pair{tokens, 7.0}, std::pair{targets, 3.0}}) {
    const std::vector<double> numbers = filled(bound, tensor);
    EXPECT_EQ(*std::min_element(numbers.begin(), numbers.end()), 0);
    EXPECT_EQ(*std::max_element(numbers.begin(), numbers.end()), below - 1);
    for (const double number : numbers) EXPECT_EQ(number, std::floor(number));
  }
}

TEST(SyntheticData, depends_on_the_place_alone) {
  GraphBuilder b("pieces");
  const TensorId x = b.input("x", {1000});
  b.add("y", Unary{}, {x});
  const Graph graph = std::move(b).finish();
  const BoundGraph bound = bind_graph(graph, {});
  const std::vector<double> whole = filled(bound, x);
  std::vector<double> piece(300);
  fill(piece, 500, initializer_of(bound, x), bound.tensors[x], fill_key(1, x));
  EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + 500));
  EXPECT_NE(filled(bound, x, 2), whole);
}

TEST(SyntheticData, tables_of_angles_are_on_the_unit_circle) {
  GraphBuilder b("rotary");
  const TensorId x = b.input("x", {1, 6, 8});
  const TensorId y = b.add("rope", RotaryEmbedding{.heads = 2}, {x});
  const TensorId cosine = b.own_of(y, 0), sine = b.own_of(y, 1);
  const Graph graph = std::move(b).finish();
  const BoundGraph bound = bind_graph(graph, {});
  const std::vector<double> c = filled(bound, cosine), s = filled(bound, sine);
  for (std::size_t i = 0; i < c.size(); ++i) EXPECT_NEAR(c[i] * c[i] + s[i] * s[i], 1, 1e-12);
  EXPECT_NEAR(s[2], std::sin(1.0), 1e-12);  // position 1, first pair of two
}

TEST(TensorNumbers, come_back_as_the_type_has_them) {
  const std::vector<double> numbers = {0, 1, -2.5, 0.1, 100};
  for (const DType dtype : {DType::fp64, DType::fp32, DType::tf32, DType::fp16, DType::bf16}) {
    const std::vector<double> again = tensor_numbers(tensor_bytes(numbers, dtype), dtype);
    ASSERT_EQ(again.size(), numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      EXPECT_NEAR(again[i], numbers[i], 0.004 * std::abs(numbers[i])) << name_of(dtype);
  }
  for (const DType dtype : {DType::int8, DType::int32, DType::int64}) {
    const std::vector<double> whole = {0, 1, -2, 100};
    EXPECT_EQ(tensor_numbers(tensor_bytes(whole, dtype), dtype), whole) << name_of(dtype);
  }
  const std::vector<double> truths = {0, 1, 1};
  EXPECT_EQ(
      tensor_numbers(tensor_bytes(std::vector<double>{0, 1, 5}, DType::boolean), DType::boolean),
      truths);
  EXPECT_THROW(tensor_bytes(numbers, DType::fp8), Error);
}

}  // namespace
}  // namespace strata
