// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/png.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace strata {
namespace {

TEST(Png, without_its_library_says_what_to_install) {
  EXPECT_FALSE(has_png());
  try {
    svg_to_png("<svg/>");
    FAIL() << "a picture without librsvg";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    for (const char* part : {"apt-get install librsvg2-dev", "SVG works without it"})
      EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
  }
}

}  // namespace
}  // namespace strata
