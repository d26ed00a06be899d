// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/kernel_arithmetic.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

std::string read_arithmetic(std::string_view name) {
  const std::optional<TypedFlop> found = arithmetic_in_name(name);
  if (!found) return "not told";
  return std::string(name_of(found->dtype)) + (found->is_matrix ? " matrix" : " vector");
}

TEST(KernelArithmetic, IsReadFromNamesOfLibraries) {
  EXPECT_EQ(read_arithmetic("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc"),
            "tf32 matrix");
  EXPECT_EQ(read_arithmetic("sm90_xmma_wgrad_indexed_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc"),
            "tf32 matrix");
  EXPECT_EQ(read_arithmetic("sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_g1_ffma"),
            "fp32 vector");
  EXPECT_EQ(read_arithmetic("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"),
            "bf16 matrix");
  EXPECT_EQ(read_arithmetic("sm90_xmma_gemm_f8f8_bf16_f32_tn_n_tilesize128x128x128_cublas"),
            "fp8 matrix");
  EXPECT_EQ(read_arithmetic("ampere_fp16_s1688gemm_fp16_128x128_ldg8_relu"), "fp16 matrix");
  EXPECT_EQ(read_arithmetic("volta_fp16_s884cudnn_fp16_256x128_ldg8_relu"), "fp16 matrix");
  EXPECT_EQ(read_arithmetic("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x4_nn>"),
            "tf32 matrix");
  EXPECT_EQ(read_arithmetic("void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>"),
            "fp32 vector");
  EXPECT_EQ(read_arithmetic("ampere_sgemm_32x32_sliced1x4_tn"), "fp32 vector");
  EXPECT_EQ(read_arithmetic("cutlass_80_tensorop_z884gemm_32x32_16x4_tn_align1"), "fp64 matrix");
}

TEST(KernelArithmetic, IsNotMadeUp) {
  EXPECT_EQ(read_arithmetic("maxwell_fp16_sgemm_fp16_32x128_nt"), "not told");
  EXPECT_EQ(read_arithmetic("nvjet_tst_256x256_64x3_1x2_h_bz_coopA_NNT"), "not told");
  EXPECT_EQ(read_arithmetic("cudnn::winograd_nonfused::winogradForwardData4x4<float>"), "not told");
}

}  // namespace
}  // namespace strata
