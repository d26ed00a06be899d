// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/chart/chart.hpp"
#include "strata/roofline/roofline.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The four pictures of a roofline, as charts. docs/roofline.md says how to read them.
namespace strata {

enum class RooflineKind : std::uint8_t {
  classic,     ///< FLOP/s over FLOP per byte, under the roofs
  complexity,  ///< FLOP over bytes, with the machine's balance and the overhead box
  time,        ///< compute time over bandwidth time, with curves of equal run time
  combined,    ///< complexity (closed) and time scaled by the machine's rates (open)
};
std::span<const std::string_view> roofline_kind_names();

/// One symbol, or a closed and an open one. What a device counted is closed; what the definition
/// says of the same work is open.
struct TrackPoint {
  Work work;
  RooflinePoint point;
  std::string label;                          ///< beside it, where there is room
  std::string hint;                           ///< when pointed at; empty: the label
  std::optional<Definition> definition = {};  ///< beside counted work: an open symbol
};

/// Points that belong together; joined: over a swept parameter, in order.
struct RooflineTrack {
  std::string name;  ///< in the legend
  chart::Color color = 0;
  chart::Marker marker = chart::Marker::circle;
  bool is_joined = false;
  std::vector<TrackPoint> points;
};

struct RooflinePicture {
  std::string title;
  std::string subtitle;
  std::vector<PeakRoof> peaks;     ///< to be drawn; the first decides balance and box
  std::vector<MemoryRoof> memory;  ///< innermost first; the last decides balance and box
  std::optional<double> launch_latency_s;
  std::vector<RooflineTrack> tracks;
};

/// What a logarithmic axis cannot show (no FLOP, no bytes, no time) is left out; the subtitle says
/// how many. Errors (input): nothing is left.
chart::Chart roofline_chart(const RooflinePicture& picture, RooflineKind kind);

}  // namespace strata
