// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/cost/update.hpp"
#include "strata/graph/operator_kinds.hpp"
#include "strata/measure/engine/constants.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

/// Kernels that go over whole arrays once, as functions that enqueue them. Bound by memory: every
/// thread moves 16 bytes, and the grid is as large as the array.
namespace strata::cuda::train {

/// From what a function's gradient is computed: its result, or else its argument.
bool function_keeps_output(UnaryKind kind);
bool function_has_gradient(UnaryKind kind);

void apply_function(UnaryKind kind, void* y, const void* x, std::int64_t count, DType dtype,
                    cudaStream_t stream);
/// `kept` is y or x, as function_keeps_output says.
void apply_function_gradient(UnaryKind kind, void* dx, const void* dy, const void* kept,
                             std::int64_t count, DType dtype, cudaStream_t stream);
/// Between any two types.
void convert(void* y, DType to, const void* x, DType from, std::int64_t count, cudaStream_t stream);

void add_arrays(void* sum, const void* a, const void* b, std::int64_t count, DType dtype,
                cudaStream_t stream);

struct DropoutRun {
  std::uint32_t node = 0;
  double probability = 0;
  std::int64_t count = 0;
  DType dtype = DType::fp32;
};
/// `mask` gets a byte per number.
void drop_out(const DropoutRun& run, void* y, std::uint8_t* mask, const void* x,
              cudaStream_t stream);
void drop_out_gradient(const DropoutRun& run, void* dx, const std::uint8_t* mask, const void* dy,
                       cudaStream_t stream);

/// [rows, entries, inner]: the logistic function on all but entries 2 and 3, which are logarithms
/// of a box's extents.
struct YoloRun {
  std::int64_t count = 0, entries = 1, inner = 1;
  DType dtype = DType::fp32;
};
void yolo(const YoloRun& run, void* y, const void* x, cudaStream_t stream);
void yolo_gradient(const YoloRun& run, void* dx, const void* dy, const void* y,
                   cudaStream_t stream);

/// x is [samples, times, heads × 2 pairs]; tables are [times, pairs].
struct RotaryRun {
  std::int64_t samples = 1, times = 1, heads = 1, pairs = 1;
  DType dtype = DType::fp32;
  bool is_reversed = false;
};
void rotate(const RotaryRun& run, void* y, const void* x, const void* cosine, const void* sine,
            cudaStream_t stream);

/// One parameter's update, in place; as many states as the optimizer has.
struct UpdateRun {
  Optimizer optimizer = Optimizer::momentum;
  double learning_rate = 0, momentum = 0, beta_1 = 0, beta_2 = 0, epsilon = 0;
  void* parameter = nullptr;
  const void* gradient = nullptr;
  float* states[2] = {};
  std::int64_t elements = 0;
  DType dtype = DType::fp32;
  std::int64_t iteration = 1;
};
/// At most so many parameters of one type by the same rule, in one kernel.
inline constexpr std::size_t most_updates = 32;
void update_parameters(std::span<const UpdateRun> runs, cudaStream_t stream);

}  // namespace strata::cuda::train
