// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/inject/cupti_calls.cuh"
#include "strata/capture/log_writer.hpp"

namespace strata::inject {

/// How many records have come.
struct RecordCounts {
  std::uint64_t kernels = 0;
  std::uint64_t calls = 0;
  std::uint64_t markers = 0;
};

/// Appends CUPTI's records to the log.
class ActivityRecords {
 public:
  explicit ActivityRecords(LogWriter& log) : log_(log) {}

  /// A buffer that CUPTI has filled.
  void read(std::uint8_t* buffer, std::size_t valid_bytes);
  /// Of what was read.
  const RecordCounts& counts() const { return counts_; }

 private:
  void add(const CUpti_Activity& record);
  void add_kernel(const CUpti_ActivityKernel10& kernel);
  void add_copy(const CUpti_ActivityMemcpy6& copy);
  void add_peer_copy(const CUpti_ActivityMemcpyPtoP4& copy);
  void add_fill(const CUpti_ActivityMemset4& fill);
  void add_memory(const CUpti_ActivityMemory4& memory);
  void add_call(const CUpti_ActivityAPI& call, bool is_runtime);
  void add_sync(const CUpti_ActivitySynchronization2& sync);
  void add_marker(const CUpti_ActivityMarker2& marker);
  void add_overhead(const CUpti_ActivityOverhead3& overhead);
  void add_device(const CUpti_ActivityDevice5& device);
  void add_context(const CUpti_ActivityContext3& context);
  bool is_timed(std::uint64_t start_ns, std::uint64_t end_ns);

  LogWriter& log_;
  std::uint64_t untimed_ = 0;
  RecordCounts counts_;
};

}  // namespace strata::inject
