// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cupti/functions.cuh"
#include "strata/gpu/range_counters.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace strata::cupti {

/// The context that is current in this thread; errors (environment) when there is none.
CUcontext current_context();

/// What one session is set up with, and what it writes into. CUPTI keeps the addresses: they
/// outlive the profiler.
struct SessionImages {
  std::vector<std::uint8_t> config;
  std::vector<std::uint8_t> counters;
};

/// CUPTI's range profiler, on as long as this lives.
class RangeProfiler {
 public:
  explicit RangeProfiler(CUcontext context);
  ~RangeProfiler();
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;
  CUpti_RangeProfiler_Object* get() const { return object_; }

  SessionImages images;  ///< of its one session

 private:
  CUpti_RangeProfiler_Object* object_ = nullptr;
};

/// Values of metrics, range by range.
using RangeValues = std::vector<std::map<std::string, double, std::less<>>>;

/// Runs the work until these metrics are read in every range; once per profiler.
RangeValues count_session(RangeProfiler& profiler, const std::string& chip,
                          std::span<const std::string> metrics, std::span<const std::string> ranges,
                          const CountedWork& work);

}  // namespace strata::cupti
