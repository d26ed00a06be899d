// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/points.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace strata {
namespace {

constexpr std::int64_t most_points = 10000;

// Sizes that make no convolution are read all the same: the point says what is wrong with it.
std::int64_t size_in(std::string_view text, std::string_view what) {
  return parse_whole_number(text, what, INT64_MIN);
}

struct AxisOfShape {
  std::string_view letter;
  std::string_view name;
  std::int64_t ConvShape::*first;
  std::int64_t ConvShape::*second;  ///< the width of a size that has one; null: it has none
};

constexpr AxisOfShape axes_of_shape[] = {
    {"b", "batch", &ConvShape::batch, nullptr},
    {"c", "channels", &ConvShape::channels, nullptr},
    {"i", "input", &ConvShape::height, &ConvShape::width},
    {"h", "height", &ConvShape::height, nullptr},
    {"w", "width", &ConvShape::width, nullptr},
    {"f", "filters", &ConvShape::filters, nullptr},
    {"k", "kernel", &ConvShape::kernel_height, &ConvShape::kernel_width},
    {"s", "stride", &ConvShape::stride_height, &ConvShape::stride_width},
    {"p", "padding", &ConvShape::pad_height, &ConvShape::pad_width},
    {"d", "dilation", &ConvShape::dilation_height, &ConvShape::dilation_width},
    {"g", "groups", &ConvShape::groups, nullptr}};

const AxisOfShape* axis_lettered(std::string_view letter) {
  const auto* const found =
      std::find_if(std::begin(axes_of_shape), std::end(axes_of_shape),
                   [&](const AxisOfShape& axis) { return axis.letter == letter; });
  return found == std::end(axes_of_shape) ? nullptr : found;
}

void set_axis(ConvShape& shape, const AxisOfShape& axis, std::int64_t value) {
  shape.*axis.first = value;
  if (axis.second != nullptr) shape.*axis.second = value;
}

std::vector<std::int64_t> values_of(std::string_view text, std::string_view what) {
  std::vector<std::int64_t> values;
  for (const std::string_view part : split(text, ',')) {
    const auto ends = split(part, ':');
    if (ends.size() > 3) fail(ErrorKind::usage, "{} expects LOW:HIGH:STEP, got '{}'", what, part);
    const std::int64_t low = size_in(ends[0], what);
    const std::int64_t high = ends.size() > 1 ? size_in(ends[1], what) : low;
    const std::int64_t step = ends.size() > 2 ? parse_whole_number(ends[2], what) : 1;
    std::int64_t width = 0;
    if (high < low) fail(ErrorKind::usage, "{}: {} is above {}", what, low, high);
    if (__builtin_sub_overflow(high, low, &width) ||
        width / step + 1 > most_points - static_cast<std::int64_t>(values.size()))
      fail(ErrorKind::usage, "{}: at most {} points", what, most_points);
    for (std::int64_t i = 0; i <= width / step; ++i) values.push_back(low + i * step);
  }
  return values;
}

ConvShape square_shape(std::int64_t b, std::int64_t i, std::int64_t f, std::int64_t k,
                       std::int64_t s, std::int64_t c) {
  return {.batch = b,
          .channels = c,
          .height = i,
          .width = i,
          .filters = f,
          .kernel_height = k,
          .kernel_width = k,
          .stride_height = s,
          .stride_width = s};
}

constexpr std::string_view layer_names[] = {"conv1", "conv2", "conv3", "conv4", "conv5"};

// Channels as in the public convnet benchmarks; Conv2 is the study's own.
ConvShape layer_shape(std::size_t index) {
  switch (index) {
    case 0: return square_shape(128, 128, 96, 11, 1, 3);
    case 1: return square_shape(128, 128, 96, 3, 1, 3);
    case 2: return square_shape(128, 32, 128, 9, 1, 128);
    case 3: return square_shape(128, 16, 128, 7, 1, 128);
    default: return square_shape(128, 13, 384, 3, 1, 384);
  }
}

}  // namespace

ConvShape conv_base(std::string_view text, std::int64_t channels) {
  const auto parts = split(text, ',');
  if (parts.size() != 5) {
    fail(ErrorKind::usage,
         "--base expects batch, input side, filters, kernel side and stride: 64,128,64,11,1, got "
         "'{}'",
         text);
  }
  std::int64_t sizes[5];
  for (std::size_t i = 0; i < 5; ++i) sizes[i] = size_in(parts[i], "--base");
  return square_shape(sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], channels);
}

ConvSeries conv_sweep(const ConvShape& base, std::string_view text) {
  const std::size_t equals = text.find('=');
  const AxisOfShape* axis = axis_lettered(trimmed(text.substr(0, equals)));
  if (equals == std::string_view::npos || axis == nullptr) {
    fail(ErrorKind::usage,
         "--sweep expects one of b, i, f, k, s, c, p, d, g and a range: k=2:13, got '{}'", text);
  }
  ConvSeries series{std::string(axis->letter), true, {}};
  const std::string what = fmt::format("--sweep {}", axis->letter);
  for (const std::int64_t value : values_of(text.substr(equals + 1), what)) {
    ConvPoint point{fmt::format("{} = {}", axis->letter, value), value, base};
    set_axis(point.shape, *axis, value);
    series.points.push_back(std::move(point));
  }
  const auto by_value = [](const ConvPoint& a, const ConvPoint& b) { return a.at < b.at; };
  std::stable_sort(series.points.begin(), series.points.end(), by_value);
  const auto is_same = [](const ConvPoint& a, const ConvPoint& b) { return a.at == b.at; };
  series.points.erase(std::unique(series.points.begin(), series.points.end(), is_same),
                      series.points.end());
  return series;
}

ConvPoint conv_point(std::string_view text) {
  ConvPoint point;
  std::string given;
  for (const std::string_view raw : split(text, ',')) {
    const std::string_view part = trimmed(raw);
    const AxisOfShape* axis = part.empty() ? nullptr : axis_lettered(part.substr(0, 1));
    if (axis == nullptr) {
      fail(ErrorKind::usage,
           "--shape expects sizes as b64,c3,h128,w96,f64,k3x5,s1x2,p1,d2,g1, got '{}' in '{}'",
           part, text);
    }
    if (given.find(part.front()) != std::string::npos)
      fail(ErrorKind::usage, "--shape gives '{}' twice in '{}'", part.front(), text);
    given += part.front();
    const auto sides = split(part.substr(1), 'x');
    const std::string what = fmt::format("--shape {}", axis->letter);
    if (sides.size() > (axis->second == nullptr ? 1U : 2U))
      fail(ErrorKind::usage, "{} has one number, got '{}'", what, part.substr(1));
    set_axis(point.shape, *axis, size_in(sides[0], what));
    if (sides.size() == 2) point.shape.*axis->second = size_in(sides[1], what);
  }
  point.label = to_text(point.shape);
  return point;
}

std::span<const std::string_view> conv_layer_names() { return layer_names; }

ConvPoint conv_layer(std::string_view name) {
  const auto* const found = std::find(std::begin(layer_names), std::end(layer_names), name);
  if (found == std::end(layer_names)) {
    const std::vector<std::string> names(std::begin(layer_names), std::end(layer_names));
    fail(ErrorKind::usage, "no benchmark layer '{}'; there are {}{}", name,
         alternatives(layer_names), did_you_mean(name, names));
  }
  return {std::string(name), std::nullopt,
          layer_shape(static_cast<std::size_t>(found - std::begin(layer_names)))};
}

std::vector<ConvSeries> conv_suite(std::string_view name) {
  constexpr std::string_view names[] = {"paper", "cpu"};
  if (name != "paper" && name != "cpu")
    fail(ErrorKind::usage, "--suite expects {}, got '{}'", alternatives(names), name);
  const std::int64_t less = name == "cpu" ? 32 : 1;
  const ConvShape base = square_shape(64 / less, 128, 64, 11, 1, 3);
  const std::string batches = name == "cpu" ? "b=1:16" : "b=32:512:32";
  std::vector<ConvSeries> all;
  for (const std::string_view text :
       {std::string_view(batches), std::string_view("i=32:256:16"), std::string_view("f=32:512:16"),
        std::string_view("k=2:13"), std::string_view("s=1:4")}) {
    all.push_back(conv_sweep(base, text));
  }
  ConvSeries layers{"layers", false, {}};
  for (const std::string_view layer : layer_names) {
    layers.points.push_back(conv_layer(layer));
    layers.points.back().shape.batch /= less;
  }
  all.push_back(std::move(layers));
  return all;
}

std::vector<ConvPoint> distinct_points(std::span<const ConvSeries> series) {
  std::vector<ConvPoint> distinct;
  std::map<std::string, std::size_t> known;
  for (const ConvSeries& each : series) {
    for (const ConvPoint& point : each.points) {
      if (refusal_of(point.shape)) continue;
      const auto [place, is_new] = known.try_emplace(to_text(point.shape), distinct.size());
      if (is_new) {
        distinct.push_back(point);
        continue;
      }
      ConvPoint& first = distinct[place->second];
      for (std::size_t pass = 0; pass < first.counts.size(); ++pass)
        first.counts[pass] = std::max(first.counts[pass], point.counts[pass]);
    }
  }
  return distinct;
}

}  // namespace strata
