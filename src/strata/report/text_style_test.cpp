// SPDX-License-Identifier: Apache-2.0
#include "strata/report/text_style.hpp"

#include "strata/base/printable.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace strata {
namespace {

TEST(TextStyle, width_counts_characters) {
  EXPECT_EQ(width_of(""), 0U);
  EXPECT_EQ(width_of("32×64"), 5U);
}

TEST(TextStyle, shortening_leaves_out_what_matters_less) {
  EXPECT_EQ(shortened("features.0.convolution", 11), "features.0…");
  EXPECT_EQ(shortened("features.0.convolution", 11, Omit::beginning), "fe…volution");
  for (const Omit omit : {Omit::end, Omit::beginning}) {
    EXPECT_EQ(shortened("conv", 4, omit), "conv");
    EXPECT_EQ(shortened("conv", 1, omit), "…");
    EXPECT_EQ(shortened("conv", 0, omit), "");
  }
}

RC_GTEST_PROP(TextStyle, shortened_text_is_as_wide_as_asked, (const std::string& text)) {
  const std::string clean = printable(text);
  const auto columns = *rc::gen::inRange<std::size_t>(0, 40);
  for (const Omit omit : {Omit::end, Omit::beginning}) {
    RC_ASSERT(width_of(shortened(clean, columns, omit)) == std::min(columns, width_of(clean)));
  }
}

TEST(TextStyle, ascii_takes_the_same_room) {
  const std::string text = "32×64  █▌ 1.00 µs – …";
  EXPECT_EQ(to_ascii(text), "32x64  ## 1.00 us - ~");
  EXPECT_EQ(width_of(to_ascii(text)), width_of(text));
}

TEST(TextStyle, color_needs_to_be_wanted) {
  EXPECT_EQ(bold("a", {}), "a");
  EXPECT_EQ(bold("a", {.has_color = true}), "\033[1ma\033[0m");
  EXPECT_EQ(dim("a", {.has_color = true}), "\033[2ma\033[0m");
  EXPECT_EQ(dim("", {.has_color = true}), "");
}

}  // namespace
}  // namespace strata
