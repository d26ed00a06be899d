// SPDX-License-Identifier: Apache-2.0
// Every operator on the GPU, in every pass and data type, against the CPU's kernels in double
// precision on the same numbers; those are held against finite differences by the unit tests.
#include "tests/device/training_comparison.hpp"

namespace strata::test {
namespace {

TEST_P(OnBoth, every_operator_agrees) {
  for (const TrainingCase& one : training_cases()) compare(one, false);
}

TEST_P(OnBoth, sums_agree_in_many_shapes) {
  for (const TrainingCase& one : summing_cases()) compare(one, false);
}
TEST_P(OnBoth, moved_numbers_agree_in_many_shapes) {
  for (const TrainingCase& one : moving_cases()) compare(one, false);
}
TEST_P(OnBoth, rows_agree_in_many_shapes) {
  for (const TrainingCase& one : row_cases()) compare(one, false);
}
TEST_P(OnBoth, points_agree_in_many_shapes) {
  for (const TrainingCase& one : pointwise_cases()) compare(one, false);
}

// 16 bits by cuDNN's fused engines where they take the shape, and by products else.
TEST_P(OnBoth, attention_agrees_in_many_shapes) {
  for (const TrainingCase& one : attention_cases()) compare(one, false);
}

TEST_P(OnBoth, gradients_agree_one_by_one) {
  for (const TrainingCase& one : training_cases()) compare(one, true);
}

INSTANTIATE_TEST_SUITE_P(Training, OnBoth,
                         testing::Values(DType::fp64, DType::fp32, DType::tf32, DType::bf16,
                                         DType::fp16),
                         [](const auto& one) { return std::string(name_of(one.param)); });

}  // namespace
}  // namespace strata::test
