// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/clip.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace strata::chart {
namespace {

/// The part of a segment between two shares of its length.
struct Part {
  double from = 0;
  double to = 1;
};

/// Liang and Barsky: each side of the rectangle cuts off a share at one of the ends.
std::optional<Part> part_within(Place from, Place to, const Rect& rect) {
  Part part;
  const double along[] = {from.x - to.x, to.x - from.x, from.y - to.y, to.y - from.y};
  const double room[] = {from.x - rect.x, rect.right() - from.x, from.y - rect.y,
                         rect.bottom() - from.y};
  for (int side = 0; side < 4; ++side) {
    if (along[side] == 0) {
      if (room[side] < 0) return std::nullopt;
      continue;
    }
    const double share = room[side] / along[side];
    if (along[side] < 0) {
      part.from = std::max(part.from, share);
    } else {
      part.to = std::min(part.to, share);
    }
  }
  if (part.from > part.to) return std::nullopt;
  return part;
}

}  // namespace

std::vector<std::vector<Place>> clipped(const std::vector<Place>& line, const Rect& rect) {
  std::vector<std::vector<Place>> pieces;
  bool is_open = false;  // the last piece goes on with the next segment
  for (std::size_t i = 1; i < line.size(); ++i) {
    const Place from = line[i - 1];
    const Place to = line[i];
    const auto part = part_within(from, to, rect);
    if (!part) {
      is_open = false;
      continue;
    }
    const auto at = [&](double share) {
      return Place{from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)};
    };
    if (!is_open || part->from > 0) pieces.push_back({at(part->from)});
    pieces.back().push_back(at(part->to));
    is_open = part->to == 1;
  }
  return pieces;
}

}  // namespace strata::chart
