// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/units.hpp"

#include <cstdint>
#include <string>

namespace strata {

/// Exact counts as people read them.
inline double to_double(std::int64_t count) { return static_cast<double>(count); }
inline std::string count_text(std::int64_t count) { return format_count(to_double(count)); }
inline std::string bytes_text(std::int64_t bytes) { return format_bytes(to_double(bytes)); }
inline std::string capacity_text(std::int64_t bytes) { return format_capacity(to_double(bytes)); }

}  // namespace strata
