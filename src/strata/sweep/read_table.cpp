// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/read_table.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
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

std::vector<std::string> csv_cells(std::string_view line, std::size_t number) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (is_quoted) {
      const bool is_doubled = c == '"' && i + 1 < line.size() && line[i + 1] == '"';
      if (c != '"' || is_doubled) cells.back() += c;
      if (is_doubled) ++i;
      if (c == '"' && !is_doubled) is_quoted = false;
    } else if (c == ',') {
      cells.emplace_back();
    } else if (c == '"' && cells.back().empty()) {
      is_quoted = true;
    } else {
      cells.back() += c;
    }
  }
  if (is_quoted) fail(ErrorKind::input, "line {}: a quote without its end", number);
  return cells;
}

std::optional<double> number_in(std::string_view cell) {
  double number = 0;
  const auto [rest, status] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (status != std::errc() || rest != cell.data() + cell.size()) return std::nullopt;
  return number;
}

void expect_room(std::size_t rows, std::size_t columns) {
  if (rows * columns > most_cells) fail(ErrorKind::input, "too many points to be read at once");
}

// Columns arrive as texts; those that hold only numbers become numbers.
void make_numbers(SweepColumn& column) {
  std::vector<double> numbers;
  bool has_any = false;
  for (const std::string& text : column.texts) {
    const std::optional<double> number = text.empty() ? no_number : number_in(text);
    if (!number) return;
    has_any = has_any || !text.empty();
    numbers.push_back(*number);
  }
  if (!has_any && column.name == "error") return;
  column.is_number = true;
  column.numbers = std::move(numbers);
  column.texts = {};
}

/// "# strata_sweep 1 identity 0a1b… version 0.1.0 points 489 axes 3": the word behind another.
std::string word_behind(std::string_view line, std::string_view name) {
  const std::string before = fmt::format(" {} ", name);
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = line.substr(at + before.size());
  return std::string(rest.substr(0, rest.find(' ')));
}

// Without the first line, as from standard output: axes stand between "point" and the results.
std::size_t axes_before_results(const SweepTable& table) {
  std::size_t count = 0;
  for (const SweepColumn& column : table.columns) {
    if (column.name == "samples") return count > 0 ? count - 1 : 0;
    ++count;
  }
  return 0;
}

}  // namespace

SweepTable read_csv_table(std::istream& stream) {
  WholeLines lines(stream);
  SweepTable table;
  std::string line;
  std::string axis_count;
  bool has_line = lines.next(line);
  if (has_line && line.starts_with('#')) {
    table.identity = word_behind(line, "identity");
    axis_count = word_behind(line, "axes");
    has_line = lines.next(line);
  }
  if (!has_line || !line.starts_with("point,"))
    fail(ErrorKind::input, "is no result of a sweep: it has no column 'point' at its beginning");
  for (std::string& name : csv_cells(line, lines.number()))
    table.columns.push_back({.name = std::move(name), .is_number = false});
  while (lines.next(line)) {
    std::vector<std::string> cells = csv_cells(line, lines.number());
    if (cells.size() != table.columns.size()) {
      fail(ErrorKind::input, "line {} has {} cells, the heading {}", lines.number(), cells.size(),
           table.columns.size());
    }
    for (std::size_t i = 0; i < cells.size(); ++i)
      table.columns[i].texts.push_back(std::move(cells[i]));
    expect_room(++table.row_count, cells.size());
  }
  for (SweepColumn& column : table.columns) make_numbers(column);
  const auto axes = axis_count.empty()
                        ? axes_before_results(table)
                        : static_cast<std::size_t>(number_in(axis_count).value_or(0));
  for (std::size_t i = 1; i <= axes && i < table.columns.size(); ++i)
    table.columns[i].is_axis = true;
  return table;
}

SweepTable read_json_lines_table(std::istream& stream) {
  WholeLines lines(stream);
  SweepTable table;
  std::map<std::string, std::size_t> place_of;
  std::vector<std::string> axes;
  std::string line;
  while (lines.next(line)) {
    const auto row = nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!row.is_object()) fail(ErrorKind::input, "line {} is no JSON object", lines.number());
    if (row.contains("strata_sweep")) {
      table.identity = row.value("identity", "");
      for (const auto& axis : row.value("axes", nlohmann::ordered_json::array())) {
        if (axis.is_string()) axes.push_back(axis.get<std::string>());
      }
      continue;
    }
    for (const auto& [name, cell] : row.items()) {
      if (!cell.is_number() && !cell.is_string())
        fail(ErrorKind::input, "line {}: '{}' is neither number nor text", lines.number(), name);
      const auto [at, is_new] = place_of.try_emplace(name, table.columns.size());
      if (is_new) {
        const bool is_axis = std::find(axes.begin(), axes.end(), name) != axes.end();
        table.columns.push_back({name, cell.is_number(), is_axis, {}, {}});
      }
      SweepColumn& column = table.columns[at->second];
      if (column.is_number != cell.is_number())
        fail(ErrorKind::input, "line {}: '{}' is a number in one line and a text in another",
             lines.number(), name);
      if (column.is_number) {
        column.numbers.resize(table.row_count, no_number);
        column.numbers.push_back(cell.get<double>());
      } else {
        column.texts.resize(table.row_count);
        column.texts.push_back(cell.get<std::string>());
      }
    }
    expect_room(++table.row_count, table.columns.size());
  }
  if (table.find("point") == nullptr && table.row_count > 0)
    fail(ErrorKind::input, "is no result of a sweep: it has no column 'point'");
  for (SweepColumn& column : table.columns) {
    if (column.is_number) column.numbers.resize(table.row_count, no_number);
    if (!column.is_number) column.texts.resize(table.row_count);
  }
  return table;
}

}  // namespace strata
