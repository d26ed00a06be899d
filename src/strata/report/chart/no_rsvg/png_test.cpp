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
    EXPECT_NE(std::string_view(error.what()).find("librsvg2-dev"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace strata
