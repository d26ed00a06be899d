// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace strata {

/// Which part of the work a launch belongs to. CUDA numbers its calls in the order in which they
/// are made, and what a call launches carries its number: it is enough to keep the first number of
/// each part.
class CorrelationRanges {
 public:
  void begin_part(std::size_t part);
  /// A call with this number is being made. Numbers start with 1; may come from any thread.
  void saw_call(std::uint32_t correlation);
  /// Nothing: the call was made before the first part began.
  std::optional<std::size_t> part_of(std::uint32_t correlation) const;

 private:
  struct First {
    std::uint32_t correlation = 0;
    std::size_t part = 0;
  };
  std::atomic<bool> is_new_ = false;  // a part began, and no call has been seen since
  mutable std::mutex mutex_;
  std::size_t part_ = 0;
  std::vector<First> firsts_;  // by correlation
};

}  // namespace strata
