// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/strategy.hpp"
#include "strata/gpu/cuda/api.cuh"
#include "strata/gpu/range_counters.hpp"

#include <memory>
#include <string>

namespace strata::cuda {

/// The counters behind the efficiencies of a convolution. They are opened when first asked for; why
/// they cannot be is the answer then, and stays it.
class EfficiencyCounter {
 public:
  EfficiencyCounter(int device, cudaStream_t stream) : device_(device), stream_(stream) {}

  ConvEfficiencies of(PreparedConvolution& prepared, const ConvTensors& tensors);

 private:
  void open();

  int device_;
  cudaStream_t stream_;
  std::unique_ptr<RangeCounters> counters_;
  CounterPlan plan_;
  std::string problem_;
};

}  // namespace strata::cuda
