// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/kernels/reduce.cuh"

#include <algorithm>

namespace strata::cuda::train {
namespace {

constexpr std::int64_t short_length = 64;  // a thread computes a result alone
constexpr std::int64_t cub_temporary_bytes = 256;

/// Neighbouring axes of one kind.
struct AxisRun {
  bool is_reduced;
  std::int64_t extent;
};

std::vector<AxisRun> runs_of(std::span<const std::int64_t> shape,
                             const std::vector<bool>& is_reduced) {
  std::vector<AxisRun> runs;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    if (runs.empty() || runs.back().is_reduced != is_reduced[axis])
      runs.push_back({is_reduced[axis], 1});
    runs.back().extent *= shape[axis];
  }
  return runs;
}

std::optional<Reduction::Columns> columns_of(std::span<const std::int64_t> shape,
                                             const std::vector<bool>& is_reduced) {
  const std::vector<AxisRun> runs = runs_of(shape, is_reduced);
  if (runs.size() < 2 || runs.back().is_reduced) return std::nullopt;
  if (runs.size() == 2) return Reduction::Columns{1, runs[0].extent, runs[1].extent};
  if (runs.size() == 3) return Reduction::Columns{runs[0].extent, runs[1].extent, runs[2].extent};
  return std::nullopt;
}

std::optional<Reduction::Planes> planes_of(std::span<const std::int64_t> shape,
                                           const std::vector<bool>& is_reduced) {
  const std::vector<AxisRun> runs = runs_of(shape, is_reduced);
  if (runs.empty() || runs.size() > 3 || !runs.back().is_reduced) return std::nullopt;
  if (runs.size() == 1) return Reduction::Planes{1, 1, runs[0].extent};
  if (runs.size() == 2) return Reduction::Planes{1, runs[0].extent, runs[1].extent};
  return Reduction::Planes{runs[0].extent, runs[1].extent, runs[2].extent};
}

std::int64_t shares(std::int64_t wanted, std::int64_t blocks, std::int64_t most) {
  return std::clamp(wanted / std::max<std::int64_t>(blocks, 1), std::int64_t{1},
                    std::max<std::int64_t>(most, 1));
}

}  // namespace

Reduction::Reduction(std::span<const std::int64_t> shape, const std::vector<bool>& is_reduced)
    : columns(columns_of(shape, is_reduced)), planes(planes_of(shape, is_reduced)) {
  const std::vector<std::int64_t> strides = dense_strides(shape);
  kept.strides.resize(1);
  reduced.strides.resize(1);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    StridedAxes& to = is_reduced[axis] ? reduced : kept;
    to.extents.push_back(shape[axis]);
    to.strides[0].push_back(strides[axis]);
  }
}

bool Reduction::is_by_cub() const { return !columns && length() >= short_length; }

std::int64_t Reduction::splits() const {
  constexpr std::int64_t enough_blocks = 1024, least_rows = 32, least_numbers = 4096;
  if (columns) {
    return shares(enough_blocks, columns->batches * ((columns->columns + 31) / 32),
                  columns->rows / least_rows);
  }
  return is_by_cub() ? shares(enough_blocks, results(), length() / least_numbers) : 1;
}

std::int64_t Reduction::scratch_bytes(DType dtype) const {
  const std::int64_t number = dtype == DType::fp64 ? 8 : 4;
  return cub_temporary_bytes + splits() * results() * number;
}

std::string Reduction::implementation() const {
  return is_by_cub() ? cub_version_text() + " segmented reduce" : "strata kernel";
}

}  // namespace strata::cuda::train
