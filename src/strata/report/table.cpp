// SPDX-License-Identifier: Apache-2.0
#include "strata/report/table.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace strata {
namespace {

constexpr std::size_t margin = 2;  // left of the table
constexpr std::size_t gap = 2;     // between columns

std::size_t total_width(const std::vector<std::size_t>& widths) {
  const std::size_t gaps = widths.empty() ? 0 : gap * (widths.size() - 1);
  return std::accumulate(widths.begin(), widths.end(), margin + gaps);
}

std::string padded(const std::string& cell, std::size_t width, const Column& column) {
  const std::string text = shortened(cell, width, column.omit);
  const std::string space(width - width_of(text), ' ');
  return column.align == Align::left ? text + space : space + text;
}

/// A heading broken between words into lines that fit; a single word may be too wide.
std::string heading_lines(std::string_view text, const TextStyle& style) {
  std::string lines, line;
  const auto end_line = [&] {
    lines += bold(std::string(margin, ' ') + line, style) + '\n';
    line.clear();
  };
  for (const std::string_view word : split(text, ' ')) {
    const bool is_too_wide = style.columns > 0 && !line.empty() &&
                             margin + width_of(line) + 1 + width_of(word) > style.columns;
    if (is_too_wide) end_line();
    line += line.empty() ? "" : " ";
    line += word;
  }
  end_line();
  return lines;
}

void trim_right(std::string& text) { text.erase(text.find_last_not_of(' ') + 1); }

}  // namespace

void Table::add_row(std::vector<std::string> cells) { rows_.push_back(checked(std::move(cells))); }

void Table::add_heading(std::string text) {
  if (!is_printable(text)) text = printable(text);
  headings_.emplace_back(rows_.size(), std::move(text));
}

void Table::add_total(std::vector<std::string> cells) {
  totals_.push_back(checked(std::move(cells)));
}

std::vector<std::string> Table::checked(std::vector<std::string> cells) const {
  STRATA_CHECK(cells.size() == columns_.size(), "one cell per column");
  for (std::string& cell : cells) {
    if (!is_printable(cell)) cell = printable(cell);
  }
  return cells;
}

Table::Layout Table::layout_for(std::size_t columns) const {
  std::vector<std::size_t> natural;
  for (std::size_t index = 0; index < columns_.size(); ++index) {
    std::size_t width = 0;
    for (const std::string_view part : split(columns_[index].title, '\n'))
      width = std::max(width, width_of(part));
    for (const auto* rows : {&rows_, &totals_}) {
      for (const auto& row : *rows) width = std::max(width, width_of(row[index]));
    }
    natural.push_back(width);
  }
  Layout layout;
  for (std::size_t index = 0; index < columns_.size(); ++index) {
    if (columns_[index].is_shown) layout.shown.push_back(index);
  }
  for (;;) {
    layout.widths.clear();
    for (const std::size_t index : layout.shown) layout.widths.push_back(natural[index]);
    // From the right, because what comes first identifies the row.
    for (std::size_t at = layout.shown.size(); at-- > 0;) {
      const std::size_t width = total_width(layout.widths);
      const std::size_t least = columns_[layout.shown[at]].least_width;
      if (columns == 0 || width <= columns) return layout;
      if (least == 0 || layout.widths[at] <= least) continue;
      layout.widths[at] -= std::min(layout.widths[at] - least, width - columns);
    }
    if (total_width(layout.widths) <= columns) return layout;
    const auto next = std::max_element(
        layout.shown.begin(), layout.shown.end(),
        [&](std::size_t a, std::size_t b) { return columns_[a].leaves < columns_[b].leaves; });
    if (next == layout.shown.end() || columns_[*next].leaves == 0) return layout;
    layout.hidden.push_back(columns_[*next].title);
    std::replace(layout.hidden.back().begin(), layout.hidden.back().end(), '\n', ' ');
    layout.shown.erase(next);
  }
}

std::string Table::line(const std::vector<std::string>& cells, const Layout& layout) const {
  std::string text(margin, ' ');
  for (std::size_t at = 0; at < layout.shown.size(); ++at) {
    if (at > 0) text.append(gap, ' ');
    const std::size_t index = layout.shown[at];
    text += padded(cells[index], layout.widths[at], columns_[index]);
  }
  trim_right(text);
  return text;
}

std::string Table::headings(const Layout& layout, const TextStyle& style) const {
  std::string text;
  for (std::size_t part = 0;; ++part) {
    std::vector<std::string> titles(columns_.size());
    bool is_empty = true;
    for (const std::size_t index : layout.shown) {
      const std::vector<std::string_view> parts = split(columns_[index].title, '\n');
      if (part >= parts.size()) continue;
      titles[index] = parts[part];
      is_empty = false;
    }
    if (is_empty) return text;
    text += bold(line(titles, layout), style) + '\n';
  }
}

std::string Table::to_text(const TextStyle& style) const {
  const Layout layout = layout_for(style.columns);
  std::string text = headings(layout, style);
  auto heading = headings_.begin();
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (; heading != headings_.end() && heading->first == row; ++heading)
      text += heading_lines(heading->second, style);
    text += line(rows_[row], layout) + '\n';
  }
  if (!totals_.empty()) {
    text.append(margin, ' ');
    for (std::size_t at = margin; at < total_width(layout.widths); ++at) text += "─";
    text += '\n';
  }
  for (const auto& row : totals_) text += bold(line(row, layout), style) + '\n';
  if (!layout.hidden.empty()) {
    const std::string hidden = fmt::format("  no room for: {}", fmt::join(layout.hidden, ", "));
    text += dim(shortened(hidden, style.columns), style) + '\n';
  }
  return text;
}

}  // namespace strata
