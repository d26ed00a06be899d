// SPDX-License-Identifier: Apache-2.0
#include "strata/report/html_slices.hpp"

#include "strata/base/error.hpp"

#include <algorithm>

namespace strata {
namespace {

void take_in(TimeSlice& all, const TimeSlice& next, Together bytes) {
  const double longest = all.longest.value_or(all.busy());
  if (next.busy() > longest) {
    all.name = next.name;
    all.other = next.other;
  }
  all.longest = std::max(longest, next.busy());
  all.busy_s = all.busy() + next.busy();
  all.end_s = std::max(all.end_s, next.end_s);
  all.bytes = bytes == Together::sum ? all.bytes + next.bytes : std::max(all.bytes, next.bytes);
  all.count += next.count;
}

}  // namespace

std::vector<TimeSlice> taken_together(std::vector<TimeSlice> slices, double end_s, std::size_t most,
                                      Together bytes) {
  STRATA_CHECK(most > 0, "a timeline has room for something");
  if (slices.size() <= most || end_s <= 0) return slices;
  const auto part_of = [&](const TimeSlice& slice) {
    const double part = slice.start_s / end_s * static_cast<double>(most);
    return std::min(most - 1, static_cast<std::size_t>(std::max(0.0, part)));
  };
  std::vector<TimeSlice> result;
  std::optional<std::size_t> open;
  for (const TimeSlice& slice : slices) {
    const std::size_t part = part_of(slice);
    if (open == part) {
      take_in(result.back(), slice, bytes);
    } else {
      result.push_back(slice);
      open = part;
    }
  }
  return result;
}

}  // namespace strata
