// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// What recording costs the thread that launches, and when records of calls cost too much. Used
/// inside the watched program, too: no package is needed for it.
namespace strata {

/// Measured on an H200 with a program that launches empty kernels back to back: 4.5 µs without
/// CUPTI, 6.1 µs with records of kernels, 6.7 µs with those of the two calls (runtime and driver)
/// of each launch as well.
inline constexpr double kernel_record_s = 1.6e-6;
inline constexpr double call_record_s = 0.3e-6;

/// Looks at how many records have come so far, from time to time.
class CallBudget {
 public:
  /// Recording may take this share of the time before calls are given up.
  static constexpr double most_share = 0.10;

  /// Whether, since it was last asked, records of calls took the cost of recording above that
  /// share. The first answer is of the time since `begin_ns`.
  /// Records that had come before do not count.
  explicit CallBudget(std::uint64_t begin_ns = 0, std::uint64_t kernels = 0,
                      std::uint64_t calls = 0)
      : kernels_(kernels), calls_(calls), last_ns_(begin_ns) {}
  bool is_over(std::uint64_t kernels, std::uint64_t calls, std::uint64_t now_ns);

 private:
  std::uint64_t kernels_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t last_ns_ = 0;
};

}  // namespace strata
