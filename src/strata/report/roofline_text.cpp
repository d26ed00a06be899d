// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/counts_text.hpp"
#include "strata/report/roofline_summary.hpp"
#include "strata/report/table.hpp"
#include "strata/roofline/counted_work.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

std::string share_text(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "";
}

std::string intensity_text(const RooflinePoint& point) {
  if (point.is_zero_flop) return "no FLOP";
  if (!point.intensity) return "no bytes";
  return fmt::format("{:.{}f}", *point.intensity, *point.intensity < 10 ? 2 : 1);
}

/// What was counted over what the definition says: "0.37× FLOP, 51× bytes, other algorithm".
std::string counted_text(const RooflineRow& row) {
  if (!row.definition) return "";
  const Work& defined = row.definition->work;
  const auto times = [](std::int64_t counted, std::int64_t by_definition) {
    const double ratio = static_cast<double>(counted) / static_cast<double>(by_definition);
    return fmt::format("{:.{}f}×", ratio, ratio < 9.95 ? 2 : 0);
  };
  std::vector<std::string> parts;
  if (row.work.counts_flop && defined.flop > 0)
    parts.push_back(times(row.work.flop, defined.flop) + " FLOP");
  if (defined.bytes > 0) parts.push_back(times(row.work.bytes, defined.bytes) + " bytes");
  if (algorithm_of(row) != Algorithm::as_defined) parts.emplace_back("other algorithm");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string distance_text(const RooflinePoint& point) {
  if (point.distance <= 0) return "";
  return point.distance < 100 ? fmt::format("{:.2f}×", point.distance)
                              : fmt::format("{}×", format_count(point.distance));
}

std::string roofs_text(const RooflineSummary& summary) {
  const std::string head = fmt::format("  roofs ({})   ", summary.roof);
  std::vector<std::string> peaks;
  for (const PeakRoof& peak : summary.peaks)
    peaks.push_back(fmt::format("{} {}", peak.name, format_flop_per_s(peak.flop_per_s, 4)));
  std::vector<std::string> rest;
  for (const MemoryRoof& level : summary.memory)
    rest.push_back(fmt::format("{} {}", level.name, format_bytes_per_s(level.bytes_per_s, 4)));
  if (summary.launch_latency_s)
    rest.push_back(fmt::format("launch {}", format_time(*summary.launch_latency_s)));
  const double balance = summary.peaks.front().flop_per_s / summary.memory.back().bytes_per_s;
  rest.push_back(fmt::format("balance {:.2f} FLOP/byte", balance));
  return fmt::format("{}{}\n{:{}}{}\n", head, fmt::join(peaks, "   "), "", head.size(),
                     fmt::join(rest, "   "));
}

std::vector<std::string> cells_of(const RooflineRow& row, const RooflineSeries& series) {
  const RooflinePoint& point = row.point;
  const bool has_time = series.columns.has_time;
  return {printable(series.label),
          printable(row.name),
          has_time ? format_time(row.work.time_s) : "",
          has_time ? share_text(row.work.time_s, series.iteration.time_s) : "",
          intensity_text(point),
          row.definition ? intensity_text(row.definition->point) : "",
          has_time ? bound_text(point) : std::string(name_of(point.complexity_bound)),
          has_time ? distance_text(point) : "",
          has_time && !point.is_zero_flop ? format_flop_per_s(point.flop_per_s) : "",
          point.is_zero_flop ? "" : format_flop_per_s(point.attainable_flop_per_s),
          series.columns.has_launches ? format_exact(row.work.launches) : "",
          row.work.zero_flop_s > 0 ? share_text(row.work.zero_flop_s, row.work.time_s) : "",
          counted_text(row)};
}

/// Columns that no profile has are not there.
Table table_for(const RooflineSummary& summary) {
  const auto any = [&](auto has) {
    return std::any_of(summary.series.begin(), summary.series.end(), has);
  };
  const bool has_time = any([](const RooflineSeries& one) { return one.columns.has_time; });
  const bool has_launches = any([](const RooflineSeries& one) { return one.columns.has_launches; });
  const bool moves_only =
      any([](const RooflineSeries& one) { return one.total.work.zero_flop_s > 0; });
  const bool is_counted = any([](const RooflineSeries& one) {
    return std::any_of(one.rows.begin(), one.rows.end(),
                       [](const RooflineRow& row) { return row.definition.has_value(); });
  });
  const auto right = [](std::string title, bool is_shown = true, int leaves = 0) {
    return Column{
        .title = std::move(title), .align = Align::right, .leaves = leaves, .is_shown = is_shown};
  };
  return Table({{.title = "profile", .least_width = 8, .is_shown = summary.series.size() > 1},
                {.title = std::string(roofline_by_names()[static_cast<std::size_t>(summary.by)]),
                 .least_width = 14,
                 .omit = Omit::beginning},
                right("time", has_time),
                right("share", has_time),
                right(is_counted ? "FLOP/byte\ncounted" : "FLOP/byte"),
                right("by\ndefinition", is_counted, 3),
                {.title = "bound"},
                right("from roof", has_time),
                right("reached", has_time, 2),
                right("attainable", true, 1),
                right("launches", has_launches, 5),
                right("no-FLOP time", moves_only, 6),
                {.title = "counted / definition", .leaves = 4, .is_shown = is_counted}});
}

// The slowest rows first; passes and the whole keep the order in which they ran.
std::vector<std::size_t> slowest(const std::vector<RooflineRow>& rows, std::size_t top,
                                 RooflineBy by) {
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const bool keeps_order = by == RooflineBy::pass || by == RooflineBy::all;
  if (!keeps_order || rows.size() > top) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return rows[a].work.time_s > rows[b].work.time_s;
    });
  }
  order.resize(std::min(order.size(), top));
  return order;
}

std::string rest_text(const RooflineSeries& series, const std::vector<std::size_t>& shown) {
  const std::size_t left = series.rows.size() - shown.size();
  if (left == 0) return "";
  double time_s = series.iteration.busy_s;
  for (const std::size_t i : shown) time_s -= series.rows[i].work.time_s;
  const std::string share = share_text(std::max(0.0, time_s), series.iteration.time_s);
  return fmt::format("  {} more{}\n", left, share.empty() ? "" : fmt::format(", {}", share));
}

std::string bounds_line(const RooflineSeries& series) {
  if (!series.columns.has_time || series.rows.size() < 2) return "";
  std::string text;
  for (const BoundShare& share : shares_by_bound(series.rows)) {
    if (share.rows == 0) continue;
    text += fmt::format("{}{} {} ({} row{})", text.empty() ? "" : "   ", name_of(share.bound),
                        share_text(share.time_s, series.iteration.time_s), share.rows,
                        share.rows == 1 ? "" : "s");
  }
  return text.empty() ? "" : fmt::format("  time by bound     {}\n", text);
}

std::string iteration_line(const RooflineSeries& series) {
  if (!series.columns.has_time) return "";
  const IterationTime& iteration = series.iteration;
  std::string text = fmt::format("  iteration         {}", format_time(iteration.time_s));
  if (iteration.from == TimeFrom::rows) text += ", the rows added up";
  text += fmt::format("   rows {}", share_text(iteration.busy_s, iteration.time_s));
  if (iteration.gaps_s > 0)
    text += fmt::format("   between kernels {}", share_text(iteration.gaps_s, iteration.time_s));
  if (iteration.drain_s > 0)
    text += fmt::format("   last write-backs {}", share_text(iteration.drain_s, iteration.time_s));
  return text + '\n';
}

std::string movement_line(const RooflineSeries& series) {
  const Work& work = series.total.work;
  if (work.zero_flop_launches == 0) return "";
  return fmt::format(
      "  without FLOP      {} of {} launches{}\n", format_exact(work.zero_flop_launches),
      format_exact(work.launches),
      series.columns.has_time
          ? fmt::format(", {} of the time", share_text(work.zero_flop_s, series.iteration.time_s))
          : "");
}

std::string overhead_line(const RooflineSummary& summary, const RooflineSeries& series) {
  const RooflineRow& all = series.total;
  if (!series.columns.has_time || !summary.launch_latency_s || all.work.launches == 0) return "";
  const double alone_s = all.point.overhead_s;
  return fmt::format("  launches alone    {} × {} = {}, {} the kernels' {}\n",
                     format_exact(all.work.launches), format_time(*summary.launch_latency_s),
                     format_time(alone_s), alone_s > all.work.time_s ? "more than" : "below",
                     format_time(all.work.time_s));
}

std::string series_text(const RooflineSummary& summary, const RooflineSeries& series,
                        std::size_t top, const TextStyle& style) {
  const std::vector<std::size_t> shown = slowest(series.rows, top, summary.by);
  Table table = table_for(summary);
  for (const std::size_t i : shown) table.add_row(cells_of(series.rows[i], series));
  if (series.rows.size() > 1) table.add_total(cells_of(series.total, series));
  const std::string lines = iteration_line(series) + bounds_line(series) + movement_line(series) +
                            overhead_line(summary, series);
  return "\n" + table.to_text(style) + rest_text(series, shown) +
         (lines.empty() ? "" : "\n" + lines);
}

// Several profiles share one table, so that their rows can be compared.
std::string together_text(const RooflineSummary& summary, std::size_t top, const TextStyle& style) {
  Table table = table_for(summary);
  std::size_t left = 0;
  const std::size_t each = std::max<std::size_t>(1, top / summary.series.size());
  for (const RooflineSeries& series : summary.series) {
    const std::vector<std::size_t> shown = slowest(series.rows, each, summary.by);
    left += series.rows.size() - shown.size();
    for (const std::size_t i : shown) table.add_row(cells_of(series.rows[i], series));
  }
  return "\n" + table.to_text(style) +
         (left == 0 ? "" : fmt::format("  {} more rows (--top N)\n", left));
}

std::string subject_line(const RooflineSummary& summary) {
  if (summary.series.size() > 1) return fmt::format("{} profiles", summary.series.size());
  const RooflineSeries& one = summary.series.front();
  const std::string& title = one.subject.title.empty() ? one.label : one.subject.title;
  return fmt::format("{}{}{}, {}", printable(title), one.subject.dtype.empty() ? "" : ", ",
                     printable(one.subject.setup_or_dtype()), name_of(one.evidence));
}

}  // namespace

std::string to_text(const RooflineSummary& summary, std::size_t top, const TextStyle& style) {
  const RooflineSeries& first = summary.series.front();
  std::string text = fmt::format("{}, under the roofs of {}\n\n{}", subject_line(summary),
                                 printable(summary.machine_title), roofs_text(summary));
  text += summary.series.size() == 1 ? series_text(summary, first, top, style)
                                     : together_text(summary, top, style);
  for (const std::string& note : summary.notes) text += fmt::format("\nnote: {}", note);
  if (!summary.notes.empty()) text += "\n";
  return text +
         "\nfrom roof: time / max(FLOP / peak, bytes / bandwidth); attainable: with launches "
         "(strata help roofline)\nmore: --by kernel|layer|type|pass|all  --top N  --plot FILE  "
         "--svg PREFIX  --json FILE  --csv FILE  --html FILE\n";
}

}  // namespace strata
