// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/sweep_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace strata {
namespace {

using Format = std::string (*)(double number, int digits);

struct UnitFormat {
  std::string_view ending;
  Format format;
};

// The longest ending first.
constexpr UnitFormat unit_formats[] = {{"_bytes_per_s", format_bytes_per_s},
                                       {"_flop_per_s", format_flop_per_s},
                                       {"_bytes", format_bytes}};
// Endings of names that are no times although they end so.
constexpr std::string_view rate_ending = "_per_s";

std::string plain_number(double number) {
  const bool is_whole = std::floor(number) == number && std::fabs(number) < 1e15;
  return is_whole ? format_exact(static_cast<std::int64_t>(number)) : fmt::format("{:.4g}", number);
}

}  // namespace

std::string readable_number(std::string_view column, double number) {
  if (std::isnan(number)) return "";
  if (std::isinf(number)) return number < 0 ? "-∞" : "∞";
  if (column.ends_with("_bytes") && is_capacity_name(column)) return format_capacity(number, 4);
  for (const UnitFormat& unit : unit_formats) {
    if (column.ends_with(unit.ending)) return unit.format(number, 4);
  }
  if (column.ends_with(rate_ending)) return format_count(number, 4);
  if (column.ends_with("_s")) return format_time(number, 4);
  if (column == "fits") return number != 0 ? "yes" : "no";
  if (column == "utilisation") return fmt::format("{:.1f} %", 100 * number);
  return plain_number(number);
}

std::string readable_cell(const SweepColumn& column, std::size_t row) {
  return column.is_number ? readable_number(column.name, column.number(row))
                          : printable(column.text(row));
}

std::string readable_heading(std::string_view column) {
  for (const UnitFormat& unit : unit_formats) {
    if (column.ends_with(unit.ending))
      return std::string(column.substr(0, column.size() - unit.ending.size()));
  }
  if (column.ends_with(rate_ending))
    return fmt::format("{}/s", column.substr(0, column.size() - rate_ending.size()));
  if (column.ends_with("_mm2")) return fmt::format("{}\nmm²", column.substr(0, column.size() - 4));
  if (column.ends_with("_s")) return std::string(column.substr(0, column.size() - 2));
  return std::string(column);
}

}  // namespace strata
