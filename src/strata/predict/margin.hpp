// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace strata {

/// By how much a capacity may grow before a decision comes out otherwise. Whoever decides notes by
/// how many bytes each test of room failed: with less than the smallest of them more, every test
/// that failed fails again, and every test that passed passes, so the outcome is the same.
class Margin {
 public:
  void failed_by(std::int64_t missing_bytes) { bytes_ = std::min(bytes_, missing_bytes); }
  /// The outcome is the same for any capacity that is larger by less than this.
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = INT64_MAX;
};

}  // namespace strata
