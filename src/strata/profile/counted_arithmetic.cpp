// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/counted_arithmetic.hpp"

#include "strata/base/checked.hpp"

#include <cmath>

namespace strata {
namespace {

/// Arithmetic of one type: the exact count, or what stands for it in presets of a single pass.
struct TypedColumn {
  std::string_view key;
  std::string_view instead;  ///< empty: nothing does
  DType dtype;
  bool is_matrix;
};

constexpr TypedColumn typed_columns[] = {{"fp32_flop", "fma_pipe_flop", DType::fp32, false},
                                         {"fp64_flop", "", DType::fp64, false},
                                         {"tensor_fp16_flop", "wgmma_fp16_flop", DType::fp16, true},
                                         {"tensor_bf16_flop", "wgmma_bf16_flop", DType::bf16, true},
                                         {"tensor_tf32_flop", "wgmma_tf32_flop", DType::tf32, true},
                                         {"tensor_fp64_flop", "", DType::fp64, true}};

constexpr double most_count = 1e18;  // the sum of all parts still fits

}  // namespace

std::int64_t flop_of(const std::vector<TypedFlop>& parts) {
  std::int64_t sum = 0;
  for (const TypedFlop& part : parts) sum = checked_add(sum, part.flop);
  return sum;
}

CountedArithmetic counted_arithmetic(const CounterLookup& value) {
  CountedArithmetic counted;
  for (const TypedColumn& column : typed_columns) {
    const auto exact = value(column.key);
    const auto flop = exact || column.instead.empty() ? exact : value(column.instead);
    if (!flop) continue;
    counted.has_any = true;
    if (column.is_matrix) counted.has_matrix |= exact.has_value();
    if (column.dtype == DType::fp32) {
      counted.has_vector = true;
      counted.is_upper_bound = !exact;
    }
    if (*flop >= 1 && *flop < most_count)
      counted.parts.push_back({column.dtype, column.is_matrix, std::llround(*flop)});
  }
  return counted;
}

}  // namespace strata
