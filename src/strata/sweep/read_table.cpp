// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/read_table.hpp"

#include "strata/base/csv_cell.hpp"
#include "strata/base/error.hpp"
#include "strata/sweep/row_text.hpp"
#include "strata/sweep/typed_table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>

namespace strata {
namespace {

/// Hands out whole lines; one without its end was cut off and is left out.
class WholeLines {
 public:
  explicit WholeLines(std::istream& stream) : stream_(stream) {}

  bool next(std::string& line) {
    if (!std::getline(stream_, line) || stream_.eof()) return false;
    ++number_;
    if (line.size() > longest_row_bytes) fail(ErrorKind::input, "line {} is too long", number_);
    if (line.ends_with('\r')) line.pop_back();
    return true;
  }
  std::size_t number() const { return number_; }

 private:
  std::istream& stream_;
  std::size_t number_ = 0;
};

/// "strata_sweep 1 identity 0a1b… version 0.1.0 points 489 axes 3": the word behind another.
std::string word_behind(std::string_view line, std::string_view name) {
  const std::string before = fmt::format(" {} ", name);
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = line.substr(at + before.size());
  return std::string(rest.substr(0, rest.find(' ')));
}

// Without an identity, as from standard output: axes stand between "point" and the results.
std::size_t axes_before_results(const std::vector<std::string>& names) {
  const auto results = std::find(names.begin(), names.end(), "samples");
  const bool has_axes = results != names.end() && results != names.begin();
  return has_axes ? static_cast<std::size_t>(results - names.begin()) - 1 : 0;
}

std::vector<std::string> cells_of_line(const WholeLines& lines, const std::string& line) {
  try {
    return csv_cells(line);
  } catch (Error& error) {
    error.add_context(fmt::format("line {}", lines.number()));
    throw;
  }
}

/// The heading of a CSV file.
struct CsvHead {
  std::vector<std::string> names;
  std::string identity;
  bool has_identity_column = false;  ///< the last, which is no result
  bool has_identity_cells = false;   ///< and says in each row which sweep it is of
  std::size_t axes = 0;
};

CsvHead read_csv_head(WholeLines& lines) {
  std::string line;
  bool has_line = lines.next(line);
  std::string identity;
  if (has_line && line.starts_with('#')) {  // as earlier versions wrote it
    identity = line;
    has_line = lines.next(line);
  }
  if (has_line && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // a spreadsheet saved it
  if (!has_line || !line.starts_with("point,"))
    fail(ErrorKind::input, "is no result of a sweep: it has no column 'point' at its beginning");
  CsvHead head;
  for (const std::string& name : cells_of_line(lines, line)) head.names.push_back(csv_text(name));
  head.has_identity_cells = head.names.back() == identity_column;
  head.has_identity_column = head.names.back().starts_with(identity_column);
  if (head.has_identity_column) {
    identity = head.names.back();
    head.names.pop_back();
  }
  head.identity = word_behind(identity, "identity");
  head.axes = axes_before_results(head.names);
  const std::string count = word_behind(identity, "axes");
  if (!count.empty()) std::from_chars(count.data(), count.data() + count.size(), head.axes);
  return head;
}

void take_identity(CsvHead& head, const std::string& cell) {
  const auto identity = read_identity_cell(csv_text(cell));
  if (!identity) return;
  head.identity = identity->hash;
  head.axes = identity->axes;
}

}  // namespace

SweepTable read_csv_table(std::istream& stream) {
  WholeLines lines(stream);
  CsvHead head = read_csv_head(lines);
  const std::size_t expected = head.names.size() + (head.has_identity_column ? 1 : 0);
  TypedTable table;
  const auto begin_table = [&] {
    table.table().identity = head.identity;
    for (std::size_t i = 0; i < head.names.size(); ++i)
      table.add_column(head.names[i], i > 0 && i <= head.axes);
  };
  std::string line;
  bool is_begun = false;
  while (lines.next(line)) {
    const std::vector<std::string> cells = cells_of_line(lines, line);
    if (cells.size() != expected) {
      fail(ErrorKind::input, "line {} has {} cells, the heading {}", lines.number(), cells.size(),
           expected);
    }
    if (!is_begun) {
      if (head.has_identity_cells) take_identity(head, cells.back());
      begin_table();
      is_begun = true;
    }
    table.begin_row(fmt::format("line {}", lines.number()));
    for (std::size_t i = 0; i < table.columns(); ++i) table.add_untyped(i, csv_text(cells[i]));
  }
  if (!is_begun) begin_table();
  return std::move(table).finish();
}

SweepTable read_json_lines_table(std::istream& stream) {
  WholeLines lines(stream);
  TypedTable table;
  std::map<std::string, std::size_t> place_of;
  std::vector<std::string> axes;
  std::string line;
  while (lines.next(line)) {
    const auto row = nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!row.is_object()) fail(ErrorKind::input, "line {} is no JSON object", lines.number());
    if (row.contains("strata_sweep")) {
      const auto identity = row.find("identity");
      if (identity != row.end() && identity->is_string())
        table.table().identity = identity->get<std::string>();
      for (const auto& axis : row.value("axes", nlohmann::ordered_json())) {
        if (axis.is_string()) axes.push_back(axis.get<std::string>());
      }
      continue;
    }
    table.begin_row(fmt::format("line {}", lines.number()));
    for (const auto& [name, cell] : row.items()) {
      if (!cell.is_number() && !cell.is_string())
        fail(ErrorKind::input, "line {}: '{}' is neither number nor text", lines.number(), name);
      const auto [at, is_new] = place_of.try_emplace(name, table.columns());
      if (is_new) table.add_column(name, std::find(axes.begin(), axes.end(), name) != axes.end());
      if (cell.is_number()) {
        table.add_number(at->second, cell.get<double>());
      } else {
        table.add_text(at->second, cell.get<std::string>());
      }
    }
  }
  SweepTable read = std::move(table).finish();
  if (read.find("point") == nullptr && read.row_count > 0)
    fail(ErrorKind::input, "is no result of a sweep: it has no column 'point'");
  return read;
}

}  // namespace strata
