// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/moving/pair_sums.hpp"

#include "strata/measure/cpu/moving/layout_loops.hpp"
#include "strata/measure/cpu/pooling/row_pool_loops.hpp"

#include <algorithm>

namespace strata::cpu_training {

void sum_pairs(const float* x, float factor, std::int64_t width, std::int64_t rows,
               ResultStream<float>& result) {
  const bool is_in_place = stream_of<float>() == nullptr;
  if (is_in_place && row_pool_loops() != nullptr && width >= RowPoolLoops::shortest) {
    return row_pool_loops()->sum_of_pairs(x, factor, result.next(rows * width), width, rows);
  }
  const std::int64_t at_once = rows_of_piece<float>(width);
  for (std::int64_t first = 0; first < rows; first += at_once) {
    const std::int64_t count = std::min(at_once, rows - first);
    const float* const from = x + first * 4 * width;
    fetch_ahead(x, first * 4 * width, count * 4 * width, rows * 4 * width);
    layout_loops()->add_pairs(from, factor, result.next(count * width), width, count);
  }
}

}  // namespace strata::cpu_training
