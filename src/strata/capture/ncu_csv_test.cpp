// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/ncu_csv.hpp"

#include "strata/base/error.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/capture/trace_tables.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

constexpr std::string_view raw_table =
    "==PROF== Connected to process 77\n"
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Stream\",\"Block "
    "Size\",\"Grid Size\",\"Device\",\"gpu__time_duration.sum\",\"dram__bytes_read.sum\",\"dram__"
    "bytes_write.sum\",\"launch__registers_per_thread\",\"sm__sass_thread_inst_executed_op_ffma_"
    "pred_on.sum\",\"sm__sass_thread_inst_executed_op_fadd_pred_on.sum\",\"sm__sass_thread_inst_"
    "executed_op_fmul_pred_on.sum\"\n"
    "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"usecond\",\"Kbyte\",\"byte\",\"register/"
    "thread\",\"inst\",\"inst\",\"inst\"\n"
    "\"0\",\"77\",\"python\",\"127.0.0.1\",\"void gemm<float>(float*, \"\"x\"\")\",\"7\",\"(128, "
    "1, "
    "1)\",\"(4, 2, 1)\",\"0\",\"1,250.50\",\"64\",\"1,000\",\"40\",\"10\",\"3\",\"n/a\"\n"
    "\"1\",\"77\",\"python\",\"127.0.0.1\",\"copy_kernel\",\"7\",\"(64, 1, 1)\",\"(1, 1, "
    "1)\",\"0\",\"2\",\"0\",\"8\",\"16\",\"0\",\"0\",\"0\"\n";

TEST(NcuCsv, the_raw_page_becomes_kernels_with_counters_in_base_units) {
  const Recording recording = read_ncu_csv(*text_source(raw_table));
  ASSERT_EQ(recording.kernels.size(), 2U);
  EXPECT_EQ(recording.names.text(recording.kernels[0].name), "void gemm<float>(float*, \"x\")");
  EXPECT_EQ(recording.kernels[0].time, (TimeSpan{0, 1250500}));
  EXPECT_EQ(recording.kernels[1].time, (TimeSpan{1250500, 1252500}));
  EXPECT_EQ(recording.kernels[0].grid, (std::array<std::uint32_t, 3>{4, 2, 1}));
  EXPECT_EQ(recording.kernels[0].block, (std::array<std::uint32_t, 3>{128, 1, 1}));
  EXPECT_EQ(recording.kernels[0].registers, 40U);
  EXPECT_EQ(recording.process.pid, 77);
  EXPECT_FALSE(recording.process.has_times);
  EXPECT_EQ(recording.counters.values[1], 64000);
  EXPECT_EQ(recording.names.text(recording.counters.units[1]), "byte");
}

// FLOP of the second: 2 × 0 + 0 + 0. Those of the first are not known: one of the three counters
// has no value.
TEST(NcuCsv, a_profile_of_it_has_bytes_and_flop) {
  const Profile profile = profile_of(read_ncu_csv(*text_source(raw_table)));
  ASSERT_EQ(profile.rows.size(), 2U);
  EXPECT_TRUE(profile.columns.has_flop);
  EXPECT_TRUE(profile.columns.has_bytes);
  EXPECT_EQ(profile.rows[0].layer, "gemm");
  EXPECT_EQ(profile.rows[0].op, "gemm");
  EXPECT_EQ(profile.rows[0].totals.in_bytes, 64000);
  EXPECT_EQ(profile.rows[0].totals.out_bytes, 1000);
  EXPECT_EQ(profile.rows[1].totals.zero_flop_launches, 1);
  EXPECT_DOUBLE_EQ(profile.rows[0].totals.time_s, 1250.5e-6);
}

TEST(NcuCsv, the_details_page_is_read_too) {
  const Recording recording = read_ncu_csv(
      *text_source("\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
                   "\"0\",\"k\",\"Duration\",\"msecond\",\"1.5\"\n"
                   "\"0\",\"k\",\"Registers Per Thread\",\"register/thread\",\"24\"\n"
                   "\"1\",\"k\",\"Duration\",\"usecond\",\"3\"\n"));
  ASSERT_EQ(recording.kernels.size(), 2U);
  EXPECT_EQ(recording.kernels[0].time.length_ns(), 1'500'000);
  EXPECT_EQ(recording.kernels[0].registers, 24U);
  EXPECT_EQ(recording.kernels[1].time.length_ns(), 3000);
}

TEST(NcuCsv, refusals_name_the_line) {
  const auto refusal = [](std::string_view text) -> std::string {
    try {
      read_ncu_csv(*text_source(text));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal("nothing here\n").find("no table"), std::string::npos);
  EXPECT_NE(refusal("\"ID\",\"a\",\"b\"\n").find("line 1: no column"), std::string::npos);
  EXPECT_NE(refusal("\"ID\",\"Kernel Name\",\"x\"\n\"\",\"\",\"\"\n\"0\",\"k\"\n").find("line 3"),
            std::string::npos);
  EXPECT_NE(refusal("\"ID\",\"Kernel Name\",\"x\"\n\"\",\"\",\"\"\n").find("no kernel"),
            std::string::npos);
  EXPECT_NE(refusal("\"ID\",\"Kernel Name\",\"x\"\n\"").find("quote"), std::string::npos);
}

}  // namespace
}  // namespace strata
