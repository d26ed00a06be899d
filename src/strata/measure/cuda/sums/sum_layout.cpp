// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/sums/sum_layout.cuh"

namespace strata::cuda::train {
namespace {

/// Neighbouring axes of one kind.
struct Run {
  bool is_summed;
  std::int64_t extent;
};

std::vector<Run> runs_of(std::span<const std::int64_t> shape, const std::vector<bool>& is_summed) {
  std::vector<Run> runs;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    if (runs.empty() || runs.back().is_summed != is_summed[axis])
      runs.push_back({is_summed[axis], 1});
    runs.back().extent *= shape[axis];
  }
  return runs;
}

}  // namespace

std::optional<SumLayout> sum_layout(std::span<const std::int64_t> shape,
                                    const std::vector<bool>& is_summed) {
  const std::vector<Run> runs = runs_of(shape, is_summed);
  const auto extent = [&](std::size_t i) { return i < runs.size() ? runs[i].extent : 1; };
  if (runs.empty()) return SumLayout{};
  if (runs.front().is_summed) {
    if (runs.size() == 1) return SumLayout{.inner = extent(0)};
    if (runs.size() <= 3)
      return SumLayout{.rows = extent(0), .channels = extent(1), .inner = extent(2)};
    return std::nullopt;
  }
  if (runs.size() <= 2) return SumLayout{.channels = extent(0), .inner = extent(1)};
  if (runs.size() == 3)
    return SumLayout{.batches = extent(0), .rows = extent(1), .channels = extent(2)};
  return std::nullopt;
}

}  // namespace strata::cuda::train
