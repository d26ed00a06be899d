// SPDX-License-Identifier: Apache-2.0
#include "strata/base/csv_cell.hpp"
#include "strata/report/trace_report.hpp"

#include <fmt/format.h>

#include <iterator>

namespace strata {
namespace {

double as_seconds(double ns) { return 1e-9 * ns; }

std::string time_cells(const Durations& time) {
  return fmt::format("{},{:.9g},{:.9g},{:.9g},{:.9g}", time.calls,
                     as_seconds(static_cast<double>(time.total_ns)), as_seconds(time.mean_ns()),
                     as_seconds(static_cast<double>(time.least_ns)),
                     as_seconds(static_cast<double>(time.most_ns)));
}

constexpr std::string_view time_heads = "calls,time_s,mean_s,min_s,max_s";

std::string count_cell(std::uint32_t count) {
  return count == unknown_count ? "" : fmt::format("{}", count);
}

void add_kernel_lines(const TraceReport& report, std::string& text) {
  for (const KernelRow& row : report.tables.by_kernel) {
    const KernelRecord& launch = row.longest;
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                   csv_cell(report.file), csv_cell(row.name), row.kernel_class.name,
                   row.kernel_class.algorithm, row.kernel_class.pass, time_cells(row.time),
                   launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1],
                   launch.block[2], count_cell(launch.registers),
                   count_cell(launch.static_shared_bytes), count_cell(launch.dynamic_shared_bytes),
                   row.occupancy ? fmt::format("{:.4g}", row.occupancy->share) : "");
  }
}

void add_copy_lines(const TraceReport& report, std::string& text) {
  for (const CopyRow& row : report.tables.by_copy) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{:.9g},{:.9g}",
                   csv_cell(report.file), name_of(row.kind), name_of(row.source),
                   name_of(row.destination), time_cells(row.time), row.bytes, row.bytes_per_s(),
                   as_seconds(static_cast<double>(row.under_kernels_ns)));
    for (const std::int64_t calls : row.by_size) text += fmt::format(",{}", calls);
    text += '\n';
  }
}

/// Of a step whose layers are those of a network, in the order in which they ran.
void add_network_lines(const TraceReport& report, std::string& text) {
  if (!report.profile) return;
  for (const ProfileRow& row : report.profile->rows) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{:.9g},{},{},{}\n",
                   csv_cell(report.file), csv_cell(row.layer), csv_cell(row.pass), csv_cell(row.op),
                   csv_cell(row.block), row.totals.launches, row.totals.time_s, row.totals.flop,
                   row.totals.in_bytes, row.totals.out_bytes);
  }
}

void add_layer_lines(const TraceReport& report, std::string& text) {
  for (const LayerRow& row : report.tables.by_layer)
    text += fmt::format("{},{},{},{},{}\n", csv_cell(report.file), csv_cell(row.layer),
                        csv_cell(row.pass), row.kernel_class, time_cells(row.time));
}

}  // namespace

std::string to_csv(std::span<const TraceReport> reports, TraceView by) {
  std::string text;
  switch (by) {
    case TraceView::all:
    case TraceView::kernel:
      text = fmt::format(
          "file,kernel,class,algorithm,pass,{},grid_x,grid_y,grid_z,block_x,block_y,block_z,"
          "registers,static_shared_bytes,dynamic_shared_bytes,occupancy\n",
          time_heads);
      for (const TraceReport& report : reports) add_kernel_lines(report, text);
      break;
    case TraceView::kernel_class:
      text = fmt::format("file,class,algorithm,{}\n", time_heads);
      for (const TraceReport& report : reports) {
        for (const ClassRow& row : report.tables.by_class)
          text += fmt::format("{},{},{},{}\n", csv_cell(report.file), row.name, row.algorithm,
                              time_cells(row.time));
      }
      break;
    case TraceView::layer:
      if (!reports.empty() && reports.front().network) {
        text = "file,layer,pass,op,block,launches,time_s,flop,traffic_in_bytes,traffic_out_bytes\n";
        for (const TraceReport& report : reports) add_network_lines(report, text);
      } else {
        text = fmt::format("file,layer,pass,class,{}\n", time_heads);
        for (const TraceReport& report : reports) add_layer_lines(report, text);
      }
      break;
    case TraceView::api:
      text = fmt::format("file,call,kind,{}\n", time_heads);
      for (const TraceReport& report : reports) {
        for (const ApiRow& row : report.tables.by_api)
          text +=
              fmt::format("{},{},{},{}\n", csv_cell(report.file), csv_cell(row.name),
                          row.kind == ApiKind::driver ? "driver" : "runtime", time_cells(row.time));
      }
      break;
    case TraceView::copy:
      text = fmt::format(
          "file,kind,source,destination,{},bytes,bytes_per_s,under_kernels_s,below_1k,below_16k,"
          "below_256k,below_4m,below_64m,below_1g,more,unknown_size\n",
          time_heads);
      for (const TraceReport& report : reports) add_copy_lines(report, text);
      break;
  }
  return text;
}

}  // namespace strata
