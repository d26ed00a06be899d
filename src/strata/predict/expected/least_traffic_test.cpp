// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/least_traffic.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

double bytes_of(const char* name, DType precision, const KernelDims& dims) {
  return least_bytes(*operation_class_named(name), precision, dims);
}

TEST(LeastTraffic, is_each_number_once) {
  EXPECT_EQ(bytes_of("stream.mul", DType::fp32, {100}), 100 * 3 * 4);
  EXPECT_EQ(bytes_of("channels.scale_channels", DType::fp16, {100}), 100 * 2 * 2);
  EXPECT_EQ(bytes_of("gelu.backward", DType::bf16, {100}), 100 * 3 * 2);
  EXPECT_EQ(bytes_of("softmax.forward", DType::fp32, {10, 20}), 10 * 20 * 2 * 4);
  EXPECT_EQ(bytes_of("column_sum", DType::fp16, {10, 20}), 10 * 20 * 2);
  EXPECT_EQ(bytes_of("max_pool.forward", DType::fp32, {400, 100, 4}), 500 * 4);
  EXPECT_EQ(bytes_of("convolution.forward", DType::fp16, {2, 8, 4, 9, 16, 9, 1}),
            (2 * (8 * 9 + 4 * 16) + 4 * 8 * 9) * 2);
}

// Statistics of a batch come before what they normalise: inputs are read twice.
TEST(LeastTraffic, of_batch_norm_reads_its_inputs_twice_in_training) {
  EXPECT_EQ(bytes_of("batch_norm.forward", DType::fp32, {64, 1000}), 64 * 1000 * 3 * 4);
  EXPECT_EQ(bytes_of("batch_norm_nhwc.backward", DType::bf16, {64, 1000}), 64 * 1000 * 5 * 2);
  EXPECT_EQ(bytes_of("batch_norm.inference", DType::fp16, {64, 1000}), 64000 * 2 * 2);
}

TEST(LeastTraffic, of_a_cast_is_that_of_both_types) {
  EXPECT_EQ(bytes_of("stream.cast", DType::fp32, {100}), 600);
  EXPECT_EQ(bytes_of("stream.cast", DType::bf16, {100}), 600);
}

TEST(LeastTraffic, of_what_depends_on_more_is_not_known) {
  EXPECT_EQ(bytes_of("linear.forward", DType::fp32, {1, 8, 8, 8}), 0);
  EXPECT_EQ(bytes_of("update.adam", DType::fp32, {10, 1000}), 0);
  EXPECT_EQ(bytes_of("resize.forward", DType::fp32, {100}), 0);
}

// Every class that PyTorch's rules stream with has a number here.
TEST(LeastTraffic, of_point_wise_classes_is_known) {
  for (const std::string_view name : operation_class_names()) {
    const auto one = *operation_class_named(name);
    const bool streams = name.starts_with("stream.") || name.starts_with("channels.") ||
                         name.starts_with("heads.") || name.ends_with("elu.forward");
    if (!streams) continue;
    EXPECT_GT(least_bytes(one, DType::fp32, {64, 64}), 0) << name;
  }
}

}  // namespace
}  // namespace strata
