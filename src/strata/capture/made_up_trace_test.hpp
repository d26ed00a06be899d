// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"
#include "strata/capture/trace_tables.hpp"

#include <cstdint>
#include <string_view>

namespace strata {

/// A thread that launches; kernels on one device.
class MadeUpTrace {
 public:
  void kernel(TimeSpan time, TimeSpan launch, std::string_view name = "k") {
    const std::uint64_t correlation = ++correlations_;
    recording.kernels.push_back({.time = time,
                                 .correlation = correlation,
                                 .name = recording.names.id_of(name),
                                 .device = 0});
    recording.calls.push_back({.time = launch,
                               .correlation = correlation,
                               .name = recording.names.id_of("cudaLaunchKernel"),
                               .thread = 1});
  }
  void copy(TimeSpan time, TimeSpan call, std::string_view name) {
    const std::uint64_t correlation = ++correlations_;
    recording.copies.push_back({.time = time, .correlation = correlation, .device = 0});
    recording.calls.push_back({.time = call,
                               .correlation = correlation,
                               .name = recording.names.id_of(name),
                               .thread = 1});
  }
  void call(TimeSpan time, std::string_view name) {
    recording.calls.push_back({.time = time, .name = recording.names.id_of(name), .thread = 1});
  }
  void range(TimeSpan time, std::string_view name, RangeKind kind, std::uint64_t sequence = 0,
             bool is_backward = false) {
    recording.ranges.push_back({.time = time,
                                .id = sequence,
                                .name = recording.names.id_of(name),
                                .thread = 1,
                                .kind = kind,
                                .is_backward = is_backward});
  }
  TraceTables tables() {
    sort_by_start(recording);
    return make_trace_tables(recording);
  }

  Recording recording;

 private:
  std::uint64_t correlations_ = 0;
};

}  // namespace strata
