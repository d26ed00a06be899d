// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/calibrated_rates.hpp"

namespace strata {

GpuRates gpu_rates(const CalibratedRates& rates) {
  GpuRates read;
  read.units = rates.units;
  read.clock_hz = rates.clock_hz;
  read.bytes_per_s = rates.bytes_per_s;
  read.l2_bytes = rates.cache_bytes;
  read.issues_per_s = rates.units * rates.clock_hz;
  for (const DType dtype : all_dtypes()) {
    const auto found = rates.flop_per_s.find(std::string(name_of(dtype)));
    read.matrix_flop_per_s[static_cast<std::size_t>(dtype)] =
        found == rates.flop_per_s.end() ? rates.flop_per_s.at("fp32") : found->second;
  }
  read.kernel_flop_per_s = read.matrix_flop_per_s;
  return read;
}

CalibratedRates calibrated_rates(const GpuRates& rates) {
  CalibratedRates made{.units = rates.units,
                       .clock_hz = rates.clock_hz,
                       .bytes_per_s = rates.bytes_per_s,
                       .cache_bytes = rates.l2_bytes,
                       .flop_per_s = {}};
  for (const DType dtype : {DType::fp64, DType::fp32, DType::tf32, DType::bf16, DType::fp16})
    made.flop_per_s[std::string(name_of(dtype))] = rates.kernel_peak(dtype);
  return made;
}

}  // namespace strata
