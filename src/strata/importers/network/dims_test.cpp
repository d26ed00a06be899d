// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/network/dims.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace strata::network {
namespace {

class Dims : public ::testing::Test {
 protected:
  std::int64_t value(std::string_view formula) {
    const Dim dim = reader.parse(formula);
    Binding binding;
    for (const Parameter& parameter : symbols.parameters())
      binding[parameter.name] = numbers.at(parameter.name);
    return dim.factor * symbols.evaluate(binding)[dim.symbol];
  }
  std::string message(std::string_view formula) {
    try {
      reader.parse(formula);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  Symbols symbols;
  DimReader reader{symbols};
  Binding numbers{{"batch", 7}, {"seq", 100}, {"width", 64}};
};

TEST_F(Dims, formulas) {
  reader.declare("width", 64);
  EXPECT_EQ(value("12"), 12);
  EXPECT_EQ(value("batch"), 7);
  EXPECT_EQ(value("4*batch"), 28);
  EXPECT_EQ(value("4·batch"), 28);
  EXPECT_EQ(value(" 2 * batch * seq "), 1400);
  EXPECT_EQ(value("seq + batch - 2"), 105);
  EXPECT_EQ(value("seq - batch - 2"), 91);
  EXPECT_EQ(value("(seq - 3)/2 + 1"), 49);
  EXPECT_EQ(value("floor((seq - 3) / 2) + 1"), 49);
  EXPECT_EQ(value("ceil((seq - 3)/2)"), 49);
  EXPECT_EQ(value("ceil(seq/8)"), 13);
  EXPECT_EQ(value("seq/8*8"), 96);
  EXPECT_EQ(value("max(seq, 512) + min(seq, width)"), 576);
  EXPECT_EQ(value("-(-batch)"), 7);
  EXPECT_EQ(value("seq*seq"), 10000);
}

TEST_F(Dims, equal_formulas_are_equal_dims) {
  EXPECT_EQ(reader.parse("batch*seq"), reader.parse("seq*batch"));
  EXPECT_EQ(reader.parse("3*8"), Dim(24));
  EXPECT_EQ(reader.parse("seq + 1 + 1"), reader.parse("seq + 2"));
}

TEST_F(Dims, mistakes) {
  EXPECT_EQ(message(""), "'': expected a number or a name, got the end");
  EXPECT_EQ(message("batch seq"), "'batch seq': expected an operator, got 'seq'");
  EXPECT_EQ(message("(batch"), "'(batch': expected ')', got the end");
  EXPECT_EQ(message("2 ** 3"), "'2 ** 3': expected a number or a name, got '* 3'");
  EXPECT_EQ(message("max(seq)"), "'max(seq)': expected ',', got ')'");
  EXPECT_EQ(message("ceil(seq)"), "'ceil(seq)': expected '/', got ')'");
  EXPECT_EQ(message("99999999999999999999"), "'99999999999999999999': a number is too large");
  EXPECT_EQ(message("width"),
            "no dimension is called 'width' (all but batch and seq are declared in 'dims')");
  EXPECT_EQ(message("4/0"), "a size is divided by zero");
  EXPECT_EQ(message("9223372036854775807*2"), "sizes too large: a count does not fit in 64 bits");
  EXPECT_NE(message(std::string(2000, '(')).find("the most is 1000"), std::string::npos);
  EXPECT_NE(message(std::string(900, '(')).find("got the end"), std::string::npos);
}

TEST_F(Dims, names) {
  EXPECT_TRUE(is_dim_name("batch"));
  EXPECT_TRUE(is_dim_name("past_seq2"));
  EXPECT_FALSE(is_dim_name(""));
  EXPECT_FALSE(is_dim_name("2x"));
  EXPECT_FALSE(is_dim_name("a-b"));
  EXPECT_FALSE(is_dim_name("max"));
}

TEST_F(Dims, a_declared_default_is_kept) {
  reader.declare("seq", 128);
  reader.declare("open", std::nullopt);
  reader.parse("seq + open + batch");
  ASSERT_EQ(symbols.parameters().size(), 3U);
  EXPECT_EQ(symbols.parameters()[0].default_value, 128);
  EXPECT_FALSE(symbols.parameters()[1].default_value);
  EXPECT_EQ(symbols.parameters()[2].name, "batch");
}

// Grows random formulas as shape inference would, through the arithmetic of Symbols.
Dim random_dim(Symbols& symbols, int depth) {
  const int choice = *rc::gen::inRange(0, depth == 0 ? 3 : 10);
  if (choice == 0) return *rc::gen::inRange<std::int64_t>(1, 100);
  if (choice <= 2) return symbols.parameter(choice == 1 ? "batch" : "seq");
  const Dim a = random_dim(symbols, depth - 1);
  const Dim b = random_dim(symbols, depth - 1);
  switch (choice) {
    case 3: return symbols.add(a, b);
    case 4: return symbols.subtract(a, b);
    case 5: return symbols.multiply(a, b);
    case 6: return symbols.divide_floor(a, *rc::gen::inRange<std::int64_t>(1, 9));
    case 7: return symbols.divide_ceil(a, *rc::gen::inRange<std::int64_t>(1, 9));
    case 8: return symbols.maximum(a, b);
    default: return symbols.minimum(a, b);
  }
}

RC_GTEST_PROP(DimsProperty, formulas_read_back_as_the_same_size, ()) {
  Symbols symbols;
  symbols.parameter("batch");
  symbols.parameter("seq");
  const Dim dim = random_dim(symbols, 3);
  const std::string formula = formula_of(dim, symbols);
  DimReader reader(symbols);
  const Dim again = reader.parse(formula);
  const Binding binding{{"batch", *rc::gen::inRange<std::int64_t>(1, 50)},
                        {"seq", *rc::gen::inRange<std::int64_t>(1, 50)}};
  const std::vector<std::int64_t> values = symbols.evaluate(binding);
  RC_ASSERT(dim.factor * values[dim.symbol] == again.factor * values[again.symbol]);
}

}  // namespace
}  // namespace strata::network
