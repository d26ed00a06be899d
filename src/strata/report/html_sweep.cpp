// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/report/compress.hpp"
#include "strata/report/html_page.hpp"

#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace strata {
namespace {

using SweepPageJson = nlohmann::ordered_json;

constexpr std::size_t most_page_cells = 20'000'000;  // about 100 MB of JSON before it is compressed

constexpr std::size_t most_plain_points = 5000;  // beyond, a browser would take long to read them
constexpr std::size_t most_values = 65'536;

SweepPageJson cell_json(double number) {
  if (!std::isfinite(number)) return nullptr;  // the point failed
  const bool is_whole = std::floor(number) == number && std::fabs(number) < 9e15;
  return is_whole ? SweepPageJson(static_cast<std::int64_t>(number)) : SweepPageJson(number);
}

SweepPageJson cells_json(const SweepColumn& column) {
  if (!column.is_number) return column.texts;
  SweepPageJson cells = SweepPageJson::array();
  for (const double number : column.numbers) cells.push_back(cell_json(number));
  return cells;
}

/// The lowest byte first, as browsers have them.
template <class Unsigned>
void append_bytes(std::string& bytes, Unsigned value) {
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i)
    bytes += static_cast<char>((value >> (8 * i)) & 0xffU);
}

/// Each value once, and per point which of them it is; false: there are too many to gain by it.
template <class Value>
bool add_values(const std::vector<Value>& cells, SweepPageJson& json) {
  std::map<Value, std::uint16_t> places;
  SweepPageJson values = SweepPageJson::array();
  std::string index;
  for (const Value& cell : cells) {
    const auto [at, is_new] = places.try_emplace(cell, static_cast<std::uint16_t>(places.size()));
    if (is_new) {
      if (places.size() > most_values || places.size() > cells.size() / 2) return false;
      if constexpr (std::is_same_v<Value, std::string>) {
        values.push_back(cell);
      } else {
        values.push_back(cell_json(std::bit_cast<double>(cell)));
      }
    }
    append_bytes(index, at->second);
  }
  json["values"] = std::move(values);
  if (places.size() > 1) json["index"] = base64(index);
  return true;
}

/// A long column: a browser reads a text at once, and a hundred thousand numbers one by one.
void add_packed(const SweepColumn& column, SweepPageJson& json) {
  if (!column.is_number) {
    if (!add_values(column.texts, json)) json["cells"] = column.texts;
    return;
  }
  std::vector<std::uint64_t> bits;  // failed points are no numbers, which a map cannot order
  for (const double number : column.numbers) bits.push_back(std::bit_cast<std::uint64_t>(number));
  if (add_values(bits, json)) return;
  std::string bytes;
  for (const std::uint64_t number : bits) append_bytes(bytes, number);
  json["numbers"] = base64(bytes);
}

}  // namespace

std::string sweep_json(const SweepTable& table, const Provenance& provenance) {
  if (table.row_count * table.columns.size() > most_page_cells) {
    fail(ErrorKind::usage, "{} points are more than a page can hold; take fewer with --where",
         format_exact(static_cast<std::int64_t>(table.row_count)));
  }
  const bool is_packed = has_report_page() && table.row_count > most_plain_points;
  SweepPageJson columns = SweepPageJson::array();
  for (const SweepColumn& column : table.columns) {
    SweepPageJson json = {
        {"name", column.name}, {"is_number", column.is_number}, {"is_axis", column.is_axis}};
    if (is_packed) {
      add_packed(column, json);
    } else {
      json["cells"] = cells_json(column);
    }
    columns.push_back(std::move(json));
  }
  const SweepPageJson json = {{"schema_version", 1},           {"kind", "sweep"},
                              {"identity", table.identity},    {"points", table.row_count},
                              {"columns", std::move(columns)}, {"provenance", to_json(provenance)}};
  return json.dump(-1, ' ', false, SweepPageJson::error_handler_t::replace);
}

}  // namespace strata
