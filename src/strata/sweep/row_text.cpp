// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/row_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>

namespace strata {
namespace {

void append_number(std::string& text, const SweepCell& cell) {
  if (cell.kind == SweepCellKind::whole) {
    fmt::format_to(std::back_inserter(text), "{}", cell.whole);
  } else {
    fmt::format_to(std::back_inserter(text), "{}", cell.real);
  }
}

std::string json_text_of(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_csv_row(std::string& text, const std::vector<SweepCell>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) text += ',';
    if (cells[i].is_empty) continue;
    if (cells[i].kind == SweepCellKind::text) {
      append_csv_text(text, cells[i].text);
    } else {
      append_number(text, cells[i]);
    }
  }
  text += '\n';
}

// Absent instead of null: a reader that asks for a key sees that there is none.
void append_json_row(std::string& text, const std::vector<ColumnHead>& heads,
                     const std::vector<SweepCell>& cells) {
  text += '{';
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].is_empty) continue;
    if (i > 0) text += ',';
    fmt::format_to(std::back_inserter(text), "\"{}\":", heads[i].name);
    if (cells[i].kind == SweepCellKind::text) {
      text += json_text_of(cells[i].text);
    } else {
      append_number(text, cells[i]);
    }
  }
  text += "}\n";
}

}  // namespace

void append_csv_text(std::string& text, std::string_view cell) {
  const bool is_plain = cell.find_first_of("\",\r\n") == std::string_view::npos;
  if (is_plain) {
    text += cell;
    return;
  }
  text += '"';
  for (const char c : cell) {
    if (c == '"') text += '"';
    text += c == '\n' || c == '\r' ? ' ' : c;  // a row is a line, so that a torn one can be seen
  }
  text += '"';
}

std::string identity_line(TextForm form, const SweepColumns& columns,
                          const SweepIdentity& identity) {
  std::string axes;
  std::size_t axis_count = 0;
  for (const ColumnHead& head : columns.heads()) {
    if (!head.is_axis) continue;
    axes += fmt::format("{}\"{}\"", axes.empty() ? "" : ",", head.name);
    ++axis_count;
  }
  if (form == TextForm::csv) {
    return fmt::format("# strata_sweep 1 identity {} version {} points {} axes {}\n", identity.hash,
                       identity.version, identity.points, axis_count);
  }
  return fmt::format(
      "{{\"strata_sweep\":1,\"identity\":\"{}\",\"version\":\"{}\",\"points\":{},\"axes\":[{}]}}\n",
      identity.hash, identity.version, identity.points, axes);
}

std::string heading_line(TextForm form, const SweepColumns& columns) {
  if (form == TextForm::json_lines) return "";
  std::string line;
  for (const ColumnHead& head : columns.heads()) {
    if (!line.empty()) line += ',';
    line += head.name;
  }
  return line + '\n';
}

void append_row(std::string& text, TextForm form, const SweepColumns& columns,
                const std::vector<SweepCell>& cells) {
  if (form == TextForm::csv) {
    append_csv_row(text, cells);
  } else {
    append_json_row(text, columns.heads(), cells);
  }
}

std::string row_begin(TextForm form, std::int64_t point) {
  return form == TextForm::csv ? fmt::format("{},", point) : fmt::format("{{\"point\":{},", point);
}

}  // namespace strata
