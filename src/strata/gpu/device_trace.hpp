// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/occupancy.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// What a GPU of NVIDIA does for this process, as its driver records it: every kernel, copy and
/// fill with its begin and end on the device. Recording costs a microsecond or two per launch and
/// needs no permission.
namespace strata {

enum class DeviceWork : std::uint8_t { kernel, copy, fill };

struct DeviceRecord {
  DeviceWork work = DeviceWork::kernel;
  std::string name;                 ///< of a kernel, readable; "copy host to device"; "fill"
  std::optional<std::size_t> part;  ///< nothing: launched before the first part began
  double begin_s = 0;               ///< after the trace began
  double seconds = 0;
  std::int64_t bytes = 0;  ///< of copies and fills
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;  ///< the same for all that one call launched (a graph)
  LaunchShape launch = {};        ///< of a kernel
};

struct DeviceActivity {
  std::vector<DeviceRecord> records;  ///< by begin
  std::int64_t dropped = 0;           ///< records that were lost because there was no room for them
  /// Records without times: kernels that a profiler replayed. They are not among the records.
  std::int64_t untimed = 0;
};

/// What is missing in the records, in words; empty: nothing is.
std::string lost_records_text(const DeviceActivity& activity);

struct DeviceTraceLimits {
  std::size_t most_records = 4'000'000;
  std::size_t most_buffer_bytes = std::size_t{256} << 20;  ///< that wait to be read
};

/// Recording in progress; one at a time in a process. Destroying it ends it.
class DeviceTrace {
 public:
  virtual ~DeviceTrace() = default;

  /// What is launched from now on, by any thread, belongs to this part.
  virtual void begin_part(std::size_t part) = 0;

  /// Ends recording. The caller has waited for the device: what still runs is not in the result.
  virtual DeviceActivity end() = 0;
};

/// Begins to record. Errors (environment) say why it cannot be: no CUPTI in this build or on this
/// computer, no driver, another tool attached, counters being read.
std::unique_ptr<DeviceTrace> begin_device_trace(const DeviceTraceLimits& limits = {});

}  // namespace strata
