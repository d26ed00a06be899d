// SPDX-License-Identifier: Apache-2.0
#include "strata/operations/aten_table.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace strata {
namespace {

TEST(AtenTable, finds_by_overload_then_by_name_then_without_the_underscore) {
  EXPECT_NE(aten_rule("aten::add.Tensor"), aten_rule("aten::add.Scalar"));
  EXPECT_EQ(aten_rule("aten::add.Tensor"), aten_rule("aten::add_.Tensor"));
  EXPECT_EQ(aten_rule("aten::relu"), aten_rule("aten::relu_"));
  EXPECT_EQ(aten_rule("aten::nobody_knows"), nullptr);
}

TEST(AtenTable, takes_no_other_librarys_operation_for_pytorchs) {
  EXPECT_EQ(aten_rule("mylib::mm"), nullptr);
  EXPECT_NE(aten_rule("torchvision::nms"), nullptr);
}

// The list holds every network of torchvision, 300 of timm and each type of transformers, with
// PyTorch 2.11 (python/calibration/recording_coverage.py).
TEST(AtenTable, knows_what_networks_run) {
  std::ifstream file(STRATA_SOURCE_DIR "/tests/recordings/operations.txt");
  ASSERT_TRUE(file);
  std::size_t count = 0;
  for (std::string name; std::getline(file, name);) {
    if (name.empty() || name.front() == '#') continue;
    ++count;
    EXPECT_NE(aten_rule(name), nullptr) << name;
  }
  EXPECT_GT(count, 200U);
}

std::string refusal_of(const char* operations) {
  const std::string text =
      std::string(R"({"strata_aten": 1, "views": "view", "allocations": "empty", "operations": )") +
      operations + "}";
  try {
    check_aten_table(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(AtenTable, refuses_what_it_cannot_mean) {
  EXPECT_EQ(refusal_of(R"({"a": {"flop": ["2 of output"]}})"), "");
  EXPECT_NE(refusal_of(R"({"a": {"flop": ["none of output"]}})").find("expected a count"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"({"a": {"flop": ["2 of nowhere"]}})").find("nowhere"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"a": {"launches": ["no.class of output"]}})").find("no.class"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"({"a b": {}, "b": {}})").find("twice"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"a": {"flops": []}})").find("flops"), std::string::npos);
}

}  // namespace
}  // namespace strata
