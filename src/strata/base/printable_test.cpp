// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace strata {
namespace {

TEST(Printable, control_characters_cannot_reach_the_terminal) {
  EXPECT_EQ(printable("conv\033[31m\n\x7f"), "conv\\u{1b}[31m\\u{a}\\u{7f}");
  EXPECT_EQ(printable("a\xC2\x9Bz"), "a\\u{9b}z") << "C1 control sequence introducer";
  EXPECT_EQ(printable("32×64 Ä 層 😀"), "32×64 Ä 層 😀");
}

TEST(Printable, bytes_that_are_no_utf8_are_shown_as_bytes) {
  EXPECT_EQ(printable("a\xFFz"), "a\\x{ff}z");
  EXPECT_EQ(printable("\xC3"), "\\x{c3}") << "a cut character";
  EXPECT_EQ(printable("\xC0\xAF"), "\\x{c0}\\x{af}") << "an overlong '/'";
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\x{ed}\\x{a0}\\x{80}") << "a surrogate";
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\x{f4}\\x{90}\\x{80}\\x{80}") << "beyond U+10FFFF";
}

TEST(Printable, characters_that_turn_or_hide_text_are_shown_by_their_numbers) {
  EXPECT_EQ(printable("conv\u202Egnp.exe"), "conv\\u{202e}gnp.exe");
  EXPECT_EQ(printable("a\u200Bb\u200Fc\uFEFFd"), "a\\u{200b}b\\u{200f}c\\u{feff}d");
  EXPECT_EQ(printable("a\u2028b\u2029c\u2066d\u061C"), "a\\u{2028}b\\u{2029}c\\u{2066}d\\u{61c}");
  EXPECT_EQ(printable("a\U000E0041"), "a\\u{e0041}") << "a tag";
  EXPECT_EQ(printable("\u05E9\u05DC\u05D5\u05DD"), "\u05E9\u05DC\u05D5\u05DD") << "Hebrew is text";
}

TEST(Printable, names_may_hold_joiners_but_no_control_characters) {
  EXPECT_TRUE(is_text("\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645"));
  EXPECT_FALSE(is_text("a\nb"));
  EXPECT_FALSE(is_text("a\xC2\x85z"));
  EXPECT_FALSE(is_text("a\xFFz"));
}

TEST(Printable, lines_keep_breaks_and_styles_and_nothing_else) {
  EXPECT_EQ(printable_lines("a\n\tb \033[1mc\033[0m"), "a\n\tb \033[1mc\033[0m");
  EXPECT_EQ(printable_lines("\033[2Ja\033]0;t\x07"), "\\u{1b}[2Ja\\u{1b}]0;t\\u{7}");
  EXPECT_EQ(printable_lines("a\rb\u202E\033["), "a\\u{d}b\\u{202e}\\u{1b}[");
}

TEST(Printable, json_stays_the_same_document) {
  EXPECT_EQ(printable_json("{\"a\":\"\u202E\x7F\xC2\x9B\"}\n"),
            "{\"a\":\"\\u202e\\u007f\\u009b\"}\n");
  EXPECT_EQ(printable_json("\"\U000E0041\""), "\"\\udb40\\udc41\"");
  EXPECT_EQ(printable_json("\"32×64\""), "\"32×64\"");
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
  RC_ASSERT(unescaped_text(escaped_text(text)) == text);
  RC_ASSERT(is_printable(escaped_text(text)));
  for (const char c : clean) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20U && c != 0x7F);
}

}  // namespace
}  // namespace strata
