// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/row_text.hpp"

#include "strata/base/csv_cell.hpp"
#include "strata/base/printable.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
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
  return printable_json(
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void append_csv_row(std::string& text, const std::vector<SweepCell>& cells, std::string_view end) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) text += ',';
    if (cells[i].is_empty) continue;
    if (cells[i].kind == SweepCellKind::text) {
      text += csv_cell(cells[i].text);
    } else {
      append_number(text, cells[i]);
    }
  }
  text += end;
}

// Absent instead of null: a reader that asks for a key sees that there is none.
void append_json_row(std::string& text, const std::vector<ColumnHead>& heads,
                     const std::vector<SweepCell>& cells) {
  text += '{';
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].is_empty) continue;
    if (i > 0) text += ',';
    text += json_text_of(heads[i].name) + ':';
    if (cells[i].kind == SweepCellKind::text) {
      text += json_text_of(cells[i].text);
    } else {
      append_number(text, cells[i]);
    }
  }
  text += "}\n";
}

std::string json_head(const SweepColumns& columns, const SweepIdentity& identity,
                      IdentityPlace place) {
  if (place == IdentityPlace::none) return "";
  std::string axes;
  for (const ColumnHead& head : columns.heads()) {
    if (head.is_axis) axes += (axes.empty() ? "" : ",") + json_text_of(head.name);
  }
  return fmt::format(
      "{{\"strata_sweep\":1,\"identity\":\"{}\",\"version\":\"{}\",\"points\":{},\"axes\":[{}]}}\n",
      identity.hash, identity.version, identity.points, axes);
}

std::size_t axes_of(const SweepColumns& columns) {
  return static_cast<std::size_t>(
      std::count_if(columns.heads().begin(), columns.heads().end(),
                    [](const ColumnHead& head) { return head.is_axis; }));
}

}  // namespace

std::string identity_cell(const SweepColumns& columns, const SweepIdentity& identity) {
  return fmt::format("{}/{}/{}", identity.hash, identity.version, axes_of(columns));
}

std::optional<ReadIdentity> read_identity_cell(std::string_view cell) {
  const std::size_t first = cell.find('/'), last = cell.rfind('/');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  ReadIdentity identity{.hash = std::string(cell.substr(0, first))};
  const std::string_view axes = cell.substr(last + 1);
  const auto [end, problem] =
      std::from_chars(axes.data(), axes.data() + axes.size(), identity.axes);
  if (problem != std::errc() || end != axes.data() + axes.size()) return std::nullopt;
  return identity;
}

std::string row_end(const SweepColumns& columns, const SweepIdentity& identity,
                    IdentityPlace place) {
  if (place == IdentityPlace::cells) return ',' + csv_cell(identity_cell(columns, identity)) + '\n';
  return place == IdentityPlace::last_column ? ",\n" : "\n";
}

std::string head_text(TextForm form, const SweepColumns& columns, const SweepIdentity& identity,
                      IdentityPlace place) {
  const std::string words =
      fmt::format("{} 1 identity {} version {} points {} axes {}", identity_column, identity.hash,
                  identity.version, identity.points, axes_of(columns));
  if (form == TextForm::json_lines) return json_head(columns, identity, place);
  std::string text = place == IdentityPlace::first_line ? "# " + words + '\n' : "";
  for (const ColumnHead& head : columns.heads()) {
    if (&head != &columns.heads().front()) text += ',';
    text += csv_cell(head.name);
  }
  if (place == IdentityPlace::last_column) text += ',' + words;
  if (place == IdentityPlace::cells) text += fmt::format(",{}", identity_column);
  return text + '\n';
}

void append_row(std::string& text, TextForm form, const SweepColumns& columns,
                const std::vector<SweepCell>& cells, std::string_view end) {
  if (form == TextForm::csv) {
    append_csv_row(text, cells, end);
  } else {
    append_json_row(text, columns.heads(), cells);
  }
}

std::string row_begin(TextForm form, std::int64_t point) {
  return form == TextForm::csv ? fmt::format("{},", point) : fmt::format("{{\"point\":{},", point);
}

}  // namespace strata
