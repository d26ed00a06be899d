// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/kernel_forms.hpp"

#include "strata/predict/expected/round_gpu_test.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace strata {
namespace {

constexpr KernelForm all_forms[] = {
    KernelForm::elements, KernelForm::rows,        KernelForm::channels,  KernelForm::pool,
    KernelForm::product,  KernelForm::convolution, KernelForm::depthwise, KernelForm::lookup,
    KernelForm::list,     KernelForm::recurrent,   KernelForm::attention};

KernelDims usual_dims(KernelForm form) {
  switch (form) {
    case KernelForm::elements: return {1e6};
    case KernelForm::rows: return {4096, 768};
    case KernelForm::channels: return {64, 1e5};
    case KernelForm::pool: return {1e7, 2.5e6, 4};
    case KernelForm::product: return {1, 512, 1024, 768};
    case KernelForm::convolution: return {32, 64, 64, 3136, 3136, 9, 1};
    case KernelForm::depthwise: return {32, 96, 96, 3136, 3136, 9, 96};
    case KernelForm::lookup: return {4096, 30000, 768};
    case KernelForm::list: return {160, 2.5e7};
    case KernelForm::recurrent: return {32, 50, 512, 512, 2};
    case KernelForm::attention: return {8, 12, 512, 512, 64, 1};
  }
  return {};
}

double usual_time(KernelForm form, const KernelDims& dims) {
  return form_time_s(form, ProductPass::forward, DType::fp32, first_coefficients(form), dims,
                     round_gpu());
}

double product_time(const KernelDims& dims,
                    const std::vector<double>& coefficients = {3, 0.7, 30, 60, 3}) {
  return form_time_s(KernelForm::product, ProductPass::forward, DType::bf16, coefficients, dims,
                     round_gpu());
}

TEST(KernelForms, of_elements_are_a_start_and_bytes) {
  const std::vector<double> coefficients = {2, 8};
  // 2 µs, and 8 bytes of each of a million elements at 1 TB/s.
  EXPECT_DOUBLE_EQ(form_time_s(KernelForm::elements, ProductPass::forward, DType::fp32,
                               coefficients, {1e6}, round_gpu()),
                   2e-6 + 8e-6);
}

TEST(KernelForms, of_channels_are_bound_by_bytes_or_by_the_longest_block) {
  const std::vector<double> coefficients = {0, 8, 0.05};
  const auto time = [&](double channels, double each) {
    return form_time_s(KernelForm::channels, ProductPass::forward, DType::fp32, coefficients,
                       {channels, each}, round_gpu());
  };
  // One channel runs on one SM: 0.05 clocks per element. 1000 channels take ten rounds of it, and
  // then the bytes count more.
  EXPECT_DOUBLE_EQ(time(1, 1e6), 0.05 * 1e6 / 1e9);
  EXPECT_DOUBLE_EQ(time(100, 1e6), 8 * 1e8 / 1e12);
  EXPECT_DOUBLE_EQ(time(1000, 1e6), 8 * 1e9 / 1e12);
}

TEST(KernelForms, are_positive_and_grow_with_the_work) {
  for (const KernelForm form : all_forms) {
    KernelDims dims = usual_dims(form);
    double before = 0;
    for (int i = 0; i < 6; ++i) {
      const double time_s = usual_time(form, dims);
      EXPECT_TRUE(std::isfinite(time_s));
      EXPECT_GT(time_s, before) << static_cast<int>(form);
      before = time_s;
      dims[0] *= 4;
    }
  }
}

TEST(KernelForms, never_shrink_with_one_row_more) {
  double before = 0;
  for (double m = 1; m < 30000; m += 97) {
    const double time_s = product_time({1, m, 1000, 700});
    EXPECT_GE(time_s, before) << m;
    before = time_s;
  }
}

TEST(KernelForms, of_products_are_no_faster_than_arithmetic_and_memory) {
  for (const double m : {1.0, 33.0, 500.0, 4096.0, 16384.0}) {
    for (const double n : {1.0, 64.0, 1000.0, 8192.0}) {
      for (const double k : {1.0, 64.0, 777.0, 4096.0}) {
        const double time_s = product_time({2, m, n, k});
        // The best tile has 192 rows and columns, which is at more than the share of 128 × 256.
        const double best_share = (1 + 30 * 3.0 / 256) / (1 + 30 * 2.0 / 192);
        EXPECT_GE(time_s, 2 * 2 * m * n * k / (1e14 * 0.7 * best_share));
        EXPECT_GE(time_s, 2 * (m * k + k * n + m * n) * 2 / 1e12);
        EXPECT_GE(time_s, 3e-6);
      }
    }
  }
}

TEST(KernelForms, of_products_are_slower_where_rows_do_not_begin_at_whole_vectors) {
  const auto level = [](ProductPass pass, DType precision, double m, double n, double k) {
    return misalignment(pass, precision, {1, m, n, k});
  };
  using enum ProductPass;
  EXPECT_EQ(level(forward, DType::bf16, 4096, 50304, 768), 0);
  EXPECT_EQ(level(forward, DType::bf16, 4096, 30522, 768), 1);
  EXPECT_EQ(level(forward, DType::bf16, 4096, 50257, 768), 2);
  EXPECT_EQ(level(forward, DType::bf16, 4097, 768, 768), 0);  // rows may be as many as they want
  EXPECT_EQ(level(backward_weight, DType::bf16, 50257, 768, 4096), 2);  // stored transposed
  EXPECT_EQ(level(backward_weight, DType::bf16, 768, 768, 4097), 0);
  EXPECT_EQ(level(forward, DType::tf32, 4096, 1001, 768), 1);
  EXPECT_EQ(level(forward, DType::fp32, 4096, 1001, 768), 0);
  // Three times as long per level, whatever else is the same: 8192 and 8191 columns fill the same
  // tiles.
  const double aligned = product_time({1, 8192, 8192, 8192});
  EXPECT_NEAR(product_time({1, 8192, 8190, 8192}) / aligned, 3, 0.01);
  EXPECT_NEAR(product_time({1, 8192, 8191, 8192}) / aligned, 9, 0.01);
}

TEST(KernelForms, of_products_go_in_whole_waves) {
  // 100 tiles of 128 × 256 are one wave on 100 SMs.
  const double one_wave = product_time({1, 12800, 256, 4096});
  const double one_tile_more = product_time({1, 12928, 256, 4096});
  EXPECT_GT(one_tile_more, 1.1 * one_wave);
  EXPECT_LT(one_tile_more, 2.1 * one_wave);
  // And a full wave is as fast as the formula says: 2·128·256·(4096 + 60) on an SM.
  EXPECT_NEAR(one_wave, 2 * 128 * 256 * 4156.0 / (1e12 * 0.7) + 3e-6, 0.05 * one_wave);
}

TEST(KernelForms, of_deep_products_are_split) {
  // One tile of 32 × 32 with a depth of a million would run on one SM for long.
  const double unsplit = 2 * 32 * 32 * 1e6 / (1e14 / 100 * 0.7);
  EXPECT_LT(product_time({1, 32, 32, 1e6}), unsplit / 10);
}

TEST(KernelForms, of_convolutions_do_the_same_arithmetic_in_all_passes) {
  const KernelDims dims = {64, 256, 256, 784, 784, 1, 1};
  const double least_s = 2 * 64.0 * 784 * 256 * 256 / (1e14 * 0.5 * 1.04);
  for (const ProductPass pass :
       {ProductPass::forward, ProductPass::backward_input, ProductPass::backward_weight}) {
    const double time_s =
        form_time_s(KernelForm::convolution, pass, DType::bf16,
                    first_coefficients(KernelForm::convolution), dims, round_gpu());
    EXPECT_GE(time_s, least_s);
    EXPECT_LE(time_s, 4 * least_s);
  }
}

TEST(KernelForms, of_3x3_convolutions_in_fp32_may_take_fewer_multiplications) {
  const std::vector<double> coefficients = {0, 1, 30, 60, 0, 0};
  const auto time = [&](double window) {
    return form_time_s(KernelForm::convolution, ProductPass::forward, DType::fp32, coefficients,
                       {32, 256, 256, 3136, 3136, window, 1}, round_gpu());
  };
  const double arithmetic_s = 2 * 32.0 * 3136 * 256 * 256 * 9 / 1e13;
  EXPECT_LT(time(9), arithmetic_s / 2);
  EXPECT_GT(time(9), arithmetic_s / 4.5);  // Winograd's F(4×4, 3×3) saves a factor of four
  EXPECT_GT(time(25), arithmetic_s * 25 / 9 * 0.95);  // no such thing for 5×5
}

TEST(KernelForms, know_the_pass_from_the_class) {
  const auto pass = [](std::string_view name) {
    return product_pass(*operation_class_named(name));
  };
  EXPECT_EQ(pass("convolution.forward"), ProductPass::forward);
  EXPECT_EQ(pass("grouped_nhwc.backward_input"), ProductPass::backward_input);
  EXPECT_EQ(pass("first.backward_weight"), ProductPass::backward_weight);
  EXPECT_EQ(pass("relu.backward"), ProductPass::forward);
}

}  // namespace
}  // namespace strata
