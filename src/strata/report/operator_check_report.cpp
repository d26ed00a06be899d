// SPDX-License-Identifier: Apache-2.0
#include "strata/report/operator_check_report.hpp"

#include "strata/report/json_text.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace strata {
namespace {

constexpr int operator_check_schema_version = 1;

/// Position of a name in a list; it is added when it is new.
std::size_t place_in(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

std::string device_and_type(const CheckedCell& cell) {
  return fmt::format("{}\n{}", cell.device, name_of(cell.dtype));
}

}  // namespace

std::string to_text(std::span<const CheckedCell> cells, const TextStyle& style) {
  std::vector<std::string> titles, tests;
  for (const CheckedCell& cell : cells) {
    place_in(titles, device_and_type(cell));
    place_in(tests, cell.test);
  }
  std::vector<Column> columns = {{.title = "operator"}, {.title = "pass"}};
  for (const std::string& title : titles)
    columns.push_back({.title = title, .align = Align::right});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < cells.size();) {
    std::vector<std::string> row(2 + titles.size(), "–");
    row[0] = cells[i].op;
    row[1] = cells[i].pass;
    const CheckedCell& first = cells[i];
    for (; i < cells.size() && cells[i].op == first.op && cells[i].pass == first.pass; ++i) {
      row[2 + place_in(titles, device_and_type(cells[i]))] =
          fmt::format("[{}]", place_in(tests, cells[i].test) + 1);
    }
    table.add_row(std::move(row));
  }
  std::string text = table.to_text(style) + "\n";
  for (std::size_t i = 0; i < tests.size(); ++i)
    text += fmt::format("  [{}] {}\n", i + 1, tests[i]);
  return style.has_unicode ? text : to_ascii(text);
}

std::string to_json(std::span<const CheckedCell> cells, std::span<const TrainedNetwork> networks,
                    const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", operator_check_schema_version);
  text.add("kind", "operator_checks");
  text.add_list("networks", networks, [](const TrainedNetwork& one) {
    const bool has_run = one.reason.empty();
    return nlohmann::ordered_json{{"network", one.name},
                                  {"device", one.device},
                                  {"dtype", one.dtype},
                                  {"sizes", one.sizes},
                                  {"date", one.date},
                                  {"time_s", has_run ? number_or_null(one.time_s) : nullptr},
                                  {"loss_before", number_or_null(one.loss_before)},
                                  {"loss_after", number_or_null(one.loss_after)},
                                  {"steps", one.steps},
                                  {"layers", one.layers},
                                  {"layers_not_run", one.layers_not_run},
                                  {"reason", one.reason}};
  });
  text.add_list("cells", cells, [](const CheckedCell& cell) {
    return nlohmann::ordered_json{{"operator", cell.op},
                                  {"pass", cell.pass},
                                  {"device", cell.device},
                                  {"dtype", name_of(cell.dtype)},
                                  {"test", cell.test}};
  });
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

}  // namespace strata
