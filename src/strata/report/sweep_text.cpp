// SPDX-License-Identifier: Apache-2.0
#include "strata/report/sweep_text.hpp"

#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/table.hpp"
#include "strata/sweep/answers_table.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

namespace strata {
namespace {

constexpr std::size_t most_networks = 6;  // what fits a screen
constexpr std::size_t most_capacities = 10;
constexpr std::size_t most_machines_shown = 12;

/// The rows of one network that have a result and fit their device, slowest first.
struct NetworkRows {
  std::string name;
  std::vector<std::size_t> rows;
  std::size_t out_of_memory = 0;
};

// The name of a file without its folders.
std::string short_name(std::string_view model) {
  return printable(model.substr(model.rfind('/') + 1));
}

std::vector<NetworkRows> networks_of(const SweepTable& table) {
  const SweepColumn& models = table.column("model");
  const SweepColumn& speeds = table.column("samples_per_s");
  const RowJudge judge(table);
  std::vector<NetworkRows> networks;
  for (std::size_t row = 0; row < table.row_count; ++row) {
    if (table.is_failed(row)) continue;
    if (networks.empty() || networks.back().name != models.text(row))
      networks.push_back({models.text(row), {}});
    if (judge.is_out_of_memory(row))
      ++networks.back().out_of_memory;
    else
      networks.back().rows.push_back(row);
  }
  for (NetworkRows& network : networks) {
    std::stable_sort(network.rows.begin(), network.rows.end(), [&](std::size_t a, std::size_t b) {
      return speeds.number(a) < speeds.number(b);
    });
  }
  return networks;
}

bool varies(const SweepColumn& column) {
  if (column.is_number) {
    return std::any_of(column.numbers.begin(), column.numbers.end(),
                       [&](double number) { return number != column.numbers.front(); });
  }
  return std::any_of(column.texts.begin(), column.texts.end(),
                     [&](const std::string& text) { return text != column.texts.front(); });
}

/// The fastest point of every machine but that of the fastest of all, the faster ones first.
std::vector<std::size_t> best_of_other_machines(const SweepTable& table,
                                                const NetworkRows& network) {
  const SweepColumn* machines = table.find("machine");
  if (machines == nullptr || machines->is_number) return {};
  std::set<std::string> known = {machines->text(network.rows.back())};
  std::vector<std::size_t> best;
  for (auto row = network.rows.rbegin(); row != network.rows.rend(); ++row) {
    const bool is_slowest = *row == network.rows.front();
    if (!known.insert(machines->text(*row)).second || is_slowest) continue;
    best.push_back(*row);
    if (best.size() == most_machines_shown) break;
  }
  return best;
}

std::string extremes(const SweepTable& table, const std::vector<NetworkRows>& networks,
                     const TextStyle& style) {
  std::vector<const SweepColumn*> shown;
  for (const SweepColumn& column : table.columns) {
    if (column.is_axis && column.name != "model" && varies(column)) shown.push_back(&column);
  }
  const std::vector<std::string_view> results =
      has_expected_times(table)
          ? std::vector<std::string_view>{"expected_s",    "expected_low_s", "expected_high_s",
                                          "samples_per_s", "memory_bytes",   "time_s"}
          : std::vector<std::string_view>{"time_s", "samples_per_s", "utilisation"};
  for (const std::string_view name : results) {
    const SweepColumn& column = table.column(name);
    const bool has_any = std::any_of(column.numbers.begin(), column.numbers.end(),
                                     [](double number) { return !std::isnan(number); });
    if (has_any) shown.push_back(&column);  // a sweep without limits has no time_s
  }
  if (const SweepColumn* strategy = table.find("strategy")) shown.push_back(strategy);
  std::vector<Column> columns = {{"network", Align::left, 8}, {""}};
  for (const SweepColumn* column : shown) {
    std::string title = column->name.substr(0, column->name.find("_bytes"));
    title = title.substr(0, title.find("_flop_per_s"));
    if (title == "time_s") title = has_expected_times(table) ? "limit" : "time";
    if (title == "expected_s") title = "expected";
    if (title == "expected_low_s") title = "from";
    if (title == "expected_high_s") title = "to";
    if (title == "samples_per_s") title = "samples/s";
    const std::size_t least_width = title == "strategy" ? 16 : 0;
    columns.push_back(
        {std::move(title), least_width > 0 ? Align::left : Align::right, least_width});
  }
  Table text(std::move(columns));
  for (std::size_t i = 0; i < std::min(networks.size(), most_networks); ++i) {
    const NetworkRows& network = networks[i];
    const auto add = [&](std::string_view what, std::size_t row) {
      std::vector<std::string> cells = {short_name(network.name), std::string(what)};
      for (const SweepColumn* column : shown) cells.push_back(readable_cell(*column, row));
      text.add_row(std::move(cells));
    };
    if (network.rows.empty()) continue;
    add("fastest", network.rows.back());
    for (const std::size_t row : best_of_other_machines(table, network)) add("best", row);
    if (network.rows.size() > 1) add("slowest", network.rows.front());
  }
  return text.to_text(style);
}

// At each capacity the fastest of all other choices.
std::string over_capacity(const SweepTable& table, const std::vector<NetworkRows>& networks,
                          const TextStyle& style) {
  const SweepColumn& capacities = table.column("capacity_bytes");
  const SweepColumn& speeds = table.column("samples_per_s");
  const std::size_t count = std::min(networks.size(), most_networks);
  std::map<double, std::vector<double>> fastest;
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t row : networks[i].rows) {
      std::vector<double>& speed = fastest[capacities.number(row)];
      speed.resize(count, no_number);
      if (!(speed[i] >= speeds.number(row))) speed[i] = speeds.number(row);
    }
  }
  if (fastest.size() < 3) return "";
  std::vector<Column> columns = {{"on-chip", Align::right}};
  for (std::size_t i = 0; i < count; ++i) {
    columns.push_back({short_name(networks[i].name) + "\nsamples/s", Align::right});
  }
  Table text(std::move(columns));
  const std::size_t rows = std::min(most_capacities, fastest.size());
  std::set<std::size_t> chosen;
  for (std::size_t i = 0; i < rows; ++i) chosen.insert(i * (fastest.size() - 1) / (rows - 1));
  std::size_t at = 0;
  for (const auto& [capacity, speed] : fastest) {
    if (chosen.count(at++) == 0) continue;
    std::vector<std::string> cells = {format_capacity(capacity)};
    for (const double value : speed)
      cells.push_back(std::isnan(value) ? "" : format_count(value, 4));
    text.add_row(std::move(cells));
  }
  return "\nThe fastest at each capacity\n" + text.to_text(style);
}

/// The first thing to know: those points cannot run.
std::string out_of_memory_text(const std::vector<NetworkRows>& networks, std::size_t out_of_memory,
                               std::size_t worked, const TextStyle& style) {
  if (out_of_memory == 0) return "";
  std::string text =
      bold(fmt::format("out of memory: {} of {} points need more than their device has",
                       format_exact(static_cast<std::int64_t>(out_of_memory)),
                       format_exact(static_cast<std::int64_t>(worked))),
           style) +
      " (column fits)\n";
  for (const NetworkRows& network : networks) {
    if (network.rows.empty() && networks.size() > 1)
      text += fmt::format("{}: no point fits\n", short_name(network.name));
  }
  return text;
}

/// "64 (l4), 512 (h200, the largest asked for)": of each machine.
std::string largest_batches(const SweepTable& table, const std::string& network) {
  constexpr std::size_t most_machines = 8;
  struct Batches {
    std::string machine;
    double asked = 0, fitting = 0;
  };
  const SweepColumn &models = table.column("model"), &machines = table.column("machine");
  const SweepColumn &batches = table.column("batch"), &fits = table.column("fits");
  std::vector<Batches> all;
  for (std::size_t row = 0; row < table.row_count; ++row) {
    if (table.is_failed(row) || models.text(row) != network || std::isnan(fits.number(row)))
      continue;
    const auto known = std::find_if(all.begin(), all.end(), [&](const Batches& one) {
      return one.machine == machines.text(row);
    });
    Batches& of = known != all.end() ? *known : all.emplace_back(Batches{machines.text(row)});
    of.asked = std::max(of.asked, batches.number(row));
    if (fits.number(row) != 0) of.fitting = std::max(of.fitting, batches.number(row));
  }
  std::vector<std::string> parts;
  for (const Batches& one : all) {
    if (parts.size() == most_machines) break;
    parts.push_back(fmt::format(
        "{} ({}{})", one.fitting > 0 ? format_exact(std::llround(one.fitting)) : "none",
        short_name(one.machine), one.fitting == one.asked ? ", the largest asked for" : ""));
  }
  if (all.size() > most_machines)
    parts.push_back(fmt::format("and {} more machines", all.size() - most_machines));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Where the batch varies and the machines say what memory they have.
std::string largest_batch_lines(const SweepTable& table, const std::vector<NetworkRows>& networks) {
  const auto is_there = [&](std::string_view name) {
    return std::any_of(table.columns.begin(), table.columns.end(), [&](const SweepColumn& column) {
      return column.name == name && (name != "batch" || (column.is_axis && varies(column)));
    });
  };
  if (!is_there("batch") || !is_there("fits") || !is_there("machine")) return "";
  std::string text;
  for (std::size_t i = 0; i < std::min(networks.size(), most_networks); ++i) {
    const std::string batches = largest_batches(table, networks[i].name);
    if (batches.empty()) continue;
    text += fmt::format(
        "{}largest batch that fits: {}\n",
        networks.size() > 1 ? fmt::format("{}, ", short_name(networks[i].name)) : "", batches);
  }
  return text;
}

/// How all points are trained: what of it was asked and does not vary.
std::string common_setup(const SweepTable& table) {
  constexpr std::array<std::string_view, 10> names = {
      "batch",     "seq",       "micro_batches", "dtype",          "amp",
      "inference", "optimizer", "recompute",     "master_weights", "framework"};
  std::vector<std::string> parts;
  for (const SweepColumn& column : table.columns) {
    const bool is_setup = std::find(names.begin(), names.end(), column.name) != names.end();
    if (!is_setup || !column.is_axis || table.row_count == 0 || varies(column)) continue;
    std::string name = column.name;
    std::replace(name.begin(), name.end(), '_', '-');
    parts.push_back(fmt::format("{} {}", name, readable_cell(column, 0)));
  }
  return parts.empty() ? "" : fmt::format("all points: {}\n", fmt::join(parts, ", "));
}

}  // namespace

std::string to_text(const SweepTable& table, const TextStyle& style) {
  const std::vector<NetworkRows> networks = networks_of(table);
  std::size_t worked = 0, out_of_memory = 0;
  for (const NetworkRows& network : networks) {
    worked += network.rows.size() + network.out_of_memory;
    out_of_memory += network.out_of_memory;
  }
  const bool has_expected = has_expected_times(table);
  std::string text = out_of_memory_text(networks, out_of_memory, worked, style);
  text += fmt::format("{} points", format_exact(static_cast<std::int64_t>(table.row_count)));
  if (worked < table.row_count) {
    text += fmt::format(", {} of them failed (column error)",
                        format_exact(static_cast<std::int64_t>(table.row_count - worked)));
  }
  text += has_expected ? "; expected times, nine of ten iterations lie between from and to\n"
                       : "; limits, not calibrated times\n";
  text += common_setup(table);
  text += largest_batch_lines(table, networks);
  if (worked == out_of_memory) return style.has_unicode ? text : to_ascii(text);
  text += '\n' + extremes(table, networks, style);
  if (!has_expected) text += over_capacity(table, networks, style);
  if (networks.size() > most_networks)
    text += fmt::format("… and {} more networks\n", networks.size() - most_networks);
  return style.has_unicode ? text : to_ascii(text);
}

}  // namespace strata
