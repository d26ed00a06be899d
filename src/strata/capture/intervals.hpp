// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// Spans of time against each other, in n log n: a trace has millions.
namespace strata {

/// The same moments without overlaps, in order; spans that touch become one, empty ones go.
std::vector<TimeSpan> union_of(std::vector<TimeSpan> spans);

/// Of spans without overlaps.
std::int64_t total_ns(std::span<const TimeSpan> disjoint);

/// Moments that are covered by at least one of the spans.
class Coverage {
 public:
  explicit Coverage(std::vector<TimeSpan> spans);

  std::span<const TimeSpan> parts() const { return parts_; }  ///< disjoint, in order
  std::int64_t total() const { return before_.empty() ? 0 : before_.back(); }
  /// Of the moments in `span`, how many are covered.
  std::int64_t within(TimeSpan span) const;

 private:
  std::int64_t until(std::int64_t moment) const;  ///< covered before it

  std::vector<TimeSpan> parts_;
  std::vector<std::int64_t> before_;  ///< one more than parts: covered before each, and in all
};

/// How much lies in both.
std::int64_t common_ns(const Coverage& a, const Coverage& b);

/// [k]: how long exactly k of the spans ran at the same time, for k from 1; [0] is 0. More than
/// `most` count as `most`.
std::vector<std::int64_t> times_at_once(std::span<const TimeSpan> spans, std::size_t most = 128);

}  // namespace strata
