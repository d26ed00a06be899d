// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/kernel_table.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

const CalibratedClass* class_in(const Calibration& calibration, std::string_view name,
                                std::string_view precision) {
  for (const CalibratedClass& one : calibration.classes) {
    if (one.kernel_class == name && one.precision == precision) return &one;
  }
  return nullptr;
}

std::string refusal_of_table(std::string_view csv) {
  Calibration calibration;
  try {
    add_table(calibration, csv, "somebody");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

TEST(KernelTable, of_products_is_linear_layers_forward) {
  Calibration calibration;
  const TableSummary summary = add_table(calibration,
                                         "dtype,m,n,k,time_us,kernel\r\n"
                                         "bfloat16,64,768,2048,7.5,a\r\n"
                                         "fp8,64,768,2048,5,a\r\n"
                                         "float16,8,32,16,2,\"a, b\"\r\n",
                                         "somebody");
  EXPECT_EQ(summary.rows, 3U);
  EXPECT_EQ(summary.taken, 2U);  // no class has kernels in fp8
  const CalibratedClass* bf16 = class_in(calibration, "linear.forward_no_bias", "bf16");
  ASSERT_NE(bf16, nullptr);
  ASSERT_EQ(bf16->samples.size(), 1U);
  EXPECT_EQ(bf16->samples[0].dims, (std::vector<double>{1, 64, 768, 2048}));
  EXPECT_DOUBLE_EQ(bf16->samples[0].busy_s, 7.5e-6);
  EXPECT_EQ(bf16->source, "somebody");
  EXPECT_NE(class_in(calibration, "linear.forward_no_bias", "fp16"), nullptr);
}

TEST(KernelTable, of_attention_leaves_out_caches_and_windows_and_takes_the_median) {
  Calibration calibration;
  const TableSummary summary =
      add_table(calibration,
                "dtype,kv_dtype,batch,queries,cached,heads,kv_heads,head_dim,window,time_us\n"
                "bfloat16,bfloat16,2,512,0,16,4,128,0,30\n"
                "bfloat16,bfloat16,2,512,0,16,8,128,0,50\n"
                "bfloat16,bfloat16,2,512,0,16,16,128,0,40\n"
                "bfloat16,bfloat16,2,512,64,16,4,128,0,99\n"
                "bfloat16,bfloat16,2,512,0,16,4,128,128,99\n"
                "bfloat16,fp8,2,512,0,16,4,128,0,99\n",
                "somebody");
  EXPECT_EQ(summary.taken, 3U);
  const CalibratedClass* attention = class_in(calibration, "attention.forward", "bf16");
  ASSERT_NE(attention, nullptr);
  ASSERT_EQ(attention->samples.size(), 1U);
  EXPECT_EQ(attention->samples[0].dims, (std::vector<double>{2, 16, 512, 512, 128, 2}));
  EXPECT_DOUBLE_EQ(attention->samples[0].busy_s, 40e-6);
}

TEST(KernelTable, of_operators_has_no_times_of_the_host) {
  Calibration calibration;
  const TableSummary summary = add_table(calibration,
                                         "operator,d0,d1,d2,d3,d4,d5,d6,time_us\n"
                                         "conv,16,64,32,3,28,2,1,250\n"
                                         "conv,16,3,32,3,28,1,1,250\n"
                                         "linear,2,100,300,500,,,,120\n"
                                         "bmm,5,220,68,630,,,,36\n"
                                         "softmax,1000,2000,,,,,,130\n"
                                         "elementwise add,1000,2000,,,,,,131\n"
                                         "elementwise pow,1000,2000,,,,,,131\n",
                                         "somebody");
  EXPECT_EQ(summary.rows, 7U);
  EXPECT_EQ(summary.taken, 5U);  // 36 µs are the host's; nothing runs as a power does
  const CalibratedClass* convolution = class_in(calibration, "convolution.forward", "fp32");
  ASSERT_NE(convolution, nullptr);
  EXPECT_EQ(convolution->samples[0].dims, (std::vector<double>{16, 64, 32, 784, 196, 9, 1}));
  EXPECT_NE(class_in(calibration, "first.forward", "fp32"), nullptr);
  EXPECT_EQ(class_in(calibration, "linear.forward", "fp32")->samples[0].dims,
            (std::vector<double>{1, 200, 300, 500}));
  EXPECT_EQ(class_in(calibration, "batched.nn", "fp32"), nullptr);
  EXPECT_EQ(class_in(calibration, "stream.add", "fp32")->samples[0].dims[0], 2e6);
}

TEST(KernelTable, that_is_wrong_is_refused_with_its_line) {
  const auto names = [](std::string_view csv, std::string_view what) {
    const std::string refusal = refusal_of_table(csv);
    return refusal.find(what) != std::string::npos ? std::string() : refusal;
  };
  EXPECT_EQ(names("", "line 1: expected a heading"), "");
  EXPECT_EQ(names("a,b\n", "time_us"), "");
  EXPECT_EQ(names("a,time_us\n", "expected columns"), "");
  EXPECT_EQ(names("dtype,m,n,k,time_us\nbfloat16,1,2,3\n", "line 2: expected 5 cells"), "");
  EXPECT_EQ(names("operator,d0,d6,time_us\nlinear,1,2,200\n", "expected a column d1"), "");
  EXPECT_EQ(names("dtype,m,n,k,time_us\nbfloat16,1,2,3,0\n", "line 2: time_us"), "");
  EXPECT_EQ(names("dtype,m,n,k,time_us\nbfloat16,1,-2,3,4\n", "line 2: n"), "");
  EXPECT_EQ(names("dtype,m,n,k,time_us\nbfloat16,1,nan,3,4\n", "line 2: n"), "");
  EXPECT_EQ(names("dtype,m,n,k,time_us\n\nbfloat16,1,1e99,3,4\n", "line 3: n"), "");
  EXPECT_EQ(names("operator,d0,d1,d2,d3,d4,d5,d6,time_us\nconv,1,8,8,9,4,1,0,200\n",
                  "line 2: the window is larger"),
            "");
}

}  // namespace
}  // namespace strata
