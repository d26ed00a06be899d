// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/checked_cells.hpp"

#include "strata/graph/operators.hpp"
#include "strata/measure/engine/operator_checks.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

namespace strata {
namespace {

TEST(CheckedCells, every_operator_is_there_once_on_each_device_in_each_type) {
  std::map<std::pair<std::string_view, std::string_view>, int> counts;
  std::set<std::string> distinct;
  for (const CheckedCell& cell : checked_cells()) {
    ++counts[{cell.op, cell.pass}];
    EXPECT_TRUE(distinct
                    .insert(std::string(cell.op) + " " + std::string(cell.pass) + " " +
                            std::string(cell.device) + " " + std::string(name_of(cell.dtype)))
                    .second);
  }
  for (const OperatorCheck& check : operator_checks()) {
    EXPECT_EQ((counts[{check.name, "forward"}]), 7) << check.name;
    EXPECT_EQ((counts[{check.name, "backward"}]), check.has_gradient ? 7 : 0) << check.name;
  }
}

// That the CPU's tests exist is seen where they are registered (OperatorChecks); those of a GPU are
// in a program that only builds with CUDA have.
TEST(CheckedCells, the_tests_of_a_gpu_are_in_its_source) {
  std::ifstream file(STRATA_SOURCE_DIR "/tests/device/training_test.cpp");
  const std::string source(std::istreambuf_iterator<char>(file), {});
  ASSERT_FALSE(source.empty());
  EXPECT_NE(source.find("INSTANTIATE_TEST_SUITE_P(Training, OnBoth"), std::string::npos);
  const std::string types = source.substr(source.find("INSTANTIATE_TEST_SUITE_P(Training, OnBoth"));
  for (const CheckedCell& cell : checked_cells()) {
    if (cell.device != "cuda") continue;
    const std::size_t dot = cell.test.find('.');
    const std::size_t slash = cell.test.rfind('/');
    const std::string name = cell.test.substr(dot + 1, slash - dot - 1);
    ASSERT_NE(source.find("TEST_P(OnBoth, " + name + ")"), std::string::npos) << cell.test;
    ASSERT_NE(types.find("DType::" + cell.test.substr(slash + 1)), std::string::npos) << cell.test;
  }
}

}  // namespace
}  // namespace strata
