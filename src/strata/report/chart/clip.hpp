// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/chart/scene.hpp"

#include <vector>

namespace strata::chart {

/// The pieces of a line that lie within a rectangle. Done here and not by the viewer: a clip path
/// needs an identifier, and identifiers of several pictures in one page collide.
std::vector<std::vector<Place>> clipped(const std::vector<Place>& line, const Rect& rect);

}  // namespace strata::chart
