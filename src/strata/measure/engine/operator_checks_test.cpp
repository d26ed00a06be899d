// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace strata {
namespace {

// The tests of a GPU are in a program that only builds with CUDA have. Their cases are all
// operators (TrainingCases), each held against the CPU in fp64.
TEST(OperatorChecks, a_gpu_is_tested_in_every_type) {
  std::ifstream file(STRATA_SOURCE_DIR "/tests/device/training_test.cpp");
  const std::string source(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(source.find("TEST_P(OnBoth, every_operator_agrees)"), std::string::npos);
  const std::size_t cases = source.find("INSTANTIATE_TEST_SUITE_P(Training, OnBoth");
  ASSERT_NE(cases, std::string::npos);
  for (const char* dtype : {"fp64", "fp32", "tf32", "bf16", "fp16"})
    EXPECT_NE(source.find(std::string("DType::") + dtype, cases), std::string::npos) << dtype;
}

}  // namespace
}  // namespace strata
