// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/run_points.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <thread>

/// A sweep without networks: every result follows from the number of the point.
namespace strata::test {

inline PointResult made_up_result(std::int64_t point) {
  PointResult result;
  if (point % 7 == 3) {
    result.error = fmt::format("point {}, \"too small\"\nby far", point);
    return result;
  }
  result.totals = {.time_s = 0.1 * static_cast<double>(point + 1),
                   .compute_s = 0.05,
                   .stall_s = 1.0 / static_cast<double>(point + 3),
                   .in_bytes = point * 1000,
                   .out_bytes = 17,
                   .peak_occupied_bytes = 4096};
  result.hardware = {.capacity_bytes = 1 << 20, .bytes_per_s = 616e9, .dense_flop_per_s = 13.45e12};
  result.samples = 32;
  result.footprint_bytes = std::int64_t{5} << 30;
  if (point % 3 == 0)
    result.expected = {.time_s = 0.3 * static_cast<double>(point + 1),
                       .low_s = 0.2,
                       .high_s = 0.7,
                       .memory_bytes = 1000 + point,
                       .device_bytes = 1010};
  return result;
}

class MadeUpWorker : public PointWorker {
 public:
  PointResult at(std::int64_t point) override { return made_up_result(point); }
};

/// Counts what it computes. Most points are quick and some are not: a quick one must not be lost
/// for a slow one before it.
class CountingWorker : public PointWorker {
 public:
  explicit CountingWorker(std::atomic<std::int64_t>& finished) : finished_(finished) {}
  PointResult at(std::int64_t point) override {
    if (point % 16 == 15) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    PointResult result = made_up_result(point);
    ++finished_;
    return result;
  }

 private:
  std::atomic<std::int64_t>& finished_;
};

inline Grid made_up_grid(std::int64_t values = 12) {
  return Grid({Axis("model", {"a", "b,c"}, "model"),
               Axis("capacity", AxisKind::bytes, fmt::format("1B:{}B:1B", values), "capacity")});
}

}  // namespace strata::test
