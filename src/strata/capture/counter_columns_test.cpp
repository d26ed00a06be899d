// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/counter_columns.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace strata {
namespace {

/// Kernels with these counters, a row each; NaN: not read.
Recording counted_kernels(const std::vector<std::string>& names,
                          const std::vector<std::vector<double>>& values) {
  Recording recording;
  for (const std::string& name : names) {
    recording.counters.names.push_back(recording.names.id_of(name));
    recording.counters.units.push_back(recording.names.id_of(""));
  }
  for (const std::vector<double>& row : values) {
    recording.kernels.emplace_back();
    recording.counters.values.insert(recording.counters.values.end(), row.begin(), row.end());
  }
  return recording;
}

TEST(CounterColumns, arithmetic_of_one_pass_is_that_of_the_pipes) {
  const Recording recording =
      counted_kernels({"sm__thread_inst_executed_pipe_fma_pred_on.sum",
                       "sm__ops_path_tensor_op_hgmma_src_tf32_dst_fp32.sum"},
                      {{500, 0}, {3, 4096}});
  const CounterColumns columns(recording);
  EXPECT_TRUE(has_arithmetic(columns));
  const std::vector<TypedFlop> plain = arithmetic_of(columns, 0);
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_EQ(plain[0].dtype, DType::fp32);
  EXPECT_EQ(plain[0].flop, 1000);  // a multiply-add is two
  const std::vector<TypedFlop> matrix = arithmetic_of(columns, 1);
  ASSERT_EQ(matrix.size(), 2U);
  EXPECT_EQ(matrix[1].dtype, DType::tf32);
  EXPECT_TRUE(matrix[1].is_matrix);
  EXPECT_EQ(matrix[1].flop, 4096);
}

TEST(CounterColumns, an_exact_count_is_taken_before_a_bound) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Recording recording =
      counted_kernels({"fp32_flop", "fma_pipe_flop"}, {{600, 1000}, {none, 1000}});
  const CounterColumns columns(recording);
  EXPECT_EQ(arithmetic_of(columns, 0).at(0).flop, 600);
  EXPECT_EQ(arithmetic_of(columns, 1).at(0).flop, 1000);
}

TEST(CounterColumns, without_counters_there_is_no_arithmetic) {
  const Recording recording = counted_kernels({"dram__bytes_read.sum"}, {{64}});
  EXPECT_FALSE(has_arithmetic(CounterColumns(recording)));
  EXPECT_TRUE(arithmetic_of(CounterColumns(recording), 0).empty());
}

}  // namespace
}  // namespace strata
