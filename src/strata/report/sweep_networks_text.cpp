// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/profile/scope_title.hpp"
#include "strata/report/counts_text.hpp"
#include "strata/report/sweep_answers.hpp"
#include "strata/report/sweep_text.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

constexpr std::string_view unit_of_resource(std::string_view resource) {
  if (resource == "capacity") return "capacity_bytes";
  if (resource == "bandwidth") return "bandwidth_bytes_per_s";
  if (resource == "throughput") return "throughput_flop_per_s";
  return resource;
}

// "+9.1 %"; what rounds to nothing has no sign.
std::string signed_percent(double share) {
  const double rounded = std::round(1000 * share) / 10;
  if (rounded == 0) return "0 %";
  return fmt::format("{}{:.1f} %", rounded < 0 ? "−" : "+", std::fabs(rounded));
}

std::string sensitivity_table(std::span<const NetworkAnswers> networks, const TextStyle& style) {
  Table table({{.title = "network", .least_width = 8},
               {.title = "resource"},
               {.title = "from", .align = Align::right, .leaves = 1},
               {.title = "to", .align = Align::right},
               {.title = "time", .align = Align::right},
               {.title = "samples/s", .align = Align::right},
               {.title = "", .least_width = 20, .leaves = 2}});
  for (const NetworkAnswers& network : networks) {
    if (!network.sensitivity) continue;
    table.add_row({printable(network.network), "(now)", "", "",
                   format_time(network.sensitivity->speed.time_s), "", ""});
    for (const Sensitivity& row : network.sensitivity->resources) {
      const std::string_view unit = unit_of_resource(row.resource);
      const bool has_answer = row.error.empty();
      table.add_row({printable(network.network), std::string(row.resource),
                     readable_number(unit, row.from), readable_number(unit, row.to),
                     has_answer ? format_time(row.speed.time_s) : "",
                     has_answer ? signed_percent(row.gained) : "", printable(row.error)});
    }
  }
  return table.to_text(style);
}

std::string reuse_table(std::span<const NetworkAnswers> networks, const TextStyle& style) {
  Table table({{.title = "network", .least_width = 8},
               {.title = "kept on chip"},
               {.title = "reused", .align = Align::right},
               {.title = "half", .align = Align::right},
               {.title = "90 %", .align = Align::right},
               {.title = "all", .align = Align::right}});
  for (const NetworkAnswers& network : networks) {
    for (const ScopeReuse& scope : network.reuse) {
      if (scope.offered_bytes == 0) continue;
      table.add_row({printable(network.network), std::string(title_of_scope(scope.scope)),
                     bytes_text(scope.offered_bytes), capacity_text(scope.capacity_50_bytes),
                     capacity_text(scope.capacity_90_bytes),
                     capacity_text(scope.capacity_100_bytes)});
    }
  }
  return table.to_text(style);
}

}  // namespace

std::string to_text(std::span<const NetworkAnswers> networks, const TextStyle& style) {
  std::string text;
  const bool has_reuse = std::any_of(networks.begin(), networks.end(),
                                     [](const auto& of) { return !of.reuse.empty(); });
  const bool has_sensitivity =
      std::any_of(networks.begin(), networks.end(), [](const auto& of) { return of.sensitivity; });
  const bool is_expected = std::any_of(networks.begin(), networks.end(), [](const auto& of) {
    return of.sensitivity && of.sensitivity->is_expected;
  });
  if (has_reuse)
    text += bold("On-chip capacity that each kind of reuse needs", style) + "\n" +
            reuse_table(networks, style);
  if (has_sensitivity)
    text += (text.empty() ? "" : "\n") +
            bold("What 10 % more of each resource buys at the first point", style) +
            (is_expected ? " (expected times)\n" : "\n") + sensitivity_table(networks, style);
  return style.has_unicode ? text : to_ascii(text);
}

}  // namespace strata
