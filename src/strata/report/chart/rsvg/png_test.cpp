// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/png.hpp"

#include "strata/base/error.hpp"
#include "strata/report/chart/chart.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

unsigned number_at(const std::string& bytes, std::size_t at) {
  unsigned number = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    number = (number << 8U) | static_cast<unsigned char>(bytes.at(at + i));
  }
  return number;
}

TEST(Png, has_the_size_of_the_picture_times_the_scale) {
  EXPECT_TRUE(has_png());
  const chart::Chart chart{.title = "T", .series = {{.points = {{1, 2}, {3, 4}}}}};
  const std::string png = svg_to_png(chart::to_svg(chart, 400, 100), 2);
  ASSERT_TRUE(png.starts_with("\x89PNG\r\n\x1a\n"));
  EXPECT_EQ(number_at(png, 16), 800U);  // the width stands first in the first chunk
  EXPECT_GT(number_at(png, 20), 200U);
}

TEST(Png, refuses_what_is_no_svg) {
  for (const char* text : {"", "no picture", "<svg"}) {
    EXPECT_THROW(svg_to_png(text), Error) << text;
  }
}

}  // namespace
}  // namespace strata
