// SPDX-License-Identifier: Apache-2.0
#include "strata/report/convolution_cells.hpp"

#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

/// The sizes of the points that are the same for all: "b64 c3 128×128 f64 s1 p0".
std::string sizes_beside_axis(const ConvSeries& series) {
  const std::string whole = to_text(series.points.front().shape);
  std::string text;
  for (const std::string_view part : split(whole, ' ')) {
    const bool is_input = part.front() >= '0' && part.front() <= '9';
    const bool is_axis = series.name == "i" ? is_input : part.substr(0, 1) == series.name;
    if (!is_axis) text += fmt::format("{}{}", text.empty() ? "" : " ", part);
  }
  return text;
}

std::string roles_text(const ConvCell& cell) {
  double all_s = 0;
  for (const RoleTime& role : cell.roles) all_s += role.seconds;
  std::vector<RoleTime> sorted = cell.roles;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const RoleTime& a, const RoleTime& b) { return a.seconds > b.seconds; });
  std::string text;
  for (const RoleTime& role : sorted) {
    if (all_s <= 0) break;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", name_of(role.role),
                        100 * role.seconds / all_s);
  }
  return text;
}

std::string kernels_text(const ConvCell& cell) {
  std::string text;
  for (const KernelFacts& kernel : cell.kernels) {
    const bool is_of_gpu = kernel.registers_per_thread > 0;
    text += fmt::format("{}{}{}", text.empty() ? "" : "; ", kernel.name,
                        is_of_gpu
                            ? fmt::format(" ({} registers, {} shared)", kernel.registers_per_thread,
                                          format_capacity(kernel.shared_bytes_per_block))
                            : "");
  }
  return text;
}

std::string copies_text(const ConvCell& cell) {
  const auto shares = transfer_shares(cell);
  if (!shares) return "";
  return fmt::format("{:.0f} / {:.0f} %", 100 * shares->pinned, 100 * shares->pageable);
}

std::string rate_text(std::optional<std::int64_t> flop, double seconds) {
  if (!flop || !(seconds > 0)) return "";
  return format_flop_per_s(static_cast<double>(*flop) / seconds);
}

}  // namespace

std::string milliseconds_text(double seconds) {
  const double ms = seconds * 1e3;
  const int decimals = ms >= 99.95 ? 0 : ms >= 9.995 ? 1 : ms >= 0.9995 ? 2 : ms >= 0.09995 ? 3 : 4;
  return fmt::format("{:.{}f}", ms, decimals);
}

std::string mebibytes_text(std::int64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  if (bytes == 0) return "0";
  if (mebibytes < 0.05) return "<0.1";
  return fmt::format("{:.{}f}", mebibytes, mebibytes < 9.95 ? 1 : 0);
}

std::string spread_text(double spread) {
  constexpr double least_shown = 0.05;
  return spread < least_shown ? "" : fmt::format(" ± {:.0f} %", 100 * spread);
}

std::string series_text(const ConvSeries& series) {
  if (series.is_sweep && !series.points.empty())
    return fmt::format("{} on {}", series.name, sizes_beside_axis(series));
  return series.points.size() == 1 ? to_text(series.points.front().shape) : series.name;
}

std::string series_title(const ConvResults& results, const ConvSeries& series, ConvPass pass) {
  return fmt::format("{}, {}, {}: {}   ms (scratch MiB)", name_of(pass), name_of(results.dtype),
                     results.device, series_text(series));
}

std::string details_text(const ConvResults& results, const ConvIndex& index,
                         const ConvSeries& series, ConvPass pass, const TextStyle& style) {
  const auto is_any = [&](const auto& has) {
    return std::any_of(results.cells.begin(), results.cells.end(), has);
  };
  const bool has_kernels = is_any([](const ConvCell& cell) { return !cell.kernels.empty(); });
  const bool has_copies = is_any([](const ConvCell& cell) { return cell.transfers.has_value(); });
  std::string text;
  for (const ConvPoint& point : series.points) {
    if (refusal_of(point.shape)) continue;
    Table table({{.title = "strategy"},
                 {.title = "time\nms", .align = Align::right},
                 {.title = "deviation\n%", .align = Align::right, .leaves = 3},
                 {.title = "own rate", .align = Align::right},
                 {.title = "direct rate", .align = Align::right},
                 {.title = "scratch\nMiB", .align = Align::right},
                 {.title = "peak\nMiB", .align = Align::right},
                 {.title = "error", .align = Align::right},
                 {.title = "kernels by role", .least_width = 16, .leaves = 1},
                 {.title = "main kernels", .least_width = 12, .leaves = 2, .is_shown = has_kernels},
                 {.title = "copies\npinned / pageable", .leaves = 4, .is_shown = has_copies}});
    bool has_rows = false;
    for (const ConvStrategyName& strategy : results.strategies) {
      const ConvCell* cell = index.find(point.shape, pass, strategy.name);
      if (cell == nullptr || !cell->is_measured()) continue;
      const double time_s = cell->time_s();
      const double deviation = time_s > 0 ? cell->deviation_s() / time_s : 0;
      table.add_row({strategy.name, milliseconds_text(time_s),
                     fmt::format("{:.1f}", 100 * deviation), rate_text(cell->flop, time_s),
                     rate_text(direct_flop(cell->shape), time_s),
                     mebibytes_text(cell->scratch_bytes), mebibytes_text(cell->peak_bytes()),
                     fmt::format("{:.1e}", cell->error), roles_text(*cell), kernels_text(*cell),
                     copies_text(*cell)});
      has_rows = true;
    }
    if (!has_rows) continue;
    text += fmt::format("\n{}\n{}\n", point.label, table.to_text(style));
  }
  return text;
}

std::string network_sum_text(const ConvNetworkAdvice& advice) {
  const auto without = std::count_if(advice.layers.begin(), advice.layers.end(),
                                     [](const ConvLayerChoice& layer) { return !layer.best; });
  std::string text = fmt::format("all convolutions of an iteration with the fastest: {} ms\n",
                                 milliseconds_text(advice.best_s));
  if (advice.default_s > 0 && advice.compared_s > 0) {
    text += fmt::format("{} takes {} ms for what it can do, the fastest {} ms: {:.2f}×\n",
                        advice.default_name, milliseconds_text(advice.default_s),
                        milliseconds_text(advice.compared_s), advice.default_s / advice.compared_s);
  }
  const auto unclear = std::count_if(advice.layers.begin(), advice.layers.end(),
                                     [](const ConvLayerChoice& layer) { return !layer.is_clear; });
  if (unclear > 0) {
    text +=
        fmt::format("no advice for {} of them: times scatter by more than they differ from {}'s\n",
                    unclear, advice.default_name);
  }
  if (without > 0) text += fmt::format("no strategy did {} of them\n", without);
  return text;
}

}  // namespace strata
