// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/column_name.hpp"

#include <algorithm>
#include <string>

namespace strata {
namespace {

constexpr std::string_view unit_endings[] = {"_s", "_bytes", "_bytes_per_s", "_flop_per_s", "_mm2"};

std::string with_underscores(std::string_view name) {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '-', '_');
  return plain;
}

bool is_without_unit(std::string_view plain, std::string_view column) {
  return column.starts_with(plain) &&
         std::any_of(std::begin(unit_endings), std::end(unit_endings),
                     [&](std::string_view unit) { return column.substr(plain.size()) == unit; });
}

}  // namespace

std::optional<std::size_t> find_column_name(
    std::string_view name, std::size_t count,
    const std::function<std::string_view(std::size_t column)>& name_of) {
  for (std::size_t column = 0; column < count; ++column) {
    if (name_of(column) == name) return column;
  }
  const std::string plain = with_underscores(name);
  std::optional<std::size_t> found;
  bool is_only_one = true;
  for (std::size_t column = 0; column < count; ++column) {
    const std::string other = with_underscores(name_of(column));
    if (other == plain) return column;
    if (!is_without_unit(plain, other)) continue;
    is_only_one = !found;
    found = column;
  }
  return is_only_one ? found : std::nullopt;
}

}  // namespace strata
