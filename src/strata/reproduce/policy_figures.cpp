// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/csv_rows.hpp"
#include "strata/reproduce/figure_parts.hpp"
#include "strata/reproduce/figures.hpp"

#include <utility>

namespace strata {
namespace {

using chart::Axis;
using chart::Chart;
using chart::Quantity;
using chart::Stroke;
using Results = std::vector<NetworkResults>;

Axis gain_axis(std::string title) {
  return {.title = std::move(title), .quantity = Quantity::share, .from_zero = true};
}

Chart prefetch_panel(const NetworkResults& network) {
  const auto against_naive = [](ThesisTotals PolicyPoint::*which) {
    return [which](const PolicyPoint& row) {
      return (row.*which).time_s / row.naive_prefetch.time_s - 1;
    };
  };
  Chart panel{.x = capacity_axis(), .y = gain_axis("time against naive prefetch")};
  panel.series = {
      in_color(curve("no prefetch", network.policies, against_naive(&PolicyPoint::no_prefetch)), 6,
               Stroke::dotted),
      in_color(curve("latency-aware list, its Listing 1", network.policies,
                     against_naive(&PolicyPoint::printed_prefetch)),
               0),
      in_color(curve("latency-aware list, its prose", network.policies,
                     against_naive(&PolicyPoint::listing_prefetch)),
               2),
      in_color(curve("soonest need first", network.policies,
                     against_naive(&PolicyPoint::soonest_prefetch)),
               1, Stroke::dashed)};
  return panel;
}

Chart offload_panel(const NetworkResults& network) {
  Chart panel{.x = capacity_axis(), .y = gain_axis("time against on-demand offload")};
  panel.series = {curve("look-ahead", network.policies, [](const PolicyPoint& row) {
    return row.look_ahead_offload.time_s / row.on_demand_offload.time_s - 1;
  })};
  return panel;
}

std::string policy_rows(const Results& results, bool of_prefetch) {
  using Named = std::pair<std::string_view, ThesisTotals PolicyPoint::*>;
  const std::vector<Named> policies =
      of_prefetch ? std::vector<Named>{{"none", &PolicyPoint::no_prefetch},
                                       {"next-layer", &PolicyPoint::naive_prefetch},
                                       {"listing", &PolicyPoint::listing_prefetch},
                                       {"listing-printed", &PolicyPoint::printed_prefetch},
                                       {"soonest", &PolicyPoint::soonest_prefetch}}
                  : std::vector<Named>{{"on-demand", &PolicyPoint::on_demand_offload},
                                       {"look-ahead", &PolicyPoint::look_ahead_offload}};
  CsvRows rows(fmt::format(
      "network,capacity_bytes,flop_per_s,bytes_per_s,{},time_s,traffic_in_bytes,traffic_out_bytes",
      of_prefetch ? "prefetch" : "offload"));
  for (const NetworkResults& network : results) {
    for (const PolicyPoint& row : network.policies) {
      for (const auto& [name, which] : policies) {
        const ThesisTotals& totals = row.*which;
        rows.add(network.network.model, row.capacity_mib << 20, thesis_flop_per_s,
                 thesis_bytes_per_s, name, totals.time_s, totals.in_bytes, totals.out_bytes);
      }
    }
  }
  return std::move(rows).take();
}

}  // namespace

std::vector<Figure> policy_figures(const std::vector<NetworkResults>& results) {
  return {{.name = "prefetch-gain",
           .csv = policy_rows(results, true),
           .grid = {.title = "Prefetch policies against naive prefetch",
                    .subtitle = fmt::format("{}; naive: the next layer's data only", base_rates),
                    .panels = panels_of(results, prefetch_panel)}},
          {.name = "offload-gain",
           .csv = policy_rows(results, false),
           .grid = {.title = "Look-ahead against on-demand offload",
                    .subtitle = fmt::format("{}; below 0 look-ahead is faster", base_rates),
                    .panels = panels_of(results, offload_panel)}}};
}

}  // namespace strata
