// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/notes.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

TEST(Notes, the_same_thing_is_said_once) {
  Notes notes(false);
  notes.add(WarningCode::operator_not_counted, "layer 'a'", "not counted");
  notes.add(WarningCode::value_assumed, "layer 'b'", "assumed");
  notes.add(WarningCode::operator_not_counted, "layer 'c'", "not counted");
  const std::vector<Warning> warnings = notes.warnings();
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0].code, WarningCode::operator_not_counted);
  EXPECT_EQ(warnings[0].message, "layer 'a' and 1 more: not counted");
  EXPECT_EQ(warnings[1].message, "layer 'b': assumed");
}

TEST(Notes, strictness_concerns_only_what_is_not_counted) {
  Notes notes(true);
  EXPECT_NO_THROW(notes.add(WarningCode::value_assumed, "layer 'a'", "assumed"));
  try {
    notes.add(WarningCode::operator_not_counted, "layer 'a'", "not counted");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_STREQ(error.what(), "not counted");
  }
}

TEST(Notes, their_number_is_bounded) {
  Notes notes(false);
  for (int i = 0; i < 1000; ++i) {
    notes.add(WarningCode::value_assumed, "layer", std::to_string(i));
  }
  EXPECT_EQ(notes.warnings().size(), 100U);
}

}  // namespace
}  // namespace strata
