// SPDX-License-Identifier: Apache-2.0
#include "strata/report/table.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

Table example() {
  Table table({{.title = "layer", .least_width = 5, .omit = Omit::beginning},
               {.title = "parameters", .align = Align::right},
               {.title = "kept for backward", .least_width = 4, .leaves = 1}});
  table.add_row({"features.0.convolution", "9.41 K", "input"});
  table.add_row({"fc", "2.05 M", "input + statistics"});
  table.add_total({"total", "2.06 M", ""});
  return table;
}

TEST(Table, columns_line_up) {
  EXPECT_EQ(example().to_text({}),
            "  layer                   parameters  kept for backward\n"
            "  features.0.convolution      9.41 K  input\n"
            "  fc                          2.05 M  input + statistics\n"
            "  ──────────────────────────────────────────────────────\n"
            "  total                       2.06 M\n");
}

TEST(Table, headings_stand_before_the_rows_that_they_are_about) {
  Table table({{.title = "layer"}, {.title = "kept"}});
  table.add_heading("inputs are\nkept");
  table.add_row({"fc", "input"});
  table.add_heading("nothing is");
  table.add_row({"relu", ""});
  EXPECT_EQ(table.to_text({}),
            "  layer  kept\n"
            "  inputs are\\u{a}kept\n"
            "  fc     input\n"
            "  nothing is\n"
            "  relu\n");
  TextStyle narrow;
  narrow.columns = 9;
  EXPECT_NE(table.to_text(narrow).find("  nothing\n  is\n"), std::string::npos);
}

TEST(Table, a_column_with_nothing_to_say_is_left_out) {
  Table table({{.title = "layer"}, {.title = "backward", .is_shown = false}, {.title = "kept"}});
  table.add_row({"fc", "7", "input"});
  EXPECT_EQ(table.to_text({}),
            "  layer  kept\n"
            "  fc     input\n");
}

TEST(Table, a_heading_may_have_a_second_line) {
  Table table({{.title = "layer"}, {.title = "forward\nFLOP", .align = Align::right}});
  table.add_row({"fc", "2.05 M"});
  EXPECT_EQ(table.to_text({}),
            "  layer  forward\n"
            "            FLOP\n"
            "  fc      2.05 M\n");
}

TEST(Table, text_is_shortened_from_the_right_before_columns_go) {
  EXPECT_EQ(example().to_text({.columns = 44}),
            "  layer                   parameters  kept …\n"
            "  features.0.convolution      9.41 K  input\n"
            "  fc                          2.05 M  input…\n"
            "  ──────────────────────────────────────────\n"
            "  total                       2.06 M\n");
  EXPECT_EQ(example().to_text({.columns = 30}),
            "  layer       parameters  kep…\n"
            "  fe…olution      9.41 K  inp…\n"
            "  fc              2.05 M  inp…\n"
            "  ────────────────────────────\n"
            "  total           2.06 M\n");
}

TEST(Table, columns_that_went_are_named) {
  EXPECT_EQ(example().to_text({.columns = 22}),
            "  layer     parameters\n"
            "  fe…ution      9.41 K\n"
            "  fc            2.05 M\n"
            "  ────────────────────\n"
            "  total         2.06 M\n"
            "  no room for: kept f…\n");
}

TEST(Table, numbers_are_never_cut) {
  const std::string text = example().to_text({.columns = 3});
  EXPECT_NE(text.find("9.41 K"), std::string::npos) << text;
  EXPECT_NE(text.find("parameters"), std::string::npos) << text;
}

TEST(Table, no_line_is_wider_than_the_terminal_while_that_can_be) {
  for (std::size_t columns = 20; columns < 80; ++columns) {
    const std::string text = example().to_text({.columns = columns});
    std::vector<std::string_view> lines = split(text, '\n');
    while (lines.back().empty() || lines.back().find("no room") != lines.back().npos)
      lines.pop_back();
    for (const std::string_view line : lines) EXPECT_LE(width_of(line), columns) << line;
  }
}

TEST(Table, color_is_only_there_when_asked_for) {
  EXPECT_EQ(example().to_text({}).find('\033'), std::string::npos);
  EXPECT_NE(example().to_text({.has_color = true}).find("\033[1m"), std::string::npos);
}

TEST(Table, a_row_of_another_length_is_a_bug) {
  Table table({{.title = "one"}});
  EXPECT_THROW(table.add_row({"a", "b"}), Error);
  EXPECT_THROW(table.add_total({}), Error);
}

}  // namespace
}  // namespace strata
