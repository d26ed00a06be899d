// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/scene.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace strata::chart {
namespace {

constexpr double ascent = 0.76;  // of the size: digits and capitals
constexpr double descent = 0.22;
constexpr double bold_factor = 1.1;

/// Width of a character in units of the size.
double em_width(char character) {
  const std::string_view narrow = "ijlI'|";
  const std::string_view slim = " .,:;!fJt()[]/\\-r\"";
  const std::string_view wide = "mMwW%@";
  if (narrow.find(character) != std::string_view::npos) return 0.29;
  if (slim.find(character) != std::string_view::npos) return 0.40;
  if (wide.find(character) != std::string_view::npos) return 0.97;
  if (character >= 'A' && character <= 'Z') return 0.70;
  return 0.635;
}

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }
bool is_ascii(char byte) { return static_cast<unsigned char>(byte) < 0x80U; }

}  // namespace

double text_width(std::string_view text, double size, Weight weight) {
  constexpr double beyond_ascii = 0.84;  // arrows, ×, −
  double ems = 0;
  for (const char byte : text) {
    if (is_ascii(byte)) {
      ems += em_width(byte);
    } else if (begins_character(byte)) {
      ems += beyond_ascii;
    }
  }
  return ems * size * (weight == Weight::bold ? bold_factor : 1);
}

std::string fitted(std::string_view text, double size, Weight weight, double width) {
  if (text_width(text, size, weight) <= width) return std::string(text);
  const double rest = width - text_width("…", size, weight);
  while (!text.empty() && text_width(text, size, weight) > rest) {
    while (text.size() > 1 && !begins_character(text.back())) text.remove_suffix(1);
    text.remove_suffix(1);
  }
  return std::string(text) + "…";
}

std::vector<std::string> wrapped(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    const std::string longer = line.empty() ? std::string(word) : line + " " + std::string(word);
    if (!line.empty() && text_width(longer, size) > width) {
      lines.push_back(std::move(line));
      line = word;
    } else {
      line = longer;
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  for (std::string& finished : lines) finished = fitted(finished, size, Weight::normal, width);
  return lines;
}

Corners corners_of(const TextShape& text) {
  const double width = text_width(text.text, text.size, text.weight);
  const double left = text.anchor == Anchor::start    ? 0
                      : text.anchor == Anchor::middle ? -width / 2
                                                      : -width;
  const double radians = text.degrees * std::numbers::pi / 180;
  const double top = -ascent * text.size;
  const double bottom = descent * text.size;
  const auto turned = [&](double x, double y) {
    return Place{text.place.x + x * std::cos(radians) - y * std::sin(radians),
                 text.place.y + x * std::sin(radians) + y * std::cos(radians)};
  };
  return {turned(left, top), turned(left + width, top), turned(left + width, bottom),
          turned(left, bottom)};
}

bool overlap(const Corners& a, const Corners& b) {
  // Two convex shapes are apart when the normal of one of their edges separates them.
  for (const Corners* shape : {&a, &b}) {
    for (std::size_t i = 0; i < shape->size(); ++i) {
      const Place from = (*shape)[i];
      const Place to = (*shape)[(i + 1) % shape->size()];
      const auto range = [&](const Corners& corners) {
        double least = 1e300;
        double most = -1e300;
        for (const Place& corner : corners) {
          const double along = (to.y - from.y) * corner.x - (to.x - from.x) * corner.y;
          least = std::min(least, along);
          most = std::max(most, along);
        }
        return std::pair(least, most);
      };
      const auto [a_least, a_most] = range(a);
      const auto [b_least, b_most] = range(b);
      if (a_most <= b_least || b_most <= a_least) return false;
    }
  }
  return true;
}

bool inside(const Corners& corners, const Rect& rect) {
  return std::all_of(corners.begin(), corners.end(),
                     [&](const Place& corner) { return rect.contains(corner); });
}

}  // namespace strata::chart
