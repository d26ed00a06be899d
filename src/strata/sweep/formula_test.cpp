// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/formula.hpp"

#include "strata/base/error.hpp"
#include "strata/sweep/formula_tokens.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace strata {
namespace {

const std::vector<FormulaColumn> some_columns = {
    {"model", true}, {"capacity_bytes"}, {"micro-batches"},
    {"time_s"},      {"compute_time_s"}, {"area_mm2"},
    {"x"},           {"policy", true}};

class GivenRow : public FormulaRow {
 public:
  std::map<std::size_t, double> numbers;
  std::map<std::size_t, std::string> texts;
  double number(std::size_t column) const override { return numbers.at(column); }
  std::string_view text(std::size_t column) const override { return texts.at(column); }
};

GivenRow some_row() {
  GivenRow row;
  row.texts = {{0, "resnet50"}, {7, "best"}};
  row.numbers = {{1, 134217728}, {2, 4}, {3, 0.05}, {4, 0.04}, {5, 79.5}, {6, -3}};
  return row;
}

double value_of(std::string_view text) {
  return Formula(text, some_columns, "--where").value(some_row());
}

std::string message_of(std::string_view text) {
  try {
    const Formula formula(text, some_columns, "--where");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage) << text;
    return error.what();
  }
  return "no error";
}

TEST(Formula, computes_over_columns) {
  EXPECT_EQ(value_of("1 + 2 * 3"), 7);
  EXPECT_EQ(value_of("-x ^ 2 + max(1, 2, x)"), -9 + 2);
  EXPECT_EQ(value_of("area_mm2 < 800 && time_s < 0.1"), 1);
  EXPECT_EQ(value_of("area_mm2 > 800 or time_s >= 0.05"), 1);
  EXPECT_EQ(value_of("x < 0 ? 10 : 20"), 10);
  EXPECT_EQ(value_of("floor(2.7) + ceil(2.1) + log2(8)"), 2 + 3 + 3);
}

TEST(Formula, reads_units_as_the_command_line_does) {
  EXPECT_EQ(value_of("capacity_bytes == 128MiB"), 1);
  EXPECT_EQ(value_of("1GB"), 1e9);
  EXPECT_EQ(value_of("1GiB"), std::pow(2, 30));
  EXPECT_EQ(value_of("616GB/s"), 616e9);
  EXPECT_EQ(value_of("13.45TFLOP/s"), 13.45e12);
  EXPECT_EQ(value_of("1.5K"), 1500);
  EXPECT_EQ(value_of("50ms"), 0.05);
  EXPECT_EQ(value_of("1e3"), 1000);
  EXPECT_EQ(value_of("capacity/1MiB"), 128) << "a quotient, not a unit";
  EXPECT_EQ(value_of("12MB/time_s"), 12e6 / 0.05);
}

TEST(Formula, finds_columns_as_people_name_them) {
  EXPECT_EQ(value_of("time"), 0.05);
  EXPECT_EQ(value_of("area"), 79.5);
  EXPECT_EQ(value_of("micro_batches"), 4);
  EXPECT_EQ(find_column("ime_s", some_columns), std::nullopt);
  const std::vector<FormulaColumn> twice = {{"area_mm2"}, {"area_bytes"}};
  EXPECT_EQ(find_column("area", twice), std::nullopt) << "it could be either";
}

TEST(Formula, compares_texts) {
  EXPECT_EQ(value_of("model == \"resnet50\" && policy != 'thesis'"), 1);
  EXPECT_EQ(value_of("'thesis' == policy || x > 0"), 0);
  EXPECT_NE(message_of("model + 1").find("column 'model' holds text"), std::string::npos);
  EXPECT_NE(message_of("x == 'a'").find("a text can only"), std::string::npos);
  EXPECT_NE(message_of("'a' == x").find("holds numbers"), std::string::npos);
}

TEST(Formula, says_which_columns_it_needs) {
  const Formula formula("area_mm2 < 800 && (x + area > 0 || model == 'a')", some_columns, "w");
  EXPECT_EQ(formula.columns(), (std::vector<std::size_t>{0, 5, 6}));
  EXPECT_TRUE(Formula("1 + 1", some_columns, "w").columns().empty());
}

TEST(Formula, a_missing_number_decides_nothing) {
  GivenRow row = some_row();
  row.numbers[3] = std::nan("");
  Formula unequal("time_s != 3", some_columns, "--where");
  EXPECT_TRUE(std::isnan(unequal.value(row)));
  EXPECT_FALSE(unequal.holds(row));
  EXPECT_TRUE(unequal.holds(some_row()));
  EXPECT_FALSE(Formula("0 * x / 0", some_columns, "--where").holds(row));
  EXPECT_FALSE(Formula("sqrt(0 * x - 1)", some_columns, "--where").holds(row));
}

TEST(Formula, what_is_not_finite_is_no_yes) {
  GivenRow row = some_row();
  EXPECT_FALSE(Formula("1 / (x - x)", some_columns, "--where").holds(row));
  EXPECT_FALSE(Formula("-1 / (x - x)", some_columns, "--where").holds(row));
  EXPECT_TRUE(Formula("1 / (x - x) > 5", some_columns, "--where").holds(row)) << "a comparison";
  for (const char* text : {"1/0", "0 / 0", "sqrt(-1)", "ln(0)"}) {
    EXPECT_NE(message_of(text).find("has no value: it divides by zero"), std::string::npos) << text;
  }
}

TEST(Formula, mistakes_are_named_with_their_place) {
  const std::string unknown = message_of("are_mm2 < 800");
  EXPECT_NE(unknown.find("position 1: no column 'are_mm2'; did you mean area_mm2?"),
            std::string::npos)
      << unknown;
  EXPECT_NE(unknown.find("(columns: model, capacity_bytes,"), std::string::npos) << unknown;
  EXPECT_EQ(message_of("x + * 2"), "--where 'x + * 2', position 5: '*' is not expected here");
  EXPECT_EQ(message_of("x + "), "--where 'x + ', position 5: something is missing here");
  EXPECT_EQ(message_of("(x"), "--where '(x', position 1: '(' without its ')'");
  EXPECT_EQ(message_of("x)"), "--where 'x)', position 2: ')' without its '('");
  EXPECT_NE(message_of("x = 3").find("position 3: a formula cannot set"), std::string::npos);
  EXPECT_NE(message_of("1, 2").find("position 2: a ','"), std::string::npos);
  EXPECT_NE(message_of("mx(1)").find("no function 'mx'; did you mean max"), std::string::npos);
  EXPECT_NE(message_of("sqrt(1, 2)").find("too many arguments"), std::string::npos);
  EXPECT_NE(message_of("5MBit").find("position 1: a number with an unknown unit"),
            std::string::npos);
  EXPECT_NE(message_of("time_s < 5 ms").find("position 12: a unit stands right behind"),
            std::string::npos);
  EXPECT_NE(message_of("1 2").find("position 3: '2' is not expected"), std::string::npos);
  EXPECT_NE(message_of("x x").find("position 3: 'x' is not expected"), std::string::npos);
  EXPECT_NE(message_of("").find("is empty"), std::string::npos);
  EXPECT_NE(message_of("'abc").find("has no end"), std::string::npos);
  EXPECT_NE(message_of("1e999").find("out of range"), std::string::npos);
  EXPECT_NE(message_of("x\n+1").find("no such sign"), std::string::npos);
  EXPECT_NE(message_of("v0").find("no column 'v0'"), std::string::npos) << "ours, not theirs";
}

TEST(Formula, length_and_depth_are_bounded) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "1" + std::string(depth, ')');
  };
  EXPECT_EQ(value_of(nested(deepest_formula)), 1);
  EXPECT_NE(message_of(nested(deepest_formula + 1)).find("within each other"), std::string::npos);
  std::string sum = "1";
  while (sum.size() + 2 <= longest_formula) sum += "+1";
  EXPECT_EQ(value_of(sum), static_cast<double>((sum.size() + 1) / 2));
  EXPECT_NE(message_of(sum + "+1").find("at most 2000"), std::string::npos);
}

// A random formula as text, fully in parentheses, and its value computed beside it.
struct RandomFormula {
  std::string text;
  double value = 0;
  bool is_constant = false;
};

RandomFormula random_formula(std::mt19937& random, int depth) {
  const auto pick = [&](int count) {
    return static_cast<int>(random() % static_cast<unsigned>(count));
  };
  const GivenRow row = some_row();
  if (depth == 0 || pick(5) == 0) {
    if (pick(2) == 0) {
      const double number = pick(1000) / 8.0;
      return {fmt::format("{}", number), number, true};
    }
    const std::size_t column = 1 + static_cast<std::size_t>(pick(6));
    std::string name = some_columns[column].name;
    if (name == "micro-batches") name = "micro_batches";
    return {name, row.numbers.at(column)};
  }
  const RandomFormula a = random_formula(random, depth - 1);
  const RandomFormula b = random_formula(random, depth - 1);
  const RandomFormula c = random_formula(random, depth - 1);
  const bool two = a.is_constant && b.is_constant;
  const auto joined = [&](std::string_view sign, double value) {
    return RandomFormula{fmt::format("({} {} {})", a.text, sign, b.text), value, two};
  };
  switch (pick(11)) {
    case 0: return joined("+", a.value + b.value);
    case 1: return joined("-", a.value - b.value);
    case 2: return joined("*", a.value * b.value);
    case 3: return joined("/", a.value / b.value);
    case 4: return joined("<", a.value < b.value);
    case 5: return joined(">=", a.value >= b.value);
    case 6: return joined("==", a.value == b.value);
    case 7: return {fmt::format("min({}, {})", a.text, b.text), std::min(a.value, b.value), two};
    case 8: return {fmt::format("(-{})", a.text), -a.value, a.is_constant};
    case 9:
      return {fmt::format("abs({})", a.text), a.value < 0 ? -a.value : a.value, a.is_constant};
    default:
      return {fmt::format("({} > 0 ? {} : {})", a.text, b.text, c.text),
              a.value > 0 ? b.value : c.value, two && c.is_constant};
  }
}

TEST(Formula, agrees_with_arithmetic_done_beside_it) {
  std::mt19937 random(5);
  int compared = 0;
  for (int round = 0; round < 2000; ++round) {
    const RandomFormula formula = random_formula(random, 4);
    if (formula.text.size() > longest_formula) continue;
    if (formula.is_constant && !std::isfinite(formula.value)) {
      EXPECT_NE(message_of(formula.text).find("has no value"), std::string::npos) << formula.text;
      continue;
    }
    const double value = value_of(formula.text);
    ++compared;
    if (std::isnan(formula.value)) {
      EXPECT_TRUE(std::isnan(value)) << formula.text;
    } else {
      EXPECT_DOUBLE_EQ(value, formula.value) << formula.text;
    }
  }
  EXPECT_GT(compared, 1500);
}

TEST(Formula, anything_typed_is_read_or_refused) {
  std::mt19937 random(7);
  const std::vector<std::string> words = {
      "x",  "time", "model", "'a'", "\"", "1",  "2.5e3", "128MB", "1GB/s", "(",   ")",  ",",
      "+",  "-",    "*",     "/",   "^",  "<",  "<=",    "==",    "!=",    "&&",  "||", "?",
      ":",  "max(", "sqrt(", "and", "or", "=",  "!",     "_pi",   "sin(",  " ",   ".",  "e",
      "0x", "rnd",  "\xff",  "\n",  "#",  "{}", "%n",    "1e",    "min()", "sum", "~",  "\\"};
  int read = 0;
  for (int round = 0; round < 10000; ++round) {
    // Bytes, words, and formulas in which a word was put somewhere.
    std::string text = round % 4 == 0 ? random_formula(random, 3).text : "";
    const std::size_t length = text.empty() ? random() % 12 : 1;
    for (std::size_t at = 0; at < length; ++at) {
      const std::string byte(1, static_cast<char>(random() % 256));
      text.insert(random() % (text.size() + 1),
                  round % 4 == 1 ? byte : words[random() % words.size()]);
    }
    try {
      Formula formula(text, some_columns, "--where");
      formula.value(some_row());
      demands_of(text);
      ++read;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::usage) << text;
      ASSERT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << text;
    }
  }
  EXPECT_GT(read, 200) << "some must be formulas, or nothing was tried";
}

TEST(Formula, a_constraint_falls_into_its_demands) {
  const auto demands = demands_of("area < 800 && (x > 1 || x < 0) and time_s*2 <= 0.1 && x");
  ASSERT_EQ(demands.size(), 4U);
  EXPECT_EQ(demands[0].left, "area");
  EXPECT_EQ(demands[0].sign, "<");
  EXPECT_EQ(demands[0].right, "800");
  EXPECT_EQ(demands[1].text, "(x > 1 || x < 0)");
  EXPECT_EQ(demands[1].sign, "");
  EXPECT_EQ(demands[2].text, "time_s*2 <= 0.1");
  EXPECT_EQ(demands[3].left, "x");
  EXPECT_EQ(demands_of("x < 1 || x > 2").size(), 1U);
  EXPECT_EQ(demands_of("x < 1 || x > 2")[0].sign, "");
}

TEST(Formula, column_definitions_have_new_and_plain_names) {
  const auto read = [](std::string_view text) {
    return read_column_definition(text, some_columns, "--column");
  };
  EXPECT_EQ(read(" cost = x == 3 ").name, "cost");
  EXPECT_EQ(read(" cost = x == 3 ").formula, "x == 3");
  EXPECT_THROW(read("cost"), Error);
  EXPECT_THROW(read("=x"), Error);
  EXPECT_THROW(read("1cost=x"), Error);
  EXPECT_THROW(read("co st=x"), Error);
  EXPECT_THROW(read("or=x"), Error);
  EXPECT_THROW(read("time_s=x"), Error) << "there is one already";
  EXPECT_THROW(read("area=x"), Error) << "it means area_mm2";
  EXPECT_THROW(read("micro_batches=x"), Error) << "a formula could not tell it from the other";
}

}  // namespace
}  // namespace strata
