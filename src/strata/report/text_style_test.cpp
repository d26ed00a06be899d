// SPDX-License-Identifier: Apache-2.0
#include "strata/report/text_style.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace strata {
namespace {

TEST(TextStyle, width_counts_characters) {
  EXPECT_EQ(width_of(""), 0U);
  EXPECT_EQ(width_of("32×64"), 5U);
}

TEST(TextStyle, control_characters_cannot_reach_the_terminal) {
  EXPECT_EQ(printable("conv\033[31m\n\x7f"), "conv?[31m??");
  EXPECT_EQ(printable("a\xC2\x9Bz"), "a?z") << "C1 control sequence introducer";
  EXPECT_EQ(printable("32×64 Ä 層"), "32×64 Ä 層");
}

TEST(TextStyle, bytes_that_are_no_utf8_become_question_marks) {
  EXPECT_EQ(printable("a\xFFz"), "a?z");
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

RC_GTEST_PROP(TextStyle, printable_text_has_no_control_characters, (const std::string& text)) {
  for (const char c : printable(text))
    RC_ASSERT(static_cast<unsigned char>(c) >= 0x20U && c != 0x7F);
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
