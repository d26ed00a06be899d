// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/csv_lines.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <random>

namespace strata {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(std::string_view text) {
  const auto source = text_source(text);
  CsvLines lines(*source);
  Rows rows;
  for (std::vector<std::string> cells; lines.next(cells);) rows.push_back(cells);
  return rows;
}

TEST(CsvLines, QuotesHoldCommasQuotesAndLines) {
  EXPECT_EQ(rows_of("a,\"b,\"\"c\"\"\nd\",e\r\n,\n"), (Rows{{"a", "b,\"c\"\nd", "e"}, {"", ""}}));
  EXPECT_EQ(rows_of("x"), (Rows{{"x"}}));
  EXPECT_TRUE(rows_of("").empty());
}

TEST(CsvLines, AQuoteThatDoesNotEndIsRefused) {
  try {
    rows_of("a,\"b\n");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
  }
}

TEST(CsvLines, ReadsBackWhatWasWritten) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    Rows rows(1 + random() % 4);
    std::string text;
    for (std::vector<std::string>& row : rows) {
      for (std::size_t cell = 0, cells = 1 + random() % 3; cell < cells; ++cell) {
        std::string value = "v";
        std::string quoted;
        for (std::size_t i = 0; i < random() % 6; ++i) value += ",\"\nab"[random() % 5];
        for (const char c : value) quoted += c == '"' ? "\"\"" : std::string(1, c);
        text += (cell == 0 ? "\"" : ",\"") + quoted + '"';
        row.push_back(value);
      }
      text += '\n';
    }
    EXPECT_EQ(rows_of(text), rows) << text;
  }
}

}  // namespace
}  // namespace strata
