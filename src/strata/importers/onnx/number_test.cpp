// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/number.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace strata::onnx {
namespace {

class OnnxNumber : public testing::Test {
 protected:
  Symbols symbols;
  Dim batch = symbols.parameter("batch");
  Dim seq = symbols.parameter("seq");
};

TEST_F(OnnxNumber, a_real_without_a_fraction_is_whole) {
  EXPECT_FALSE(Number::real(2.0).is_real());
  EXPECT_TRUE(Number::real(2.5).is_real());
  EXPECT_TRUE(Number::real(std::nan("")).is_real());
  EXPECT_TRUE(Number::real(HUGE_VAL).is_real());
  EXPECT_EQ(Number::real(2.5).value(), 2.5);
}

TEST_F(OnnxNumber, symbols_stay_exact) {
  EXPECT_EQ(product(batch, Number::real(2.0), symbols), Number(Dim(2, batch.symbol)));
  const Number rows = *product(batch, seq, symbols);
  EXPECT_EQ(quotient(rows, seq, true, symbols), Number(batch));
  EXPECT_EQ(quotient(*product(rows, Dim(8), symbols), Dim(4), true, symbols),
            product(rows, Dim(2), symbols));
}

TEST_F(OnnxNumber, what_symbols_cannot_say_is_not_known) {
  EXPECT_FALSE(product(batch, Number::real(0.5), symbols).has_value());
  EXPECT_FALSE(quotient(batch, Dim(0), true, symbols).has_value());
  EXPECT_FALSE(power(batch, Dim(2)).has_value());
}

TEST_F(OnnxNumber, whole_division_rounds_towards_zero) {
  EXPECT_EQ(quotient(Dim(-7), Dim(2), true, symbols), Number(Dim(-3)));
  EXPECT_EQ(quotient(Dim(7), Dim(2), false, symbols), Number::real(3.5));
  EXPECT_FALSE(
      quotient(Dim(std::numeric_limits<std::int64_t>::min()), Dim(-1), true, symbols).has_value());
}

TEST_F(OnnxNumber, sizes_are_positive) {
  EXPECT_EQ(are_equal(batch, Dim(-1)), false);
  EXPECT_EQ(are_equal(batch, Dim(0)), false);
  EXPECT_EQ(are_equal(batch, batch), true);
  EXPECT_EQ(are_equal(batch, Dim(1)), std::nullopt);
  EXPECT_EQ(are_equal(batch, seq), std::nullopt);
  EXPECT_EQ(is_less(batch, Dim(1)), false);
  EXPECT_EQ(is_less(Dim(0), batch), true);
}

}  // namespace
}  // namespace strata::onnx
