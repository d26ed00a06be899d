// SPDX-License-Identifier: Apache-2.0
#include "strata/report/setup_text.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(SetupText, tells_the_kinds_of_sixteen_bits_apart) {
  EXPECT_EQ(precision_text("fp32", false, {}), "fp32");
  EXPECT_EQ(precision_text("bf16", true, {.master_weights = true}), "bf16 autocast");
  EXPECT_EQ(precision_text("bf16", false, {}), "pure bf16");
  EXPECT_EQ(precision_text("fp16", false, {.master_weights = true}),
            "fp16 with fp32 master weights");
  EXPECT_EQ(precision_text("bf16", false, {.inference = true}), "bf16");
}

TEST(SetupText, names_what_is_not_usual) {
  EXPECT_EQ(setup_text("fp32", {}, 32), "fp32");
  const TrainingOptions training{
      .optimizer = Optimizer::adam, .recompute = Recompute::all, .micro_batches = 4};
  EXPECT_EQ(setup_text("fp32", training, 64),
            "fp32, optimizer adam, 4 micro-batches of 16, recompute all");
  EXPECT_EQ(setup_text("fp32", {.optimizer = Optimizer::none}, 64), "fp32, no update");
  EXPECT_EQ(setup_text("fp32", training, 64, training), "fp32, 4 micro-batches of 16");
}

}  // namespace
}  // namespace strata
