// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/darknet/config.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace strata::darknet {
namespace {

std::string error_of(std::string_view text) {
  try {
    parse_config(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "no error";
}

template <class Ask>
std::string error_of_value(std::string_view text, const Ask& ask) {
  const std::vector<Section> sections = parse_config(text);
  try {
    ask(sections.at(0));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DarknetConfig, sections_and_settings) {
  const std::vector<Section> sections = parse_config(
      "\xEF\xBB\xBF# comment\r\n\r\n[net]\r\nbatch = 64\r\n; comment\nlearning_rate=.001\n"
      "[ route ]  # here\nlayers = -1, 36,\nanchors=1,2 #3\nempty=\n");
  ASSERT_EQ(sections.size(), 2U);
  EXPECT_EQ(sections[0].kind, "net");
  EXPECT_EQ(sections[0].line, 3U);
  EXPECT_EQ(sections[0].number("batch", 1), 64);
  EXPECT_EQ(sections[0].number("width", 7), 7);
  EXPECT_DOUBLE_EQ(sections[0].real("learning_rate", 0), 0.001);
  EXPECT_EQ(sections[1].kind, "route");
  EXPECT_EQ(sections[1].line, 7U);
  EXPECT_EQ(sections[1].numbers("layers"), (std::vector<std::int64_t>{-1, 36}));
  EXPECT_EQ(sections[1].numbers("anchors"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(sections[1].numbers("absent").empty());
  EXPECT_EQ(sections[1].word("empty", "other"), "");
  EXPECT_EQ(sections[1].word("absent", "other"), "other");
}

TEST(DarknetConfig, the_first_of_two_settings_counts) {
  const std::vector<Section> sections = parse_config("[net]\nbatch=1\nbatch=64\n");
  EXPECT_EQ(sections[0].number("batch", 0), 1);
}

TEST(DarknetConfig, a_value_ends_at_a_comment) {
  const std::vector<Section> sections = parse_config("[convolutional]\ngroups=464\t#384\n");
  EXPECT_EQ(sections[0].number("groups", 1), 464);
}

TEST(DarknetConfig, what_cannot_be_read_is_an_error_with_its_line) {
  EXPECT_EQ(error_of("[net]\nbatch\n"), "line 2: expected key=value, got 'batch'");
  EXPECT_EQ(error_of("[net]\n=3\n"), "line 2: expected key=value, got '=3'");
  EXPECT_EQ(error_of("\nbatch=1\n"), "line 2: expected [net], got 'batch=1'");
  EXPECT_EQ(error_of("[net\n"), "line 1: expected [section], got '[net'");
  EXPECT_EQ(error_of("[]\n"), "line 1: expected [section], got '[]'");
  EXPECT_EQ(error_of("[net] x=1\n"), "line 1: expected [section], got '[net] x=1'");
  EXPECT_EQ(error_of("[ne\x1B[31mt]\n"), "line 1: expected [section], got '[ne\\x1b[31mt]'");
}

TEST(DarknetConfig, what_is_no_number_is_an_error_with_its_key) {
  const auto size = [](const Section& section) { section.number("size", 1); };
  EXPECT_EQ(error_of_value("[c]\nsize=three\n", size),
            "key 'size': expected a whole number, got 'three'");
  EXPECT_EQ(error_of_value("[c]\nsize=3.5\n", size),
            "key 'size': expected a whole number, got '3.5'");
  EXPECT_EQ(error_of_value("[c]\nsize=\n", size), "key 'size': expected a whole number, got ''");
  EXPECT_EQ(error_of_value("[c]\nsize=4294967296\n", size),
            "key 'size': 4294967296 does not fit into 32 bits");
  EXPECT_EQ(error_of_value("[c]\nsize=99999999999999999999\n", size),
            "key 'size': expected a whole number, got '99999999999999999999'");
  EXPECT_EQ(error_of_value("[c]\nlayers=1,,2\n", [](const Section& s) { s.numbers("layers"); }),
            "key 'layers': expected a whole number, got ''");
  EXPECT_EQ(error_of_value("[c]\np=half\n", [](const Section& s) { s.real("p", 0); }),
            "key 'p': expected a number, got 'half'");
}

TEST(DarknetConfig, sizes_are_bounded) {
  std::string sections;
  for (std::size_t i = 0; i <= most_sections; ++i) sections += "[dropout]\n";
  EXPECT_EQ(error_of(sections), "line 10001: more than 10000 sections");
  std::string settings = "[net]\n";
  for (std::size_t i = 0; i <= most_options; ++i) settings += "a=\n";
  EXPECT_EQ(error_of(settings), "line 500002: more than 500000 settings");
  std::string list = "[route]\nlayers=1";
  for (std::size_t i = 0; i < longest_list; ++i) list += ",1";
  EXPECT_EQ(error_of_value(list, [](const Section& s) { s.numbers("layers"); }),
            "key 'layers': more than 10000 entries");
  EXPECT_EQ(error_of(std::string(most_bytes + 1, '\n')), "16777217 bytes, the most is 16777216");
}

}  // namespace
}  // namespace strata::darknet
