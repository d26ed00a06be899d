// SPDX-License-Identifier: Apache-2.0
#include "cli/page_text.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

constexpr std::string_view page = R"(# strata machine

Shows [machines](../machines.md) and `measures` them, in words that are many enough to need a second line.

```console
$ strata machine list
```

## Usage

    strata machine list [options]
    strata machine measure [--quick]

**list** shows every machine.

**measure** finds out what the machine reaches.

It takes a minute.

## Options
- `-o`, `--out FILE`: where it goes, which may be
  said in two lines.

| code | meaning |
|---|---|
| 0 | **done** |
| 12 | a `|`-free cell |
)";

TEST(PageText, is_plain_text_within_the_width) {
  const std::string text = page_as_text(page, {.columns = 60});
  EXPECT_EQ(text.find("strata machine\n\nShows machines and measures them, in words that are many\n"
                      "enough to need a second line.\n\n    $ strata machine list\n"),
            0U)
      << text;
  EXPECT_NE(text.find("\n- -o, --out FILE: where it goes, which may be said in two\n  lines.\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n  code  meaning\n  0     done\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("```"), std::string::npos);
  EXPECT_EQ(text.find("---"), std::string::npos);
}

TEST(PageText, headings_are_bold_where_the_terminal_can) {
  EXPECT_NE(page_as_text(page, {.columns = 80, .has_color = true}).find("\x1b["),
            std::string::npos);
}

TEST(PageText, a_part_is_what_the_page_says_of_a_word) {
  const std::string part = page_part(page, "machine", "measure");
  EXPECT_EQ(part.find("# strata machine measure\n\n    strata machine measure [--quick]\n"), 0U)
      << part;
  EXPECT_NE(part.find("**measure** finds out"), std::string::npos);
  EXPECT_NE(part.find("It takes a minute."), std::string::npos);
  EXPECT_NE(part.find("## Options"), std::string::npos);
  EXPECT_EQ(part.find("**list**"), std::string::npos);
  EXPECT_EQ(page_part(page, "machine", "dance"), "");
}

TEST(PageText, odd_marks_are_no_trouble) {
  EXPECT_EQ(page_as_text("a [b](c\n", {}), "a [b](c\n");
  EXPECT_EQ(page_as_text("[x] y ](z)\n", {}), "[x] y ](z)\n");
  EXPECT_EQ(page_as_text("", {}), "");
}

}  // namespace
}  // namespace strata
