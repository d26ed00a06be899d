// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/network/document.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

namespace strata::network {
namespace {

std::string message_of(std::string_view text) {
  try {
    parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "no error";
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Document, json_keeps_order_lines_and_types) {
  const Value root =
      parse("{\n  \"z\": 1,\n  \"a\": [true, 2.5,\n        null],\n  \"m\": {\"k\": \"text\"}\n}");
  const Table& table = table_of(root);
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table[0].key, "z");
  EXPECT_EQ(whole_number_of(table[0].value), 1);
  EXPECT_EQ(table[0].value.line, 2U);
  const List& list = list_of(table[1].value);
  EXPECT_EQ(table[1].value.line, 3U);
  EXPECT_TRUE(truth_of(list[0]));
  EXPECT_EQ(number_of(list[1]), 2.5);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(list[2].content));
  EXPECT_EQ(text_of(table_of(table[2].value)[0].value), "text");
  EXPECT_EQ(table[2].value.line, 5U);
}

// A number's end is seen only at the character behind it, which may be the end of the line.
TEST(Document, json_lines_are_right_after_numbers) {
  const Value root = parse("{\"a\": 1\n,\n\"b\": 2\n}");
  EXPECT_EQ(table_of(root)[0].value.line, 1U);
  EXPECT_EQ(table_of(root)[1].value.line, 3U);
}

TEST(Document, toml_keeps_the_order_of_the_file) {
  const Value root =
      parse("z = 1\na = 2\n[m]\nk = 'text'\n[[layers]]\nop = 'b'\n[[layers]]\nop = 'a'\n");
  const Table& table = table_of(root);
  ASSERT_EQ(table.size(), 4U);
  EXPECT_EQ(table[0].key, "z");
  EXPECT_EQ(table[1].key, "a");
  EXPECT_EQ(table[1].value.line, 2U);
  EXPECT_EQ(table[2].key, "m");
  const List& layers = list_of(table[3].value);
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(text_of(table_of(layers[1])[0].value), "a");
  EXPECT_EQ(table_of(layers[1])[0].value.line, 8U);
}

TEST(Document, which_of_the_two_is_seen_from_the_first_character) {
  EXPECT_EQ(whole_number_of(table_of(parse("\xEF\xBB\xBF  {\"a\": 3}"))[0].value), 3);
  EXPECT_EQ(whole_number_of(table_of(parse("\xEF\xBB\xBF"
                                           "a = 3"))[0]
                                .value),
            3);
  EXPECT_TRUE(table_of(parse("")).empty());  // an empty TOML file is an empty table
}

TEST(Document, messages_say_what_was_expected_and_what_came) {
  const auto message = [](const auto& take, Value value) -> std::string {
    try {
      take(value);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(whole_number_of, Value{std::string("x")}),
            "expected a whole number, got the text 'x'");
  EXPECT_EQ(message(whole_number_of, Value{3.0}), "expected a whole number, got 3.0");
  EXPECT_EQ(message(truth_of, Value{std::int64_t{1}}), "expected true or false, got 1");
  EXPECT_EQ(message(text_of, Value{List()}), "expected a text, got an empty list");
  EXPECT_EQ(message(list_of, Value{Table()}), "expected a list, got a table");
  EXPECT_EQ(message(table_of, Value{true}), "expected a table, got true");
  EXPECT_EQ(message(number_of, Value{std::monostate{}}), "expected a number, got null");
}

TEST(Document, syntax_errors_have_line_and_column) {
  EXPECT_TRUE(has(message_of("{\n\"a\": }"), "not valid JSON: line 2, column 6:"));
  EXPECT_TRUE(has(message_of("{\"a\": 1} x"), "not valid JSON: line 1, column 10:"));
  EXPECT_TRUE(has(message_of("a = 1\nb = = 2"), "not valid TOML: line 2, column 5:"));
  EXPECT_TRUE(has(message_of("{\"a\": \"\xFF\"}"), "not valid JSON: line 1"));
  EXPECT_TRUE(has(message_of("a = \"\xFF\""), "not valid TOML: "));
  EXPECT_TRUE(has(message_of("{\"a\": 1e999}"), "not valid JSON"));
}

// toml++ 3.3 asserts instead of checking what follows the bracket.
TEST(Document, toml_header_without_a_name_is_refused) {
  EXPECT_TRUE(has(message_of("[=]\n"), "not valid TOML"));
  EXPECT_TRUE(has(message_of(std::string("[\0\0]\n", 5)), "not valid TOML"));
  EXPECT_TRUE(has(message_of("[[#]]\n"), "not valid TOML"));
}

TEST(Document, toml_beyond_ascii_stands_in_quotes_and_comments_only) {
  EXPECT_TRUE(has(message_of("a = 1\nb\u00e9 = 2"),
                  "line 2: a character beyond ASCII outside quotes and comments"));
  EXPECT_TRUE(has(message_of("a = 4\"\u00e9\""), "line 1: a quote within or behind a word"));
  EXPECT_NO_THROW(
      parse_toml("a = \"\"\"x\"\"\"\" # \u00e9\nb = ''''y''''\n\"c\".'d' = [\n'e', \"f\"]"));
  EXPECT_NO_THROW(parse_toml("\xEF\xBB\xBF# \u00e9\n\"\u00b7\" = '\u00e9'"));
}

TEST(Document, json_keys_come_once) {
  EXPECT_EQ(message_of("{\"a\": 1, \"b\": 2,\n \"a\": 3}"), "line 2: the key 'a' is given twice");
}

TEST(Document, nesting_is_bounded) {
  const auto nested_json = [](std::size_t depth) {
    return "{\"a\": " + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_EQ(message_of(nested_json(deepest_nesting)), "no error");
  EXPECT_TRUE(has(message_of(nested_json(deepest_nesting + 1)), "nested deeper than 16 levels"));
  EXPECT_TRUE(has(message_of(nested_json(1'000'000)), "nested deeper than 16 levels"));
  EXPECT_TRUE(has(message_of("a = " + std::string(1'000'000, '[')), "not valid TOML"));
  EXPECT_TRUE(has(message_of("a = " + std::string(20, '[') + std::string(20, ']')),
                  "nested deeper than 16 levels"));
}

TEST(Document, dotted_keys_are_bounded_and_strings_are_not_keys) {
  std::string key = "a";
  for (int i = 0; i < 500'000; ++i) key += ".a";
  EXPECT_EQ(message_of("x = 1\n" + key + " = 1"), "line 2: nested deeper than 16 levels");
  EXPECT_EQ(message_of("[" + key + "]"), "line 1: nested deeper than 16 levels");
  EXPECT_TRUE(has(message_of("x = {" + key + " = 1}"), "nested deeper than 16 levels"));
  const std::string dots(100, '.');
  EXPECT_EQ(message_of("a = \"" + dots + "\\\"" + dots + "\" # " + dots), "no error");
  EXPECT_EQ(message_of("a = '" + dots + "\\'\nb = \"\"\"\n" + dots + "\n\"\"\""), "no error");
  EXPECT_EQ(message_of("a = '''" + dots + "'''\nb = [1.5, 2.5, 3.5]"), "no error");
}

TEST(Document, size_is_bounded) {
  EXPECT_TRUE(
      has(message_of("{" + std::string(most_json_bytes, ' ') + "}"), "bytes of JSON, the most is"));
  EXPECT_TRUE(
      has(message_of("#" + std::string(most_toml_bytes, ' ')), "bytes of TOML, the most is"));
}

TEST(Document, quotes_are_short_and_harmless) {
  EXPECT_EQ(in_quotes("abc"), "'abc'");
  EXPECT_EQ(in_quotes("\x1B[2J\n"), "'\\x1b[2J\\x0a'");
  EXPECT_EQ(in_quotes(std::string(100, 'x')), "'" + std::string(60, 'x') + "…'");
  // Cut between characters, not within one.
  EXPECT_EQ(in_quotes("x" + std::string(59, 'y') + "é"), "'x" + std::string(59, 'y') + "…'");
  EXPECT_EQ(in_quotes(std::string(59, 'y') + "éé"), "'" + std::string(59, 'y') + "é…'");
}

TEST(TableReader, keys_that_nobody_asked_for_are_errors) {
  const Value root = parse("{\"kernel\": 3,\n \"strid\": 2}");
  std::uint32_t line = 0;
  TableReader keys(table_of(root), line);
  EXPECT_NE(keys.take("kernel"), nullptr);
  EXPECT_EQ(keys.take("stride"), nullptr);
  try {
    keys.expect_all_taken();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "unknown key 'strid'; did you mean stride?");
    EXPECT_EQ(line, 2U);
  }
}

}  // namespace
}  // namespace strata::network
