// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace strata {
namespace {

TEST(Printable, control_characters_cannot_reach_the_terminal) {
  EXPECT_EQ(printable("conv\033[31m\n\x7f"), "conv?[31m??");
  EXPECT_EQ(printable("a\xC2\x9Bz"), "a?z") << "C1 control sequence introducer";
  EXPECT_EQ(printable("32×64 Ä 層 😀"), "32×64 Ä 層 😀");
}

TEST(Printable, bytes_that_are_no_utf8_become_question_marks) {
  EXPECT_EQ(printable("a\xFFz"), "a?z");
  EXPECT_EQ(printable("\xC3"), "?") << "a cut character";
  EXPECT_EQ(printable("\xC0\xAF"), "??") << "an overlong '/'";
  EXPECT_EQ(printable("\xED\xA0\x80"), "???") << "a surrogate";
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "????") << "beyond U+10FFFF";
}

// The ranges of RFC 3629, section 4, written out again.
bool is_utf8_character(const std::string& c) {
  const auto in = [&](std::size_t i, unsigned low, unsigned high) {
    const unsigned byte = static_cast<unsigned char>(c[i]);
    return byte >= low && byte <= high;
  };
  const auto tail = [&](std::size_t i) { return in(i, 0x80, 0xBF); };
  switch (c.size()) {
    case 1: return in(0, 0x00, 0x7F);
    case 2: return in(0, 0xC2, 0xDF) && tail(1);
    case 3:
      return tail(2) &&
             ((in(0, 0xE0, 0xE0) && in(1, 0xA0, 0xBF)) || (in(0, 0xE1, 0xEC) && tail(1)) ||
              (in(0, 0xED, 0xED) && in(1, 0x80, 0x9F)) || (in(0, 0xEE, 0xEF) && tail(1)));
    case 4:
      return tail(2) && tail(3) &&
             ((in(0, 0xF0, 0xF0) && in(1, 0x90, 0xBF)) || (in(0, 0xF1, 0xF3) && tail(1)) ||
              (in(0, 0xF4, 0xF4) && in(1, 0x80, 0x8F)));
    default: return false;
  }
}

TEST(Printable, every_start_of_a_character_is_judged_as_the_standard_does) {
  for (unsigned lead = 0; lead < 256; ++lead) {
    for (unsigned second = 0; second < 256; ++second) {
      std::string text = {static_cast<char>(lead), static_cast<char>(second), '\x80', '\xBF'};
      std::size_t expected = 0;
      for (std::size_t length = 1; length <= 4; ++length) {
        if (is_utf8_character(text.substr(0, length))) expected = length;
      }
      ASSERT_EQ(character_bytes(text), expected) << lead << ' ' << second;
    }
  }
}

RC_GTEST_PROP(Printable, what_was_cleaned_is_printable_and_stays, (const std::string& text)) {
  const std::string clean = printable(text);
  RC_ASSERT(is_printable(clean));
  RC_ASSERT(printable(clean) == clean);
  RC_ASSERT(is_printable(text) == (clean == text));
  for (const char c : clean) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20U && c != 0x7F);
}

}  // namespace
}  // namespace strata
