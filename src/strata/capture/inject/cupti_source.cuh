// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/call_budget.hpp"
#include "strata/capture/capture_session.hpp"
#include "strata/capture/inject/activity_records.cuh"

#include <atomic>
#include <mutex>
#include <vector>

namespace strata::inject {

/// Buffers that CUPTI fills; at most so many bytes of them at once. When they are all full, CUPTI
/// drops records and counts them.
class BufferPool {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 20;  // some 10,000 calls

  explicit BufferPool(std::uint64_t most_bytes) : most_(most_bytes / buffer_bytes) {}
  /// Null: there are no more.
  std::uint8_t* take();
  void give_back(std::uint8_t* buffer);

 private:
  const std::uint64_t most_;
  std::mutex mutex_;
  std::uint64_t made_ = 0;
  std::vector<std::uint8_t*> free_;
};

/// CUPTI's activity records of this process. There is one: its callbacks know no object.
class CuptiSource final : public ActivitySource {
 public:
  explicit CuptiSource(const CaptureOptions& options);

  /// Empty, or why it cannot record.
  std::string begin(LogWriter& log);

  std::uint64_t now_ns() override;
  void start_recording() override;
  void stop_recording() override;
  void flush(bool all) override;

  void take_records(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                    std::size_t valid_bytes);
  BufferPool& buffers() { return buffers_; }

 private:
  std::vector<CUpti_ActivityKind> kinds() const;
  void drop_calls_if_many();
  void record_launches(bool is_wanted) const;

  const CaptureOptions& options_;
  BufferPool buffers_;
  LogWriter* log_ = nullptr;
  std::mutex kinds_mutex_;
  bool is_on_ = false;
  bool are_calls_dropped_ = false;
  bool records_launches_ = false;  ///< of the calls, behind the moment when they were dropped
  CallBudget budget_;
  std::atomic<std::uint64_t> kernels_ = 0;
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<std::uint64_t> markers_ = 0;
};

}  // namespace strata::inject
