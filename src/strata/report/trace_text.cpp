// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/report/explain_report.hpp"
#include "strata/report/table.hpp"
#include "strata/report/trace_network.hpp"
#include "strata/report/trace_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr std::size_t least_name_width = 24;

std::string ns_text(std::int64_t ns) { return format_time(1e-9 * static_cast<double>(ns)); }
std::string mean_text(const Durations& time) { return format_time(1e-9 * time.mean_ns()); }

std::string share_cell(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "";
  const double share = 100 * static_cast<double>(part) / static_cast<double>(whole);
  return share < 9.95 ? fmt::format("{:.1f} %", share) : fmt::format("{:.0f} %", share);
}

std::string class_text(const KernelClass& kernel_class) {
  std::string text = kernel_class.name;
  if (!kernel_class.algorithm.empty()) text += " " + kernel_class.algorithm;
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string extents_text(const std::array<std::uint32_t, 3>& extents) {
  if (extents[0] == 0) return "";
  std::string text = fmt::format("{}", extents[0]);
  if (extents[1] > 1 || extents[2] > 1) text += fmt::format("×{}", extents[1]);
  if (extents[2] > 1) text += fmt::format("×{}", extents[2]);
  return text;
}

std::string rest_text(std::size_t rows, std::size_t shown) {
  return rows > shown ? fmt::format("  {} more\n", rows - shown) : "";
}

std::string interval_text(const TimeInterval& interval) {
  return fmt::format("{} ({} to {})", format_time(interval.likely_s), format_time(interval.least_s),
                     format_time(interval.most_s));
}

/// What recording cost, where somebody measured that recorder.
std::string recording_cost_text(const TraceTables& tables) {
  if (!tables.recording_cost) return "";
  const RecordingCost& cost = *tables.recording_cost;
  std::string text = fmt::format("  recording costs about {} per launch; {} launches, {} calls\n",
                                 interval_text(cost.per_launch), format_exact(cost.launches),
                                 format_exact(cost.calls));
  if (cost.step_s && cost.step_without)
    text += fmt::format("            a step of {} takes about {} without it\n",
                        format_time(*cost.step_s), interval_text(*cost.step_without));
  return text;
}

std::string head_text(const TraceReport& report, const TextStyle& style) {
  const TraceTables& tables = report.tables;
  const ProcessInfo& process = tables.process;
  std::string text = bold(printable(report.file), style);
  if (!process.command.empty()) text += ", " + printable(process.command);
  if (process.pid > 0) text += fmt::format(", process {}", process.pid);
  if (process.rank >= 0) text += fmt::format(", rank {}", process.rank);
  if (!process.host.empty()) text += ", on " + printable(process.host);
  text += fmt::format(" ({})\n\n", printable(process.source_format));
  text +=
      fmt::format("  kernels   {} launches of {} kernels, {}\n", format_exact(tables.kernels.calls),
                  tables.by_kernel.size(), ns_text(tables.kernels.total_ns));
  if (!report.machine.empty()) text += fmt::format("  machine   {}\n", printable(report.machine));
  if (tables.steps.count > 0) {
    text += fmt::format("  steps     {} by {}; on the device {} ({} to {})\n", tables.steps.count,
                        tables.steps.how, ns_text(tables.steps.median_ns),
                        ns_text(tables.steps.least_ns), ns_text(tables.steps.most_ns));
  }
  text += recording_cost_text(tables);
  if (tables.fills > 0)
    text +=
        fmt::format("  memsets   {}, {}\n", format_exact(tables.fills), ns_text(tables.fills_ns));
  if (tables.lost_records > 0)
    text += fmt::format("  lost      {} records\n", format_exact(tables.lost_records));
  if (!process.ending.empty()) text += fmt::format("  ended     {}\n", printable(process.ending));
  if (report.network) text += to_text(*report.network);
  return text + '\n';
}

std::string devices_text(const TraceTables& tables, const TextStyle& style) {
  if (tables.devices.empty() || !tables.process.has_times) return "";
  const auto of = [](const DeviceRow& row, std::int64_t ns) { return share_cell(ns, row.span_ns); };
  std::vector<Column> columns = {{.title = "device", .least_width = 10},
                                 {.title = "from first\nto last", .align = Align::right},
                                 {.title = "a kernel\nruns", .align = Align::right},
                                 {.title = "two or\nmore", .align = Align::right},
                                 {.title = "a copy\nruns", .align = Align::right},
                                 {.title = "copy, no\nkernel", .align = Align::right, .leaves = 2}};
  for (std::size_t i = 0; i < idle_causes; ++i) {
    const bool is_shown = std::any_of(tables.devices.begin(), tables.devices.end(),
                                      [&](const DeviceRow& row) { return row.idle_ns[i] > 0; });
    columns.push_back({.title = fmt::format("idle:\n{}", name_of(static_cast<IdleCause>(i))),
                       .align = Align::right,
                       .is_shown = is_shown});
  }
  Table table(std::move(columns));
  for (const DeviceRow& row : tables.devices) {
    std::vector<std::string> cells = {
        row.device == unknown_device ? "?" : fmt::format("{} {}", row.device, printable(row.name)),
        ns_text(row.span_ns),
        of(row, row.kernel_busy_ns),
        of(row, row.concurrent_ns),
        of(row, row.copy_busy_ns),
        of(row, row.copy_exposed_ns)};
    for (const std::int64_t ns : row.idle_ns) cells.push_back(of(row, ns));
    table.add_row(std::move(cells));
  }
  return table.to_text(style) + '\n';
}

std::string kernels_text(const TraceTables& tables, std::size_t top, const TextStyle& style) {
  if (tables.by_kernel.empty()) return "";
  Table table({{.title = "kernel", .least_width = least_name_width},
               {.title = "class", .leaves = 1},
               {.title = "calls", .align = Align::right},
               {.title = "total", .align = Align::right},
               {.title = "share", .align = Align::right},
               {.title = "mean", .align = Align::right},
               {.title = "min", .align = Align::right, .leaves = 6},
               {.title = "max", .align = Align::right, .leaves = 6},
               {.title = "grid", .align = Align::right, .leaves = 5},
               {.title = "block", .align = Align::right, .leaves = 4},
               {.title = "regs", .align = Align::right, .leaves = 3},
               {.title = "shared", .align = Align::right, .leaves = 2}});
  const std::size_t shown = std::min(top, tables.by_kernel.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const KernelRow& row = tables.by_kernel[i];
    const KernelRecord& launch = row.longest;
    const auto known = [](std::uint32_t count) { return count == unknown_count ? 0U : count; };
    const std::int64_t shared =
        std::int64_t{known(launch.static_shared_bytes)} + known(launch.dynamic_shared_bytes);
    table.add_row({printable(short_kernel_name(row.name)), class_text(row.kernel_class),
                   format_exact(row.time.calls), ns_text(row.time.total_ns),
                   share_cell(row.time.total_ns, tables.kernels.total_ns), mean_text(row.time),
                   ns_text(row.time.least_ns), ns_text(row.time.most_ns), extents_text(launch.grid),
                   extents_text(launch.block),
                   launch.registers == unknown_count ? "" : fmt::format("{}", launch.registers),
                   shared > 0 ? format_capacity(static_cast<double>(shared)) : ""});
  }
  return table.to_text(style) + rest_text(tables.by_kernel.size(), shown) + '\n';
}

template <class Rows, class Name>
std::string plain_rows(std::string title, const Rows& rows, std::size_t top, std::int64_t whole_ns,
                       const Name& name, const TextStyle& style) {
  if (rows.empty()) return "";
  Table table({{.title = std::move(title), .least_width = least_name_width},
               {.title = "calls", .align = Align::right},
               {.title = "total", .align = Align::right},
               {.title = "share", .align = Align::right},
               {.title = "mean", .align = Align::right},
               {.title = "min", .align = Align::right, .leaves = 2},
               {.title = "max", .align = Align::right, .leaves = 1}});
  const std::size_t shown = std::min(top, rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Durations& time = rows[i].time;
    table.add_row({printable(name(rows[i])), format_exact(time.calls), ns_text(time.total_ns),
                   share_cell(time.total_ns, whole_ns), mean_text(time), ns_text(time.least_ns),
                   ns_text(time.most_ns)});
  }
  return table.to_text(style) + rest_text(rows.size(), shown) + '\n';
}

std::string classes_text(const TraceTables& tables, std::size_t top, const TextStyle& style) {
  return plain_rows(
      "class", tables.by_class, top, tables.kernels.total_ns,
      [](const ClassRow& row) {
        return class_text({row.name, row.algorithm, ""});
      },
      style);
}

std::string layers_text(const TraceTables& tables, std::size_t top, const TextStyle& style) {
  return plain_rows(
      "layer and pass", tables.by_layer, top, tables.kernels.total_ns,
      [](const LayerRow& row) {
        return fmt::format("{} {}", row.layer.empty() ? "(in no range)" : row.layer, row.pass);
      },
      style);
}

std::string calls_text(const TraceTables& tables, std::size_t top, const TextStyle& style) {
  std::int64_t whole = 0;
  for (const ApiRow& row : tables.by_api) whole += row.time.total_ns;
  return plain_rows(
      "call", tables.by_api, top, whole, [](const ApiRow& row) { return row.name; }, style);
}

std::string copies_text(const TraceReport& report, std::size_t top, const TextStyle& style) {
  const TraceTables& tables = report.tables;
  if (tables.by_copy.empty()) return "";
  Table table({{.title = "copies"},
               {.title = "from, to", .leaves = 3},
               {.title = "calls", .align = Align::right},
               {.title = "bytes", .align = Align::right},
               {.title = "time", .align = Align::right},
               {.title = "throughput", .align = Align::right},
               {.title = "of link", .align = Align::right, .is_shown = !report.machine.empty()},
               {.title = "under\nkernels", .align = Align::right, .leaves = 1},
               {.title = "< 1 KiB", .align = Align::right, .leaves = 4},
               {.title = "16 KiB", .align = Align::right, .leaves = 4},
               {.title = "256 KiB", .align = Align::right, .leaves = 4},
               {.title = "4 MiB", .align = Align::right, .leaves = 4},
               {.title = "64 MiB", .align = Align::right, .leaves = 4},
               {.title = "1 GiB", .align = Align::right, .leaves = 4},
               {.title = "more", .align = Align::right, .leaves = 4}});
  const std::size_t shown = std::min(top, tables.by_copy.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const CopyRow& row = tables.by_copy[i];
    const auto ceiling = report.copy_ceilings[i];
    std::vector<std::string> cells = {
        std::string(name_of(row.kind)),
        fmt::format("{}, {}", name_of(row.source), name_of(row.destination)),
        format_exact(row.time.calls),
        row.known_ns > 0 || row.bytes > 0 ? format_bytes(static_cast<double>(row.bytes)) : "?",
        ns_text(row.time.total_ns),
        row.bytes_per_s() > 0 ? format_bytes_per_s(row.bytes_per_s()) : "?",
        ceiling && *ceiling > 0 ? fmt::format("{:.0f} %", 100 * row.bytes_per_s() / *ceiling) : "",
        share_cell(row.under_kernels_ns, row.time.total_ns)};
    for (std::size_t k = 0; k + 1 < row.by_size.size(); ++k)
      cells.push_back(row.by_size[k] == 0 ? "" : format_exact(row.by_size[k]));
    table.add_row(std::move(cells));
  }
  return table.to_text(style) + rest_text(tables.by_copy.size(), shown) + '\n';
}

std::string collectives_text(const TraceTables& tables, const TextStyle& style) {
  if (tables.by_collective.empty()) return "";
  Table table({{.title = "communication"},
               {.title = "calls", .align = Align::right},
               {.title = "time", .align = Align::right},
               {.title = "mean", .align = Align::right, .leaves = 1},
               {.title = "no other\nkernel", .align = Align::right},
               {.title = "bytes", .align = Align::right},
               {.title = "throughput", .align = Align::right}});
  for (const CollectiveRow& row : tables.by_collective) {
    const bool is_part = row.known_calls > 0 && row.known_calls < row.time.calls;
    table.add_row({row.name, format_exact(row.time.calls), ns_text(row.time.total_ns),
                   mean_text(row.time), share_cell(row.exposed_ns, row.time.total_ns),
                   row.known_calls == 0
                       ? "?"
                       : fmt::format("{}{}", format_bytes(static_cast<double>(row.bytes)),
                                     is_part ? fmt::format(" of {} calls", row.known_calls) : ""),
                   row.bytes_per_s() > 0 ? format_bytes_per_s(row.bytes_per_s()) : "?"});
  }
  return table.to_text(style) + '\n';
}

std::string memory_text(const TraceTables& tables, const TextStyle& style) {
  if (tables.memory.empty()) return "";
  Table table({{.title = "memory"},
               {.title = "peak", .align = Align::right},
               {.title = "allocations", .align = Align::right},
               {.title = "frees", .align = Align::right},
               {.title = "allocated in all", .align = Align::right}});
  for (const MemoryRow& row : tables.memory) {
    table.add_row({fmt::format("{}{}", row.device ? fmt::format("device {}", *row.device) : "host",
                               row.is_framework ? ", by the framework" : ""),
                   format_capacity(static_cast<double>(row.peak_bytes)),
                   format_exact(row.allocations), format_exact(row.frees),
                   format_capacity(static_cast<double>(row.allocated_bytes))});
  }
  return table.to_text(style) + '\n';
}

std::string metrics_text(const TraceTables& tables, std::size_t top, const TextStyle& style) {
  if (tables.by_metric.empty()) return "";
  Table table({{.title = "kernel", .least_width = least_name_width},
               {.title = "counter", .least_width = 16},
               {.title = "launches", .align = Align::right},
               {.title = "mean", .align = Align::right},
               {.title = "min", .align = Align::right, .leaves = 2},
               {.title = "max", .align = Align::right, .leaves = 1}});
  const std::size_t shown = std::min(top, tables.by_metric.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const MetricRow& row = tables.by_metric[i];
    const auto number = [&](double value) {
      if (row.unit == "B/s") return format_bytes_per_s(value);
      return fmt::format("{:.6g}{}", value, row.unit.empty() ? "" : " " + row.unit);
    };
    table.add_row({printable(short_kernel_name(row.kernel)), printable(row.metric),
                   format_exact(row.launches), number(row.mean), number(row.least),
                   number(row.most)});
  }
  return table.to_text(style) + rest_text(tables.by_metric.size(), shown) + '\n';
}

constexpr std::string_view no_kernels_text =
    "  no kernel is recorded, so nothing can be said of a GPU: record the device, too\n"
    "    PyTorch        torch.profiler.profile(activities=[ProfilerActivity.CPU, "
    "ProfilerActivity.CUDA])\n"
    "    Nsight Systems nsys profile --trace=cuda,nvtx PROGRAM\n"
    "    any program    strata capture -- PROGRAM\n\n";

std::string tables_text(const TraceReport& report, const TraceTextOptions& options,
                        const TextStyle& style) {
  const TraceTables& tables = report.tables;
  constexpr std::size_t a_few = 5;
  switch (options.by) {
    case TraceView::kernel: return kernels_text(tables, options.top, style);
    case TraceView::kernel_class: return classes_text(tables, options.top, style);
    case TraceView::layer:
      return report.network ? network_layers_text(*report.profile, options.top, style)
                            : layers_text(tables, options.top, style);
    case TraceView::api: return calls_text(tables, options.top, style);
    case TraceView::copy: return copies_text(report, options.top, style);
    case TraceView::all: break;
  }
  return classes_text(tables, options.top, style) +
         (report.network ? network_layers_text(*report.profile, options.top, style) : "") +
         kernels_text(tables, options.top, style) +
         calls_text(tables, std::min(a_few, options.top), style) +
         copies_text(report, options.top, style) + metrics_text(tables, options.top, style) +
         collectives_text(tables, style) + memory_text(tables, style);
}

}  // namespace

std::string to_text(const TraceReport& report, const TraceTextOptions& options,
                    const TextStyle& style) {
  std::string text = head_text(report, style);
  text += devices_text(report.tables, style);
  text += tables_text(report, options, style);
  if (report.tables.kernels.calls == 0) text += no_kernels_text;
  if (report.tables.kernels.calls > 0 || !report.findings.empty())
    text += findings_text(report.findings, options.findings_in_full, "recording", style);
  if (!report.missing_machine.empty())
    text += fmt::format("note: {}\n", printable(without_machine_text(report.missing_machine)));
  for (const std::string& note : report.tables.notes)
    text += fmt::format("note: {}\n", printable(note));
  text +=
      dim("more: --by kernel|class|layer|api|copy  --top N|all  --on MACHINE  --json FILE  --trace "
          "FILE\n",
          style);
  return style.has_unicode ? text : to_ascii(text);
}

}  // namespace strata
