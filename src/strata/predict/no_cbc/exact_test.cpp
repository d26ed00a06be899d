// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/exact.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace strata {
namespace {

TEST(ExactPlan, without_its_solver_says_what_to_install) {
  const Program program;
  try {
    exact_plan(AccessList(program), 1);
    FAIL() << "a plan without a solver";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_NE(std::string_view(error.what()).find("coinor-libcbc-dev"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace strata
