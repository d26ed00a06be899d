// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/plain/loops.hpp"

namespace strata::cpu_training::plain {

/// One number per channel of Y, which is [N, C, space].
struct ChannelBias {
  std::int64_t batch = 0, channels = 0, space = 0;

  explicit ChannelBias(const BoundTensor& y)
      : batch(y[0]), channels(y[1]), space(y.elements / (y[0] * y[1])) {}

  template <class T>
  void add(const T* bias, T* y) const {
    parallel_for(batch * channels, space, [&](std::int64_t plane) {
      const T b = bias[plane % channels];
      T* const row = y + plane * space;
      for (std::int64_t i = 0; i < space; ++i) row[i] += b;
    });
  }

  template <class T>
  void gradient(const T* dy, T* db) const {
    parallel_for(channels, batch * space, [&](std::int64_t c) {
      double sum = 0;  // of more numbers than fp32 can add up well
      for (std::int64_t n = 0; n < batch; ++n) {
        const T* const row = dy + (n * channels + c) * space;
        for (std::int64_t i = 0; i < space; ++i) sum += static_cast<double>(row[i]);
      }
      db[c] = static_cast<T>(sum);
    });
  }
};

}  // namespace strata::cpu_training::plain
