// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cupti/functions.cuh"
#include "strata/gpu/range_counters.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace strata::cupti {

/// The context that is current in this thread; errors (environment) when there is none.
CUcontext current_context();

/// CUPTI's range profiler, on as long as this lives. It takes 0.14 s to start for the first time
/// and some milliseconds after that, so that one serves many sessions.
class RangeProfiler {
 public:
  explicit RangeProfiler(CUcontext context);
  ~RangeProfiler();
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;
  CUpti_RangeProfiler_Object* get() const { return object_; }

  /// What one session is set up with, and what it writes into. CUPTI keeps the addresses beyond
  /// the session: they are given back when the next one has its own.
  struct Images {
    std::vector<std::uint8_t> config;
    std::vector<std::uint8_t> counters;
  };
  /// Sets the profiler up; returns where the counters are.
  std::span<const std::uint8_t> configure(Images images, std::size_t ranges);

 private:
  CUpti_RangeProfiler_Object* object_ = nullptr;
  std::unique_ptr<Images> images_;
};

/// Values of metrics, range by range.
using RangeValues = std::vector<std::map<std::string, double, std::less<>>>;

/// Runs the work until these metrics are read in every range.
RangeValues count_session(RangeProfiler& profiler, const std::string& chip,
                          std::span<const std::string> metrics, std::span<const std::string> ranges,
                          const CountedWork& work);

}  // namespace strata::cupti
