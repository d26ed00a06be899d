// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/caffe/text_format.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace strata::caffe {
namespace {

template <class Ask>
std::string error_of(const std::string& text, const Ask& ask) {
  try {
    ask(parse_text_format(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "no error";
}

std::string error_of(const std::string& text) {
  return error_of(text, [](const Message&) {});
}

TEST(CaffeTextFormat, every_way_to_write_a_field) {
  const std::string text =
      "\xEF\xBB\xBFname: \"net\" # comment\n"
      "a { x: 1, y: 2; z: -3 }\nb: { x: 4 }\nc < x: 5 >\n"
      "list: [1, 2,\n 3]\nlist: 4\nempty: []\nboth: [{x: 6}, {x: 7}]\n"
      "word: MAX word2:MIN;flag: true half: .5 tiny: 1e-3 single: 0.25f [some.extension]: 3\n"
      "text: 'it\\'s' joined: \"one\" \n 'two' codes: \"\\101\\x42\\n\\\\\"";
  const Message root = parse_text_format(text);
  EXPECT_EQ(root.text("name", ""), "net");
  EXPECT_EQ(root.message("a").number("x", 0), 1);
  EXPECT_EQ(root.message("a").number("y", 0), 2);
  EXPECT_EQ(root.message("a").number("z", 0), -3);
  EXPECT_EQ(root.message("b").number("x", 0), 4);
  EXPECT_EQ(root.message("c").number("x", 0), 5);
  EXPECT_EQ(root.numbers("list"), (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(root.number("list", 0), 4);  // the last counts
  EXPECT_FALSE(root.has("empty"));
  EXPECT_EQ(root.messages("both").size(), 2U);
  EXPECT_EQ(root.text("word", ""), "MAX");
  EXPECT_EQ(root.text("word2", ""), "MIN");
  EXPECT_TRUE(root.flag("flag", false));
  EXPECT_DOUBLE_EQ(root.real("half", 0), 0.5);
  EXPECT_DOUBLE_EQ(root.real("tiny", 0), 0.001);
  EXPECT_DOUBLE_EQ(root.real("single", 0), 0.25);
  EXPECT_EQ(root.number("some.extension", 0), 3);
  EXPECT_EQ(root.text("text", ""), "it's");
  EXPECT_EQ(root.text("joined", ""), "onetwo");
  EXPECT_EQ(root.text("codes", ""), "AB\n\\");
  EXPECT_EQ(root.count("list"), 4U);
}

TEST(CaffeTextFormat, what_is_absent_has_its_default) {
  const Message root = parse_text_format("");
  EXPECT_EQ(root.number("a", 7), 7);
  EXPECT_EQ(root.text("a", "x"), "x");
  EXPECT_TRUE(root.flag("a", true));
  EXPECT_EQ(root.message("a").number("b", 8), 8);
  EXPECT_TRUE(root.numbers("a").empty());
}

TEST(CaffeTextFormat, lines_are_counted) {
  const Message root = parse_text_format("a: 1\n\n# x\nb {\n c: 2 }");
  EXPECT_EQ(root.find("a")->line, 1U);
  EXPECT_EQ(root.find("b")->line, 4U);
  EXPECT_EQ(root.message("b").find("c")->line, 5U);
}

TEST(CaffeTextFormat, what_cannot_be_read_is_an_error_with_its_line) {
  EXPECT_EQ(error_of("a: 1\n}"), "line 2: expected the name of a field, got '}'");
  EXPECT_EQ(error_of("a {\n b: 1"),
            "line 2: expected the name of a field, got the end of the file");
  EXPECT_EQ(error_of("a 1"), "line 1: expected ':' or '{' after 'a', got '1'");
  EXPECT_EQ(error_of("a:"), "line 1: expected a value for 'a', got the end of the file");
  EXPECT_EQ(error_of("a: }"), "line 1: expected a value for 'a', got '}'");
  EXPECT_EQ(error_of("a: [1 2]"), "line 1: expected ',' or ']', got '2'");
  EXPECT_EQ(error_of("[a: 1"), "line 1: expected ']', got ':'");
  EXPECT_EQ(error_of("\na: \"x\n"), "line 2: a text without its closing quote: '\"x'");
  EXPECT_EQ(error_of("a: \x1B[31m"), "line 1: expected a value for 'a', got '\\x1b'");
  EXPECT_EQ(error_of("a: 'x\\"), "line 1: a text without its closing quote: ''x\\'");
}

TEST(CaffeTextFormat, what_has_another_type_is_an_error_with_field_and_line) {
  const auto number = [](const Message& root) { root.number("a", 0); };
  EXPECT_EQ(error_of("\na: x", number), "field 'a' (line 2): expected a whole number, got 'x'");
  EXPECT_EQ(error_of("a: 1.5", number), "field 'a' (line 1): expected a whole number, got '1.5'");
  EXPECT_EQ(error_of("a: \"1\"", number),
            "field 'a' (line 1): expected a whole number, got '\"1\"'");
  EXPECT_EQ(error_of("a { }", number),
            "field 'a' (line 1): expected a whole number, got a message");
  EXPECT_EQ(error_of("a: 9223372036854775808", number),
            "field 'a' (line 1): expected a whole number, got '9223372036854775808'");
  EXPECT_EQ(error_of("a: yes", [](const Message& root) { root.flag("a", true); }),
            "field 'a' (line 1): expected true or false, got 'yes'");
  EXPECT_EQ(error_of("a: MAX", [](const Message& root) { root.real("a", 0); }),
            "field 'a' (line 1): expected a number, got 'MAX'");
  EXPECT_EQ(error_of("a: 1", [](const Message& root) { root.message("a"); }),
            "field 'a' (line 1): expected a message in braces, got '1'");
  EXPECT_EQ(error_of("a { }", [](const Message& root) { root.text("a", ""); }),
            "field 'a' (line 1): expected a text, got a message");
}

TEST(CaffeTextFormat, sizes_are_bounded) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "a {";
  EXPECT_EQ(error_of(deep), "line 1: nested deeper than 32 levels");
  std::string many;
  for (std::size_t i = 0; i <= most_fields; ++i) many += "a:1\n";
  EXPECT_EQ(error_of(many), "line 500001: more than 500000 fields");
  EXPECT_EQ(error_of(std::string(most_bytes + 1, ' ')), "16777217 bytes, the most is 16777216");
}

TEST(CaffeTextFormat, names_are_printable_and_short) {
  EXPECT_EQ(checked_name("conv1/7x7_s2"), "conv1/7x7_s2");
  EXPECT_THROW(checked_name("a\nb"), Error);
  EXPECT_THROW(checked_name(std::string(257, 'a')), Error);
}

}  // namespace
}  // namespace strata::caffe
