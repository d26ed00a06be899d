// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/calibration.hpp"

#include <cstddef>
#include <string>
#include <string_view>

/// Published tables of kernel times, as CSV: a line per kernel with its dimensions and its time.
namespace strata {

struct TableSummary {
  std::size_t rows = 0, taken = 0;  ///< the others are of types or operators that no class has
};

/// Adds the rows of a table to the samples of a calibration. The heading says what it has:
///     dtype,m,n,k,time_us                                  y = x Wᵀ of M×K and N×K
///     dtype,kv_dtype,batch,queries,cached,heads,kv_heads,head_dim,window,time_us
///                                                          causal attention; rows of a cache or a
///                                                          window are left out
///     operator,d0,…,d6,time_us                             single operators in fp32 with dispatch;
///                                                          rows below 100 µs are left out
/// Further columns are allowed. Errors (input) name the line and what was expected.
TableSummary add_table(Calibration& calibration, std::string_view csv, std::string_view source);

}  // namespace strata
