// SPDX-License-Identifier: Apache-2.0
#include "strata/report/bar.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace strata {

std::string bar(double length) {
  constexpr std::string_view eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto filled = static_cast<std::size_t>(std::lround(std::clamp(length, 0.0, 1.0) * 64));
  std::string text;
  for (std::size_t at = 0; at < filled / 8; ++at) text += "█";
  return text.append(eighths[filled % 8]);
}

}  // namespace strata
