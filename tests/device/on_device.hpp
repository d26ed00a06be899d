// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/ceilings/ceilings.hpp"
#include "strata/measure/ceilings/cuda/bench.cuh"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace strata::test {

/// Skips, and says why, where there is no GPU.
class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = cuda_devices().front();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    STRATA_CUDA_CALL(cudaSetDevice(device_.index));
    bench_.emplace(CeilingOptions{.is_quick = true}, device_, nullptr);
  }

  const cuda::Bench& bench() const { return *bench_; }
  cudaStream_t stream() const { return bench_->stream(); }

  template <class Item>
  std::vector<Item> on_host(const void* device, std::int64_t count) const {
    bench_->synchronize();
    std::vector<Item> items(static_cast<std::size_t>(count));
    STRATA_CUDA_CALL(
        cudaMemcpy(items.data(), device, items.size() * sizeof(Item), cudaMemcpyDeviceToHost));
    return items;
  }

  DeviceInfo device_;

 private:
  std::optional<cuda::Bench> bench_;
};

}  // namespace strata::test
