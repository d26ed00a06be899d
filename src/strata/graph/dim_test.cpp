// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/dim.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <limits>

namespace strata {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

std::int64_t value_of(const Symbols& symbols, Dim dim, const Binding& binding) {
  return dim.factor * symbols.evaluate(binding)[dim.symbol];
}

TEST(Dim, numbers_never_enter_the_table) {
  Symbols symbols;
  EXPECT_EQ(symbols.add(3, 4), Dim(7));
  EXPECT_EQ(symbols.multiply(3, 4), Dim(12));
  EXPECT_EQ(symbols.divide_floor(-7, 2), Dim(-4));
  EXPECT_EQ(symbols.divide_ceil(7, 2), Dim(4));
  EXPECT_EQ(symbols.divide_ceil(-7, 2), Dim(-3));
  EXPECT_EQ(symbols.evaluate({}).size(), 1u);
}

TEST(Dim, equal_expressions_are_equal_values) {
  Symbols symbols;
  const Dim batch = symbols.parameter("batch", 32);
  const Dim seq = symbols.parameter("seq");
  EXPECT_EQ(symbols.multiply(batch, seq), symbols.multiply(seq, batch));
  EXPECT_EQ(symbols.add(batch, seq), symbols.add(seq, batch));
  EXPECT_EQ(symbols.subtract(symbols.add(seq, 3), 3), seq);
  EXPECT_EQ(symbols.add(symbols.add(seq, 1), 2), symbols.add(seq, 3));
  EXPECT_EQ(symbols.subtract(seq, seq), Dim(0));
  EXPECT_EQ(symbols.divide_exactly(symbols.multiply(symbols.multiply(batch, seq), 12),
                                   symbols.multiply(seq, 4)),
            symbols.multiply(batch, 3));
  EXPECT_EQ(symbols.parameter("batch"), batch);
  EXPECT_EQ(symbols.limit(symbols.minimum(seq, 512), seq), 512);
  EXPECT_EQ(symbols.limit(symbols.minimum(512, seq), seq), 512);
  EXPECT_EQ(symbols.limit(seq, seq), std::nullopt);
  EXPECT_EQ(symbols.minimum(1, seq), Dim(1)) << "parameters are at least 1";
  EXPECT_EQ(symbols.maximum(symbols.multiply(batch, seq), 0), symbols.multiply(batch, seq));
}

TEST(Dim, evaluates_with_defaults_and_given_values) {
  Symbols symbols;
  const Dim batch = symbols.parameter("batch", 32);
  const Dim half = symbols.divide_floor(symbols.add(batch, 1), 2);
  EXPECT_EQ(value_of(symbols, half, {}), 16);
  EXPECT_EQ(value_of(symbols, half, {{"batch", 8}}), 4);
  EXPECT_EQ(value_of(symbols, symbols.multiply(half, 6), {{"batch", 8}}), 24);
}

TEST(Dim, refuses_what_cannot_be_bound) {
  Symbols symbols;
  symbols.parameter("seq");
  const auto kind_of = [&symbols](const Binding& binding) {
    try {
      symbols.evaluate(binding);
    } catch (const Error& error) {
      return std::string(name_of(error.kind()));
    }
    return std::string("none");
  };
  EXPECT_EQ(kind_of({}), "usage");
  EXPECT_EQ(kind_of({{"seq", 0}}), "usage");
  EXPECT_EQ(kind_of({{"seq", 5}, {"sequence", 5}}), "usage");
  EXPECT_EQ(kind_of({{"seq", 5}}), "none");
  symbols.multiply(symbols.parameter("seq"), symbols.parameter("seq"));
  EXPECT_EQ(kind_of({{"seq", largest}}), "input");
}

TEST(Dim, division_by_a_size_that_becomes_zero_is_an_error) {
  Symbols symbols;
  const Dim seq = symbols.parameter("seq");
  symbols.divide_floor(100, symbols.subtract(seq, 5));
  EXPECT_THROW(symbols.evaluate({{"seq", 5}}), Error);
  EXPECT_NO_THROW(symbols.evaluate({{"seq", 7}}));
}

TEST(Dim, reads_well) {
  Symbols symbols;
  const Dim batch = symbols.parameter("batch");
  const Dim seq = symbols.parameter("seq");
  EXPECT_EQ(symbols.text(64), "64");
  EXPECT_EQ(symbols.text(symbols.multiply(batch, 2)), "2·batch");
  EXPECT_EQ(symbols.text(symbols.multiply(batch, seq)), "batch·seq");
  EXPECT_EQ(symbols.text(symbols.add(symbols.divide_floor(symbols.subtract(seq, 3), 2), 1)),
            "(seq - 3)/2 + 1");
}

TEST(Dim, text_of_endless_nesting_stays_short) {
  Symbols symbols;
  Dim dim = symbols.parameter("n");
  for (int i = 0; i < 10'000; ++i)
    dim = symbols.maximum(symbols.multiply(dim, dim), symbols.add(dim, 1));
  EXPECT_LT(symbols.text(dim).size(), 20'000u);
}

/// Random expression trees: whatever simplification did, the value must be that of plain
/// arithmetic.
RC_GTEST_PROP(Dim, simplification_keeps_the_value, ()) {
  Symbols symbols;
  symbols.parameter("batch");
  symbols.parameter("seq");
  const std::int64_t batch = *rc::gen::inRange(1, 9);
  const std::int64_t seq = *rc::gen::inRange(1, 9);
  const Binding binding = {{"batch", batch}, {"seq", seq}};
  using Pair = std::pair<Dim, std::int64_t>;
  const std::function<Pair(int)> random_expression = [&](int depth) -> Pair {
    const int choice = *rc::gen::inRange(0, depth == 0 ? 3 : 9);
    if (choice == 0) {
      const std::int64_t number = *rc::gen::inRange(1, 6);
      return {Dim(number), number};
    }
    if (choice == 1) return {symbols.parameter("batch"), batch};
    if (choice == 2) return {symbols.parameter("seq"), seq};
    const Pair a = random_expression(depth - 1);
    const Pair b = random_expression(depth - 1);
    const auto floor_div = [](std::int64_t x, std::int64_t y) {
      return (x - ((x % y) + y) % y) / y;
    };
    switch (choice) {
      case 3: return {symbols.add(a.first, b.first), a.second + b.second};
      case 4: return {symbols.subtract(a.first, b.first), a.second - b.second};
      case 5: return {symbols.multiply(a.first, b.first), a.second * b.second};
      case 6: return {symbols.maximum(a.first, b.first), std::max(a.second, b.second)};
      case 7: return {symbols.minimum(a.first, b.first), std::min(a.second, b.second)};
      default: {
        const std::int64_t divisor = *rc::gen::inRange(1, 5);
        return {symbols.divide_floor(a.first, divisor), floor_div(a.second, divisor)};
      }
    }
  };
  const auto [dim, expected] = random_expression(4);
  RC_ASSERT(value_of(symbols, dim, binding) == expected);
}

}  // namespace
}  // namespace strata
