// SPDX-License-Identifier: Apache-2.0
#include "strata/roofline/column_findings.hpp"

#include "strata/machine/load_machine.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

Profile convolution(std::string dtype, std::vector<TypedFlop> arithmetic, std::int64_t bytes) {
  Profile profile;
  profile.evidence = Evidence::measured;
  profile.subject = {.network = "conv2d", .dtype = std::move(dtype)};
  ProfileRow row;
  row.layer = "conv";
  row.pass = "forward";
  row.layer_class = "dense";
  row.arithmetic = std::move(arithmetic);
  row.totals.in_bytes = bytes;
  profile.rows = {row};
  return profile;
}

std::vector<std::string> found_in(std::vector<Profile> profiles) {
  std::vector<NamedProfile> named;
  for (const Profile& profile : profiles) named.push_back({profile.subject.dtype, &profile});
  return column_findings(named, load_machine("v100"));
}

TEST(ColumnFindings, nothing_is_said_of_what_is_as_it_should_be) {
  EXPECT_TRUE(found_in({convolution("fp16", {{DType::fp16, true, 100}}, 50),
                        convolution("fp32", {{DType::fp32, false, 100}}, 100)})
                  .empty());
}

TEST(ColumnFindings, idle_matrix_units_are_seen) {
  const auto found =
      found_in({convolution("fp16", {{DType::fp16, true, 75}, {DType::fp16, false, 25}}, 50)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0],
            "fp16: 25 % of the FLOP of convolutions and products ran on vector units in fp16, "
            "for which v100 has matrix units");
}

TEST(ColumnFindings, a_longer_type_than_asked_for_is_seen) {
  const auto found = found_in({convolution("fp16", {{DType::fp32, false, 100}}, 50)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].find("100 % of the FLOP"), std::string::npos);
  EXPECT_NE(found[0].find("ran in fp32 although the profile is fp16"), std::string::npos);
}

TEST(ColumnFindings, bytes_that_do_not_grow_betray_a_conversion) {
  const auto found = found_in({convolution("fp16", {{DType::fp16, true, 100}}, 98),
                               convolution("fp32", {{DType::fp32, false, 100}}, 100)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0],
            "bytes hardly grow from fp16 to fp32: conv forward 1.02×; fp16 converts what it reads "
            "or writes");
  Profile other = convolution("fp32", {{DType::fp32, false, 100}}, 100);
  other.subject.network = "another";
  EXPECT_TRUE(found_in({convolution("fp16", {{DType::fp16, true, 100}}, 98), other}).empty());
}

}  // namespace
}  // namespace strata
