// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/sqlite_database.hpp"
#include "strata/capture/recording.hpp"

#include <algorithm>
#include <cstdint>

/// Cells of the tables that NVIDIA's profilers write (CUPTI_ACTIVITY_KIND_…), checked: what is
/// missing is unknown, and a row whose times cannot be is refused.
namespace strata {

inline constexpr std::int64_t last_cupti_ns = std::int64_t{1} << 62;

/// Columns 0 and 1 are start and end.
inline TimeSpan cupti_time(const TableRows& rows) {
  const TimeSpan time{rows.number_or(0, last_cupti_ns + 1), rows.number_or(1, -last_cupti_ns - 1)};
  if (time.start_ns < -last_cupti_ns || time.start_ns > last_cupti_ns ||
      time.end_ns < time.start_ns || time.end_ns > last_cupti_ns) {
    rows.refuse("'start' or 'end' is missing, or the end is before the start");
  }
  return time;
}

inline std::uint32_t cupti_count(const TableRows& rows, int column, std::uint32_t otherwise) {
  const auto number = rows.number(column);
  if (!number || *number < 0 || *number >= std::int64_t{0xffffffff}) return otherwise;
  return static_cast<std::uint32_t>(*number);
}

inline std::int64_t cupti_bytes(const TableRows& rows, int column) {
  return std::max<std::int64_t>(unknown_bytes, rows.number_or(column, unknown_bytes));
}

inline std::uint64_t cupti_key(const TableRows& rows, int column) {
  return static_cast<std::uint64_t>(rows.number_or(column, 0));
}

}  // namespace strata
