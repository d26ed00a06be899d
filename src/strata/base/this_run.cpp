// SPDX-License-Identifier: Apache-2.0
#include "strata/base/this_run.hpp"

#include "strata/base/text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>

namespace strata {

std::string this_host() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown";
  return name.data();
}

std::string this_moment() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::optional<double> recent_load() {
  double minute = 0;
  if (getloadavg(&minute, 1) != 1) return std::nullopt;
  return minute;
}

std::string measured_name(std::string_view title) {
  std::string name;
  for (const char c : lower_case(title)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.';
    if (is_plain) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  if (!name.empty() && name.back() == '-') name.pop_back();
  return (name.empty() ? "machine" : name) + "-measured";
}

}  // namespace strata
