// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/expected/gpu_rates.hpp"

namespace strata {

/// A GPU of round numbers: 100 SMs at 1 GHz, 1 TB/s, 10 TFLOP/s in fp32.
inline GpuRates round_gpu() {
  GpuRates gpu;
  gpu.units = 100;
  gpu.clock_hz = 1e9;
  gpu.bytes_per_s = 1e12;
  gpu.l2_bytes = 5e7;
  gpu.issues_per_s = gpu.units * gpu.clock_hz;
  gpu.matrix_flop_per_s.fill(1e13);
  gpu.matrix_flop_per_s[static_cast<std::size_t>(DType::tf32)] = 5e13;
  gpu.matrix_flop_per_s[static_cast<std::size_t>(DType::bf16)] = 1e14;
  gpu.matrix_flop_per_s[static_cast<std::size_t>(DType::fp16)] = 1e14;
  gpu.kernel_flop_per_s = gpu.matrix_flop_per_s;
  return gpu;
}

}  // namespace strata
