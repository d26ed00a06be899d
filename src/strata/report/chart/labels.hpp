// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/chart/scene.hpp"

#include <vector>

namespace strata::chart {

/// Finds room for labels among each other and among the data. A label goes to the place, of those
/// where it would make sense, that lies within the plot, covers no other label and the least data;
/// earlier places are preferred. Where there is none, it is left out.
class LabelPlacer {
 public:
  explicit LabelPlacer(const Rect& plot) : plot_(plot) {}

  /// Data that labels should not cover: along the line, or, more than that, a symbol at the place.
  void avoid(const std::vector<Place>& line);
  void avoid(Place place) { symbols_.push_back(place); }

  /// Adds the label to the scene, or nothing.
  void place(const std::vector<TextShape>& candidates, Scene& scene);

 private:
  std::size_t covered_by(const Corners& corners) const;

  Rect plot_;
  std::vector<Place> marks_;  ///< along lines
  std::vector<Place> symbols_;
  std::vector<Corners> taken_;
};

/// Where the name of a line may stand: along it, on either side.
std::vector<TextShape> places_along(Place from, Place to, const std::string& text);
/// Where the name of a point may stand: around it.
std::vector<TextShape> places_around(Place center, const std::string& text);
/// In a corner of an area.
std::vector<TextShape> places_in(const Rect& rect, const std::string& text);

}  // namespace strata::chart
