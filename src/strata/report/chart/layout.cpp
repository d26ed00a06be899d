// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/report/chart/panel.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace strata::chart {
namespace {

constexpr double margin = 18;
constexpr double between_columns = 26;
constexpr double between_rows = 18;
constexpr double head_size = 16;
constexpr double subtitle_size = 12;
constexpr double legend_size = 12;
constexpr double legend_row = 20;
constexpr double line_glyph_width = 26;
constexpr double small_glyph_width = 14;
constexpr double right_room = 10;        // half of the last label of x
constexpr double least_plot_width = 80;  // below it an axis has no room for two labels

/// What the legend explains: a line with its markers, a kind of bar, the shade of an area, a slice.
using LegendEntry = std::variant<const Series*, const Bars*, const BandKey*, const Slice*>;

const std::string& name_of(const LegendEntry& entry) {
  return std::visit([](const auto* shown) -> const std::string& { return shown->name; }, entry);
}

double glyph_width(const LegendEntry& entry) {
  const Series* const* series = std::get_if<const Series*>(&entry);
  const bool has_line = series != nullptr && (*series)->stroke != Stroke::none;
  return has_line ? line_glyph_width : small_glyph_width;
}

std::vector<LegendEntry> legend_of(const ChartGrid& grid) {
  std::vector<LegendEntry> entries;
  const auto add = [&](const LegendEntry& entry) {
    const bool is_known =
        std::any_of(entries.begin(), entries.end(),
                    [&](const LegendEntry& other) { return name_of(other) == name_of(entry); });
    if (!is_known && !name_of(entry).empty()) entries.push_back(entry);
  };
  for (const Chart& panel : grid.panels) {
    for (const Series& series : panel.series) add(&series);
    for (const Bars& bars : panel.bars) add(&bars);
    for (const BandKey& key : panel.band_keys) add(&key);
    for (const Slice& slice : panel.ring.slices) add(&slice);
  }
  return entries;
}

class Layout {
 public:
  explicit Layout(const ChartGrid& grid) : grid_(grid) {
    scene_.width = grid.width;
    scene_.width_pt = grid.width_pt;
    scene_.title = grid.title;
    scene_.description = grid.subtitle;
  }

  Scene run() && {
    heading();
    legend();
    panels();
    scene_.height = y_ + margin - between_rows;
    return std::move(scene_);
  }

 private:
  double inner_width() const { return grid_.width - 2 * margin; }

  void heading() {
    y_ = margin;
    if (!grid_.title.empty()) {
      y_ += head_size;
      scene_.shapes.emplace_back(
          TextShape{.text = fitted(grid_.title, head_size, Weight::bold, inner_width()),
                    .place = {margin, y_},
                    .size = head_size,
                    .weight = Weight::bold});
      y_ += 6;
    }
    for (std::string& line : wrapped(grid_.subtitle, subtitle_size, inner_width())) {
      y_ += subtitle_size + 4;
      scene_.shapes.emplace_back(TextShape{
          .text = std::move(line), .place = {margin, y_}, .size = subtitle_size, .style = "muted"});
    }
    y_ += 10;
  }

  void legend() {
    const std::vector<LegendEntry> entries = legend_of(grid_);
    if (entries.empty()) return;
    y_ += 14;
    double x = margin;
    for (const LegendEntry& entry : entries) {
      const double indent = glyph_width(entry) + 6;
      const std::string name =
          fitted(name_of(entry), legend_size, Weight::normal, inner_width() - indent);
      const double width = indent + text_width(name, legend_size);
      if (x > margin && x + width > grid_.width - margin) {
        x = margin;
        y_ += legend_row;
      }
      std::visit([&](const auto* shown) { glyph(*shown, x); }, entry);
      scene_.shapes.emplace_back(
          TextShape{.text = name, .place = {x + indent, y_}, .size = legend_size});
      x += width + 18;
    }
    y_ += 16;
  }

  void glyph(const Series& series, double x) {
    const double y = y_ - 4;
    const double width = glyph_width(&series);
    if (series.stroke != Stroke::none) {
      scene_.shapes.emplace_back(
          LineShape{.places = {{x, y}, {x + width, y}}, .style = line_style(series)});
    }
    if (series.marker != Marker::none) {
      scene_.shapes.emplace_back(MarkerShape{.center = {x + width / 2, y},
                                             .marker = series.marker,
                                             .style = marker_style(series),
                                             .hint = {},
                                             .scale = series.marker_scale});
    }
  }
  void glyph(const Bars& bars, double x) { filled_glyph(bars.color, x); }
  void glyph(const Slice& slice, double x) { filled_glyph(slice.color, x); }
  void filled_glyph(Color color, double x) {
    scene_.shapes.emplace_back(RectShape{.rect = {x, y_ - 10, small_glyph_width, 12},
                                         .style = "bar " + fill_class(color),
                                         .hint = {}});
  }
  void glyph(const BandKey& key, double x) {
    const Band shown{.color = key.color, .is_solid = true, .shade = key.shade};
    scene_.shapes.emplace_back(RectShape{
        .rect = {x, y_ - 10, small_glyph_width, 12}, .style = band_style(shown), .hint = {}});
  }

  void panels() {
    const std::size_t columns = std::clamp<std::size_t>(grid_.columns, 1, grid_.panels.size());
    const double cell_width = (inner_width() - between_columns * static_cast<double>(columns - 1)) /
                              static_cast<double>(columns);
    double left = 0;
    for (const Chart& chart : grid_.panels) {
      left = std::max(left, left_room(chart, grid_.plot_height));
    }
    for (const Chart& chart : grid_.panels)
      left = std::max(left, left_overhang(chart, cell_width - left - right_room));
    const double plot_width = cell_width - left - right_room;
    if (plot_width < least_plot_width) {
      fail(ErrorKind::input, "chart '{}': {} columns do not fit into {} pixels", grid_.title,
           columns, grid_.width);
    }
    for (std::size_t first = 0; first < grid_.panels.size(); first += columns)
      row_of_panels(first, std::min(first + columns, grid_.panels.size()), cell_width, left);
  }

  /// Plots of a row stand side by side: they have one room above and below.
  void row_of_panels(std::size_t first, std::size_t end, double cell_width, double left) {
    const double plot_width = cell_width - left - right_room;
    double top = 0;
    double bottom = 0;
    for (std::size_t i = first; i < end; ++i) {
      top = std::max(top, top_room(grid_.panels[i]));
      bottom = std::max(bottom, bottom_room(grid_.panels[i], plot_width));
    }
    for (std::size_t i = first; i < end; ++i) {
      const auto column = static_cast<double>(i - first);
      const Rect cell{margin + column * (cell_width + between_columns), y_, cell_width,
                      top + grid_.plot_height + bottom};
      const Rect plot{cell.x + left, y_ + top, plot_width, grid_.plot_height};
      draw_panel(scene_, grid_.panels[i], cell, plot);
    }
    const bool joins_next = !grid_.panels[first].x.has_labels;
    y_ += top + grid_.plot_height + bottom + (joins_next ? 0 : between_rows);
  }

  const ChartGrid& grid_;
  Scene scene_;
  double y_ = 0;
};

}  // namespace

Scene laid_out(const ChartGrid& grid) {
  if (grid.panels.empty()) fail(ErrorKind::input, "chart '{}': nothing to draw", grid.title);
  for (const Chart& panel : grid.panels) check(panel);
  return Layout(grid).run();
}

std::string to_svg(const ChartGrid& grid) { return to_svg(laid_out(grid)); }

std::string to_svg(const Chart& chart, double width, double plot_height) {
  ChartGrid grid{.title = chart.title,
                 .subtitle = chart.subtitle,
                 .panels = {chart},
                 .columns = 1,
                 .width = width,
                 .plot_height = plot_height};
  grid.panels.front().title.clear();  // it stands above everything already
  return to_svg(grid);
}

}  // namespace strata::chart
