// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/report/html_page.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace strata {
namespace {

using SweepPageJson = nlohmann::ordered_json;

constexpr std::size_t most_page_cells = 20'000'000;  // about 100 MB of JSON before it is compressed

SweepPageJson cells_json(const SweepColumn& column) {
  if (!column.is_number) return column.texts;
  SweepPageJson cells = SweepPageJson::array();
  for (const double number : column.numbers) {
    const bool is_whole = std::floor(number) == number && std::fabs(number) < 9e15;
    if (!std::isfinite(number)) {
      cells.push_back(nullptr);  // the point failed
    } else if (is_whole) {
      cells.push_back(static_cast<std::int64_t>(number));
    } else {
      cells.push_back(number);
    }
  }
  return cells;
}

}  // namespace

std::string sweep_json(const SweepTable& table, const Provenance& provenance) {
  if (table.row_count * table.columns.size() > most_page_cells) {
    fail(ErrorKind::usage, "{} points are more than a page can hold; take fewer with --where",
         format_exact(static_cast<std::int64_t>(table.row_count)));
  }
  SweepPageJson columns = SweepPageJson::array();
  for (const SweepColumn& column : table.columns) {
    columns.push_back({{"name", column.name},
                       {"is_number", column.is_number},
                       {"is_axis", column.is_axis},
                       {"cells", cells_json(column)}});
  }
  const SweepPageJson json = {{"schema_version", 1},           {"kind", "sweep"},
                              {"identity", table.identity},    {"points", table.row_count},
                              {"columns", std::move(columns)}, {"provenance", to_json(provenance)}};
  return json.dump(-1, ' ', false, SweepPageJson::error_handler_t::replace);
}

}  // namespace strata
