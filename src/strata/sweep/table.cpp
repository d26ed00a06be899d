// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/table.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/sweep/read_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace strata {
namespace {

// Longest first: "bandwidth_bytes_per_s" without its unit is "bandwidth".
constexpr std::array<std::string_view, 5> column_units = {"_bytes_per_s", "_flop_per_s", "_bytes",
                                                          "_mm2", "_s"};

std::string_view without_unit(std::string_view name) {
  for (const std::string_view unit : column_units) {
    if (name.ends_with(unit)) return name.substr(0, name.size() - unit.size());
  }
  return name;
}

}  // namespace

const SweepColumn* SweepTable::find(std::string_view name) const {
  std::string wanted(name);
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  for (const SweepColumn& each : columns) {
    if (each.name == wanted) return &each;
  }
  const SweepColumn* found = nullptr;
  for (const SweepColumn& each : columns) {
    if (without_unit(each.name) != wanted) continue;
    if (found != nullptr) return nullptr;  // not clear
    found = &each;
  }
  return found;
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
  const SweepColumn* errors = find("error");
  return errors != nullptr && !errors->is_number && !errors->texts[row].empty();
}

SweepTable read_sweep_table(const std::filesystem::path& path) {
  try {
    std::error_code problem;
    if (!std::filesystem::exists(path, problem)) fail(ErrorKind::input, "no such file");
    if (std::filesystem::is_directory(path, problem)) fail(ErrorKind::input, "is a folder");
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
