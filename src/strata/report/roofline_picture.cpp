// SPDX-License-Identifier: Apache-2.0
#include "strata/report/roofline_picture.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace strata {
namespace {

constexpr std::array<std::string_view, 4> kind_names = {"classic", "complexity", "time",
                                                        "combined"};
constexpr chart::Color grey = 6;
constexpr double ring = 1.7;                  // an open symbol around a closed one
constexpr double room_for_names = 5;          // factor of intensity beyond the ridge
constexpr double air = 3;                     // factor of free room around the data
constexpr std::size_t most_connections = 60;  // between closed and open symbols
constexpr std::string_view closed_and_open = "closed: as counted; open: by definition";

struct XY {
  double x = 0;
  double y = 0;
};

// Bytes of the level of memory that limits, so that they and its bandwidth belong together.
double limiting_bytes(const RooflinePoint& point) {
  return point.memory_roof_s * point.memory_bytes_per_s;
}
XY complexity_of(const TrackPoint& at) {
  return {limiting_bytes(at.point), static_cast<double>(at.work.flop)};
}
XY time_of(const TrackPoint& at) { return {at.point.bandwidth_time_s, at.point.compute_time_s}; }
XY scaled_time_of(const TrackPoint& at) {
  return {at.point.bandwidth_time_s * at.point.memory_bytes_per_s,
          at.point.compute_time_s * at.point.peak_flop_per_s};
}
XY rate_of(const TrackPoint& at) { return {at.point.intensity.value_or(0), at.point.flop_per_s}; }
/// The same place by the definition of the work; nowhere where the work is the definition's.
template <class Where>
auto by_definition(const Where& where) {
  return [where](const TrackPoint& at) {
    if (!at.definition) return XY{};
    return where(TrackPoint{
        .work = at.definition->work, .point = at.definition->point, .label = {}, .hint = {}});
  };
}
bool is_drawable(XY at) { return at.x > 0 && at.y > 0; }

/// What an axis must hold.
struct Extent {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;

  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  void onto(chart::Axis& axis) const {
    axis.least = least / air;
    axis.most = most * air;
  }
};

class PictureMaker {
 public:
  PictureMaker(const RooflinePicture& picture, RooflineKind kind) : picture_(picture), kind_(kind) {
    chart_.title = picture.title;
    chart_.x.scale = chart_.y.scale = chart::ScaleKind::logarithmic;
  }

  chart::Chart run() && {
    std::string how;
    switch (kind_) {
      case RooflineKind::classic: how = classic(); break;
      case RooflineKind::complexity: how = complexity(); break;
      case RooflineKind::time: how = time(); break;
      case RooflineKind::combined: how = combined(); break;
    }
    if (shown_ == 0) {
      fail(ErrorKind::input,
           "nothing to draw: a logarithmic picture needs rows with FLOP, bytes and time");
    }
    chart_.subtitle = picture_.subtitle;
    for (const std::string& part : {how, left_out_text()}) {
      if (part.empty()) continue;
      chart_.subtitle += chart_.subtitle.empty() ? part : fmt::format("; {}", part);
    }
    x_.onto(chart_.x);
    y_.onto(chart_.y);
    return std::move(chart_);
  }

 private:
  double peak() const { return picture_.peaks.front().flop_per_s; }
  double bandwidth() const { return picture_.memory.back().bytes_per_s; }

  std::string left_out_text() const {
    if (left_out_ == 0) return "";
    return fmt::format("{} without FLOP or bytes not shown", left_out_);
  }

  /// Symbols at `where(point)`; named ones stand in the legend.
  template <class Where>
  void symbols(const Where& where, bool is_filled, bool is_named = true, double scale = 1) {
    for (const RooflineTrack& track : picture_.tracks) {
      chart::Series series{.name = is_named ? track.name : "",
                           .color = track.color,
                           .stroke = !track.is_joined ? chart::Stroke::none
                                     : is_filled      ? chart::Stroke::solid
                                                      : chart::Stroke::dashed,
                           .marker = track.marker,
                           .is_filled = is_filled,
                           .marker_scale = scale};
      for (const TrackPoint& at : track.points) {
        const XY place = where(at);
        if (!is_drawable(place)) {
          left_out_ += is_named ? 1 : 0;
          continue;
        }
        ++shown_;
        x_.add(place.x);
        y_.add(place.y);
        const std::string& hint = at.hint.empty() ? at.label : at.hint;
        series.points.push_back(
            {place.x, place.y, is_named ? at.label : "",
             hint.empty() ? track.name : fmt::format("{}: {}", track.name, hint)});
      }
      if (!series.points.empty()) chart_.series.push_back(std::move(series));
    }
  }

  std::string classic() {
    chart_.x.title = "arithmetic intensity (FLOP per byte)";
    chart_.y = {
        .title = "performance", .quantity = chart::Quantity::flop_per_s, .scale = chart_.y.scale};
    const bool has_definitions = definitions(rate_of);
    symbols(rate_of, /*is_filled=*/true);
    const bool has_levels = inner_levels();
    launch_ceilings();
    double highest = 0;
    for (const PeakRoof& roof : picture_.peaks) highest = std::max(highest, roof.flop_per_s);
    const std::size_t first = has_levels ? 0 : picture_.memory.size() - 1;
    double fastest = 0;
    for (std::size_t i = first; i < picture_.memory.size(); ++i)
      fastest = std::max(fastest, picture_.memory[i].bytes_per_s);
    // Peaks first: their names have less room than those of the long diagonals.
    for (const PeakRoof& roof : picture_.peaks) {
      y_.add(roof.flop_per_s);
      x_.add(room_for_names * roof.flop_per_s / bandwidth());
      chart_.lines.push_back(
          {.direction = chart::Direction::horizontal,
           .at = roof.flop_per_s,
           .from = roof.flop_per_s / fastest,
           .label = fmt::format("{} {}", roof.name, format_flop_per_s(roof.flop_per_s)),
           .stroke = chart::Stroke::solid});
    }
    for (std::size_t i = first; i < picture_.memory.size(); ++i) {
      const MemoryRoof& roof = picture_.memory[i];
      chart_.lines.push_back(
          {.direction = chart::Direction::diagonal,
           .at = roof.bytes_per_s,
           .to = highest / roof.bytes_per_s,
           .label = fmt::format("{} {}", roof.name, format_bytes_per_s(roof.bytes_per_s)),
           .stroke = chart::Stroke::solid});
    }
    return has_definitions ? std::string(closed_and_open) : "";
  }

  /// Open symbols where the work lies by definition, joined with what was counted.
  template <class Where>
  bool definitions(const Where& where) {
    std::size_t count = 0;
    for (const RooflineTrack& track : picture_.tracks) {
      for (const TrackPoint& at : track.points) count += at.definition ? 1 : 0;
    }
    if (count == 0) return false;
    if (count <= most_connections) connections(where, by_definition(where));
    symbols(by_definition(where), /*is_filled=*/false, /*is_named=*/false);
    return true;
  }

  /// The same work over the bytes of each level inside the outermost, where they are known.
  bool inner_levels() {
    bool has_any = false;
    for (const MemoryRoof& roof : picture_.memory) {
      if (&roof == &picture_.memory.back()) break;
      chart::Series series{.name = fmt::format("over {} bytes", roof.name),
                           .color = 4 + chart_.series.size() % 4,
                           .stroke = chart::Stroke::none,
                           .marker = chart::Marker::diamond,
                           .is_filled = false};
      for (const RooflineTrack& track : picture_.tracks) {
        for (const TrackPoint& at : track.points) {
          for (const LevelUse& use : at.point.levels) {
            if (use.level != roof.name || use.intensity.value_or(0) <= 0) continue;
            if (at.point.flop_per_s <= 0) continue;
            series.points.push_back({*use.intensity, at.point.flop_per_s, "", at.hint});
            x_.add(*use.intensity);
          }
        }
      }
      if (series.points.empty()) continue;
      has_any = true;
      chart_.series.push_back(std::move(series));
    }
    return has_any;
  }

  /// F/(n·λ) of each point: where its launches alone would put it.
  void launch_ceilings() {
    chart::Series ceilings{.name = "its launch ceiling, FLOP / (launches × latency)",
                           .color = grey,
                           .stroke = chart::Stroke::none,
                           .marker = chart::Marker::inverted,
                           .is_filled = false};
    for (const RooflineTrack& track : picture_.tracks) {
      for (const TrackPoint& at : track.points) {
        if (at.point.overhead_s <= 0 || !is_drawable(rate_of(at))) continue;
        const double ceiling = static_cast<double>(at.work.flop) / at.point.overhead_s;
        const double roof =
            std::min(at.point.peak_flop_per_s, *at.point.intensity * at.point.memory_bytes_per_s);
        if (ceiling >= roof) continue;  // the roof is lower: nothing to see
        ceilings.points.push_back({*at.point.intensity, ceiling, "", at.hint});
        y_.add(ceiling);
      }
    }
    if (!ceilings.points.empty()) chart_.series.push_back(std::move(ceilings));
  }

  void plane_of_counts() {
    chart_.x = {
        .title = "bytes moved", .quantity = chart::Quantity::bytes, .scale = chart_.x.scale};
    chart_.y = {.title = "FLOP", .quantity = chart::Quantity::flop, .scale = chart_.y.scale};
    for (const PeakRoof& roof : picture_.peaks) {
      const double balance = roof.flop_per_s / bandwidth();
      chart_.lines.push_back(
          {.direction = chart::Direction::diagonal,
           .at = balance,
           .label = picture_.peaks.size() == 1
                        ? fmt::format("balance {:.1f} FLOP/byte", balance)
                        : fmt::format("{}: {:.1f} FLOP/byte", roof.name, balance),
           .stroke = chart::Stroke::solid});
    }
    boxes(bandwidth(), peak());
  }

  /// Below n·λ in both directions; of the fewest and the most launches of any point.
  void boxes(double per_s_x, double per_s_y) {
    if (!picture_.launch_latency_s) return;
    std::set<std::int64_t> counts;
    for (const RooflineTrack& track : picture_.tracks) {
      for (const TrackPoint& at : track.points) {
        if (at.work.launches > 0 && is_drawable(complexity_of(at))) counts.insert(at.work.launches);
      }
    }
    if (counts.empty()) return;
    for (const std::int64_t count : std::set<std::int64_t>{*counts.begin(), *counts.rbegin()}) {
      const double overhead_s = static_cast<double>(count) * *picture_.launch_latency_s;
      x_.add(overhead_s * per_s_x);
      y_.add(overhead_s * per_s_y);
      chart_.bands.push_back({.x_to = overhead_s * per_s_x,
                              .y_to = overhead_s * per_s_y,
                              .label = fmt::format("{} launch{}: {}", format_exact(count),
                                                   count == 1 ? "" : "es", format_time(overhead_s)),
                              .color = std::nullopt});
    }
  }

  std::string complexity() {
    plane_of_counts();
    const bool has_definitions = definitions(complexity_of);
    symbols(complexity_of, /*is_filled=*/true);
    return fmt::format("{}above the line compute-bound, in a box launch-bound",
                       has_definitions ? fmt::format("{}; ", closed_and_open) : "");
  }

  std::string time() {
    chart_.x = {
        .title = "bandwidth time", .quantity = chart::Quantity::seconds, .scale = chart_.x.scale};
    chart_.y = {
        .title = "compute time", .quantity = chart::Quantity::seconds, .scale = chart_.y.scale};
    chart_.lines.push_back({.direction = chart::Direction::diagonal,
                            .at = 1,
                            .label = "compute = bandwidth time",
                            .stroke = chart::Stroke::solid});
    boxes(1, 1);
    symbols(time_of, /*is_filled=*/false);
    wall_times();
    equal_run_times();
    return "the larger coordinate is the run time; dotted: equal run time";
  }

  /// The same point with the time seen from outside, where somebody looked.
  void wall_times() {
    chart::Series walls{.name = "wall time",
                        .color = grey,
                        .stroke = chart::Stroke::none,
                        .marker = chart::Marker::square,
                        .is_filled = false};
    for (const RooflineTrack& track : picture_.tracks) {
      for (const TrackPoint& at : track.points) {
        const XY place = time_of(at);
        if (!at.work.wall_s || *at.work.wall_s <= 0 || !is_drawable(place)) continue;
        const double longer = *at.work.wall_s / at.work.time_s;
        walls.points.push_back({place.x * longer, place.y * longer, "", at.hint});
        x_.add(place.x * longer);
        y_.add(place.y * longer);
      }
    }
    if (!walls.points.empty()) chart_.series.push_back(std::move(walls));
  }

  /// max(x, y) = T for powers of ten: a step down at x = T.
  void equal_run_times() {
    if (shown_ == 0) return;
    const double least_x = x_.least / air;
    const double least_y = y_.least / air;
    const int last = static_cast<int>(std::floor(std::log10(std::max(x_.most, y_.most) * air)));
    const int first = static_cast<int>(std::ceil(std::log10(std::max(least_x, least_y) * 1.5)));
    const int step = std::max(1, (last - first + 5) / 6);
    for (int exponent = last; exponent >= first; exponent -= step) {
      const double time_s = std::pow(10.0, exponent);
      chart_.lines.push_back(
          {.direction = chart::Direction::horizontal,
           .at = time_s,
           .to = time_s,
           .label = time_s < 1e-9 ? fmt::format("{:g} s", time_s) : format_time(time_s, 1),
           .stroke = chart::Stroke::dotted});
      chart_.lines.push_back({.direction = chart::Direction::vertical,
                              .at = time_s,
                              .to = time_s,
                              .label = "",
                              .stroke = chart::Stroke::dotted});
    }
  }

  std::string combined() {
    plane_of_counts();
    std::size_t count = 0;
    for (const RooflineTrack& track : picture_.tracks) count += track.points.size();
    if (count <= most_connections) connections(complexity_of, scaled_time_of);
    symbols(scaled_time_of, /*is_filled=*/false, /*is_named=*/false, ring);
    symbols(complexity_of, /*is_filled=*/true);
    return "closed: FLOP and bytes; open: its time × peak and × bandwidth; apart by the distance "
           "from the roof";
  }

  /// A dotted line between two places of each point.
  template <class From, class To>
  void connections(const From& from_of, const To& to_of) {
    for (const RooflineTrack& track : picture_.tracks) {
      for (const TrackPoint& at : track.points) {
        const XY from = from_of(at);
        const XY to = to_of(at);
        if (!is_drawable(from) || !is_drawable(to)) continue;
        chart_.series.push_back({.name = "",
                                 .points = {{from.x, from.y, "", ""}, {to.x, to.y, "", ""}},
                                 .color = track.color,
                                 .stroke = chart::Stroke::dotted});
      }
    }
  }

  const RooflinePicture& picture_;
  RooflineKind kind_;
  chart::Chart chart_;
  Extent x_;
  Extent y_;
  std::size_t shown_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace

std::span<const std::string_view> roofline_kind_names() { return kind_names; }

chart::Chart roofline_chart(const RooflinePicture& picture, RooflineKind kind) {
  STRATA_CHECK(!picture.peaks.empty() && !picture.memory.empty(), "a roofline needs its roofs");
  return PictureMaker(picture, kind).run();
}

}  // namespace strata
