// SPDX-License-Identifier: Apache-2.0
#include "strata/base/csv_cell.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace strata {
namespace {

TEST(CsvCell, starts_no_formula_in_a_spreadsheet) {
  EXPECT_EQ(csv_cell("=1+1"), "'=1+1");
  EXPECT_EQ(csv_cell("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(csv_cell("+cmd|' /C calc'!A0"), "'+cmd|' /C calc'!A0");
  EXPECT_EQ(csv_cell("-1+1"), "'-1+1");
  EXPECT_EQ(csv_cell("=HYPERLINK(\"a\",\"b\")"), "\"'=HYPERLINK(\"\"a\"\",\"\"b\"\")\"");
  EXPECT_EQ(csv_cell("\t=1"), "\\u{9}=1");
  EXPECT_EQ(csv_cell("\r=1"), "\\u{d}=1");
}

TEST(CsvCell, keeps_numbers_and_ordinary_text) {
  EXPECT_EQ(csv_cell("-1.5"), "-1.5");
  EXPECT_EQ(csv_cell("-1e-9"), "-1e-9");
  EXPECT_EQ(csv_cell("conv1"), "conv1");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"a\""), "\"say \"\"a\"\"\"");
  EXPECT_EQ(csv_cell(""), "");
}

TEST(CsvCell, a_row_is_one_line_and_shows_what_is_in_it) {
  EXPECT_EQ(csv_cell("a\nb"), "a\\u{a}b");
  EXPECT_EQ(csv_cell("a\u202Eb"), "a\\u{202e}b");
}

TEST(CsvCell, a_quote_without_end_is_an_error) { EXPECT_THROW(csv_cells("a,\"b"), Error); }

RC_GTEST_PROP(CsvCell, reading_gives_back_what_was_written, (const std::string& text)) {
  for (const std::string& each : {text, "'=" + text, "\\u{202e}" + text, "''" + text}) {
    const std::string cell = csv_cell(each);
    RC_ASSERT(is_printable(cell));
    const auto cells = csv_cells("x," + cell + ",y");
    RC_ASSERT(cells.size() == 3U);
    RC_ASSERT(csv_text(cells[1]) == each);
  }
}

}  // namespace
}  // namespace strata
