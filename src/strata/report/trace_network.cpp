// SPDX-License-Identifier: Apache-2.0
#include "strata/report/trace_network.hpp"

#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/table.hpp"
#include "strata/report/trace_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr std::size_t most_names = 6;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_names); ++i)
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  if (names.size() > most_names) text += fmt::format(" and {} more", names.size() - most_names);
  return text;
}

std::string found_text(const LayerMatch& match) {
  std::string text;
  const auto add = [&](std::int64_t calls, std::string_view how) {
    if (calls == 0) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_exact(calls), how);
  };
  add(match.by_parameter, "by the names of weights");
  add(match.by_name, "by the names of layers");
  add(match.by_order, "by their order, as their names do not fit");
  const std::int64_t left = match.calls - match.by_parameter - match.by_name - match.by_order;
  add(left, "not found");
  return text;
}

std::string seconds_of(std::int64_t ns) { return format_time(1e-9 * static_cast<double>(ns)); }

}  // namespace

std::string to_text(const TraceNetwork& network) {
  const LayerMatch& match = network.match;
  std::string text = fmt::format("  network   {}", printable(network.title));
  for (const Dimension& dimension : network.dims)
    text += fmt::format(", {} {}", printable(dimension.name), format_exact(dimension.value));
  text += fmt::format(", {}, {}\n", network.dtype,
                      network.is_inference      ? "inference"
                      : network.is_forward_only ? "forward pass of training (dropout runs)"
                                                : "training");
  const std::int64_t found =
      match.nodes - static_cast<std::int64_t>(match.nodes_without_kernel.size());
  const double share = match.time_ns > 0 ? 100 * static_cast<double>(match.matched_ns) /
                                               static_cast<double>(match.time_ns)
                                         : 0;
  text += fmt::format(
      "  layers    {} of {} have kernels; {} of {} kernels of a step, {:.1f} % of its time, have a "
      "layer\n",
      format_exact(found), format_exact(match.nodes), format_exact(match.matched_kernels),
      format_exact(match.kernels), share);
  if (match.operators > 0) {
    text +=
        fmt::format("            {} of {} operators of the framework by what they are, in order\n",
                    format_exact(match.by_operator), format_exact(match.operators));
    text += match.has_operator_sizes
                ? "            sizes of their inputs agree with the network's\n"
                : "            sizes of inputs are not recorded, so the batch is as given: record "
                  "them with record_shapes=True\n";
  } else if (match.by_kernel > 0) {
    text +=
        "            by the order of kernels and their classes alone: names are not recorded, and "
        "the "
        "batch is as given\n"
        "            surer: strata_torch.name_layers(model), or torch.profiler with with_modules, "
        "record_shapes\n";
  } else if (match.calls > 0)
    text += fmt::format("            {} calls of modules: {}\n", format_exact(match.calls),
                        found_text(match));
  if (match.between_calls > 0)
    text += fmt::format("            {} kernels between calls, by what the network has there\n",
                        format_exact(match.between_calls));
  if (match.collectives > 0)
    text +=
        fmt::format("            {} kernels of collectives ({}) are communication, of no layer\n",
                    format_exact(match.collectives), seconds_of(match.collectives_ns));
  if (!match.reason.empty())
    text += fmt::format("            not by order: {}\n", printable(match.reason));
  if (!match.operator_reason.empty() && match.operators == 0 && match.by_kernel == 0)
    text += fmt::format("            not by operators: {}\n", printable(match.operator_reason));
  if (found == 0)
    text +=
        "            names tell layers: strata_torch.name_layers(model) before strata capture, or "
        "torch.profiler.profile(\n"
        "            with_modules=True, with_stack=True, record_shapes=True); --model must be the "
        "network that ran\n";
  if (!match.nodes_without_kernel.empty())
    text += fmt::format("  no kernel {}\n", listed(match.nodes_without_kernel));
  if (!match.unmatched.empty()) {
    std::vector<std::string> names;
    for (const UnmatchedWork& work : match.unmatched) {
      names.push_back(fmt::format("{} {} ({}, {})", work.layer.empty() ? "in no range" : work.layer,
                                  work.pass, format_exact(work.kernels), seconds_of(work.time_ns)));
    }
    text += fmt::format("  no layer  {}\n", listed(names));
  }
  return text;
}

std::string network_layers_text(const Profile& profile, std::size_t top, const TextStyle& style) {
  std::vector<const ProfileRow*> rows;
  for (const ProfileRow& row : profile.rows) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const ProfileRow* a, const ProfileRow* b) {
    return a->totals.time_s > b->totals.time_s;
  });
  const double whole_s = total_of(profile).time_s;
  Table table({{.title = "layer of a step", .least_width = 24},
               {.title = "pass"},
               {.title = "operator", .leaves = 1},
               {.title = "kernels", .align = Align::right},
               {.title = "time", .align = Align::right},
               {.title = "share", .align = Align::right},
               {.title = "FLOP", .align = Align::right, .leaves = 3},
               {.title = "FLOP/s", .align = Align::right},
               {.title = "bytes/s", .align = Align::right, .leaves = 2}});
  const std::size_t shown = std::min(top, rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ProfileRow& row = *rows[i];
    const Totals& totals = row.totals;
    const double time_s = totals.time_s;
    const double flop = static_cast<double>(totals.flop);
    const double bytes = static_cast<double>(totals.traffic_bytes());
    const double share = whole_s > 0 ? 100 * time_s / whole_s : 0;
    table.add_row({printable(row.layer), row.pass, row.op, format_exact(totals.launches),
                   format_time(time_s), fmt::format("{:.{}f} %", share, share < 9.95 ? 1 : 0),
                   totals.flop > 0 ? format_count(flop) : "",
                   totals.flop > 0 && time_s > 0 ? format_flop_per_s(flop / time_s) : "",
                   bytes > 0 && time_s > 0 ? format_bytes_per_s(bytes / time_s) : ""});
  }
  std::string text = table.to_text(style);
  if (rows.size() > shown) text += fmt::format("  {} more\n", rows.size() - shown);
  return text + '\n';
}

}  // namespace strata
