// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/kernel_class.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

namespace strata {
namespace {

// tests/kernels/names.tsv: class, algorithm and pass were written down by reading the names.
TEST(KernelClass, real_names_get_the_class_that_a_reader_gives_them) {
  std::ifstream file(std::string(STRATA_SOURCE_DIR) + "/tests/kernels/names.tsv");
  std::string line;
  std::size_t names = 0;
  std::set<std::string> classes;
  while (std::getline(file, line)) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string_view> cells = split(line, '\t');
    ASSERT_EQ(cells.size(), 4U) << line;
    const KernelClass found = class_of_kernel(cells[3]);
    EXPECT_EQ(found.name, cells[0]) << cells[3];
    EXPECT_EQ(found.algorithm, cells[1]) << cells[3];
    EXPECT_EQ(found.pass, cells[2]) << cells[3];
    classes.insert(found.name);
    ++names;
  }
  EXPECT_GE(names, 120U);
  EXPECT_EQ(classes.size(), kernel_class_names().size()) << "each class has a name in the list";
}

TEST(KernelClass, what_no_rule_fits_is_other) {
  EXPECT_EQ(class_of_kernel("my_own_thing"), KernelClass{});
  EXPECT_EQ(class_of_kernel("").name, "other");
}

TEST(KernelClass, zero_flop_kernels_are_told_by_what_they_do) {
  for (const std::string_view name :
       {"void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>()",
        "void at::native::elementwise_kernel<128, 4, direct_copy_kernel_cuda(...)>()",
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >()",
        "void at::native::im2col_kernel<float>(long)", "void flip_filter<float, float>(float*)",
        "void cudnn::gemm::computeOffsetsKernel()", "triton_poi_fused__to_copy_3",
        "void strata::(anonymous namespace)::transpose_tiles<float>(float*)",
        "void strata::(anonymous namespace)::copy_items<uint4>(uint4*)",
        "strata::(anonymous namespace)::convert_numbers(void*)",
        "void strata::(anonymous namespace)::look_up_items<uint4>(uint4*)"})
    EXPECT_TRUE(is_zero_flop_kernel(name)) << name;
  for (const std::string_view name :
       {"void at::native::col2im_kernel<float, float>(long)", "copy_gradients_and_scale",
        "void at::native::indexing_backward_kernel<float, 4>()", "input_transpose_fusion",
        "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_nn, NoPermute>()",
        "void strata::(anonymous namespace)::gather_windows<float>(float*)", "my_own_thing"})
    EXPECT_FALSE(is_zero_flop_kernel(name)) << name;
}

TEST(KernelClass, kernels_of_a_convolution_have_a_role) {
  EXPECT_EQ(role_of_kernel("void fft2d_c2r_32x32<float>(float*)"), "inverse_transform");
  EXPECT_EQ(role_of_kernel("void cudnn::winograd_nonfused::winogradWgradDelta4x4<float>()"),
            "transform");
  EXPECT_EQ(role_of_kernel("sm80_xmma_fprop_implicit_gemm_f32f32_execute_kernel__5x_cudnn"),
            "gemm");
  EXPECT_EQ(role_of_kernel("void cudnn::detail::dgrad_engine<float, 512>()"), "gemm");
  EXPECT_EQ(role_of_kernel("void cudnn::engines_precompiled::nchwToNhwcKernel<float>()"),
            "transpose");
  EXPECT_EQ(role_of_kernel("my_own_thing"), "other");
}

std::string refusal_of_rules(std::string_view text) {
  try {
    read_kernel_rules(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

TEST(KernelClass, rules_that_cannot_work_are_refused_with_their_place) {
  EXPECT_NE(refusal_of_rules("{").find("not JSON"), std::string::npos);
  EXPECT_NE(refusal_of_rules(
                R"({"schema_version":1,"rules":[{"class":"gemmm","any":["a"],"example":"a"}]})")
                .find("kernels.rules[0].class"),
            std::string::npos);
  EXPECT_NE(refusal_of_rules(
                R"({"schema_version":1,"rules":[{"class":"gemm","any":["A"],"example":"a"}]})")
                .find("lower case"),
            std::string::npos);
  EXPECT_NE(refusal_of_rules(
                R"({"schema_version":1,"rules":[{"class":"gemm","any":["a"],"example":"b"}]})")
                .find("does not fit"),
            std::string::npos);
  EXPECT_NE(
      refusal_of_rules(R"({"schema_version":1,"rules":[{"class":"gemm","any":["a"],"example":"a"},
                       {"class":"copy","any":["ab"],"example":"ab"}]})")
          .find("another rule"),
      std::string::npos);
  EXPECT_NE(refusal_of_rules(R"({"schema_version":1,"rules":[{"class":"gemm","example":"a"}]})")
                .find("fits everything"),
            std::string::npos);
  EXPECT_NE(
      refusal_of_rules(
          R"({"schema_version":1,"rules":[],"roles":[{"role":"gemm","any":["a"],"example":"b"}]})")
          .find("kernels.roles[0].example"),
      std::string::npos);
}

}  // namespace
}  // namespace strata
