// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/table.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/sweep/column_name.hpp"
#include "strata/sweep/read_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace strata {

void SweepColumn::refuse(std::size_t row, std::string_view expected) const {
  fail(ErrorKind::input, "row {}, column '{}': expected {}, got '{}'", row + 1, name, expected,
       is_number ? fmt::format("{}", numbers[row]) : texts[row]);
}

const SweepColumn* SweepTable::find(std::string_view name) const {
  const auto found = find_column_name(name, columns.size(), [&](std::size_t column) {
    return std::string_view(columns[column].name);
  });
  return found ? &columns[*found] : nullptr;
}

const SweepColumn& SweepTable::column(std::string_view name) const {
  if (const SweepColumn* found = find(name)) return *found;
  const std::vector<std::string> names = column_names();
  fail(ErrorKind::usage, "no column '{}'{}; columns are: {}", name, did_you_mean(name, names),
       fmt::join(names, ", "));
}

std::vector<std::string> SweepTable::column_names() const {
  std::vector<std::string> names;
  for (const SweepColumn& each : columns) names.push_back(each.name);
  return names;
}

bool SweepTable::is_failed(std::size_t row) const {
  const auto errors = std::find_if(columns.begin(), columns.end(), [](const SweepColumn& column) {
    return column.name == "error" && !column.is_number;
  });
  return errors != columns.end() && !errors->text(row).empty();
}

SweepTable read_sweep_table(const std::filesystem::path& path) {
  try {
    std::error_code problem;
    if (!std::filesystem::exists(path, problem)) fail(ErrorKind::input, "no such file");
    if (std::filesystem::is_directory(path, problem)) fail(ErrorKind::input, "is a folder");
    if (!std::filesystem::is_regular_file(path, problem))
      fail(ErrorKind::input, "expected a file, got a device or a pipe");
    std::ifstream file(path, std::ios::binary);
    if (!file) fail(ErrorKind::input, "cannot be read");
    char first[16] = {};
    file.read(first, sizeof first);
    const std::string_view begin(first, static_cast<std::size_t>(file.gcount()));
    file.clear();
    file.seekg(0);
    if (begin.starts_with("SQLite format 3")) return read_database_table(path);
    return begin.starts_with('{') ? read_json_lines_table(file) : read_csv_table(file);
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
}

}  // namespace strata
