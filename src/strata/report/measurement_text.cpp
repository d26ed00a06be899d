// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/machine/sourced.hpp"
#include "strata/report/bar.hpp"
#include "strata/report/counts_text.hpp"
#include "strata/report/measurement_report.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace strata {
namespace {

std::string share_text(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string measured_header(const MeasurementSummary& summary) {
  std::string text =
      fmt::format("{}, {}", printable(summary.title),
                  summary.training.inference ? "one inference pass" : "one training iteration");
  for (const Dimension& dimension : summary.dims)
    text += fmt::format(", {} {}", printable(dimension.name), dimension.value);
  return fmt::format("{}, {}, measured on {}", text,
                     summary.measured.profile.subject.setup_or_dtype(),
                     printable(summary.measured.device));
}

std::string measured_fact(std::string_view name, std::string_view number, std::string_view text) {
  return fmt::format("  {:<9}  {:>8}   {}\n", name, number, text);
}

std::string rate_fact(const MeasurementSummary& summary) {
  const std::string rate = format_flop_per_s(summary.totals.flop_per_s);
  const std::string work = format_flop(to_double(summary.totals.flop));
  if (const auto share = summary.utilisation()) {
    return measured_fact("rate", rate,
                         fmt::format("{} per iteration; {} of the peak of {}, {} (MFU)", work,
                                     share_text(*share), printable(summary.machine->title),
                                     format_flop_per_s(*summary.machine->flop_per_s, 4)));
  }
  return measured_fact("rate", rate,
                       fmt::format("{} per iteration; no machine to compare with (strata machine "
                                   "measure, or --on)",
                                   work));
}

std::string change_of(double new_s, double old_s) {
  const double points = 100 * (new_s / old_s - 1);
  return fmt::format("{}{:.0f} %", points < -0.5 ? "−" : points > 0.5 ? "+" : "", std::abs(points));
}

std::string kernel_fact(const MeasurementSummary& summary) {
  if (!summary.has_kernels()) return "";
  const IterationTime& iteration = summary.totals.iteration;
  return measured_fact("kernels", format_time(iteration.busy_s),
                       fmt::format("{} of the iteration, {} launches",
                                   share_text(iteration.share_of(iteration.busy_s)),
                                   format_exact(summary.totals.launches)));
}

std::string recorded_fact(const MeasurementSummary& summary) {
  const MeasurementTotals& totals = summary.totals;
  if (totals.recorded_s) {
    return measured_fact("graph", format_time(*totals.recorded_s),
                         fmt::format("as one recorded piece, {}",
                                     change_of(*totals.recorded_s, totals.iteration.time_s)));
  }
  if (summary.measured.no_recording.empty()) return "";
  return measured_fact("graph", "none", summary.measured.no_recording);
}

std::string pass_fact(const MeasurementSummary& summary) {
  const MeasurementTotals& totals = summary.totals;
  if (summary.training.inference) return "";
  std::string text = fmt::format("backward {}", format_time(totals.backward_s));
  if (totals.forward_s > 0)
    text += fmt::format(", {:.1f} times forward", totals.backward_s / totals.forward_s);
  if (totals.update_s > 0) text += fmt::format("; update {}", format_time(totals.update_s));
  return measured_fact("forward", format_time(totals.forward_s), text);
}

std::string loss_fact(const MeasurementSummary& summary) {
  const TrainingMeasurement& measured = summary.measured;
  if (!measured.loss_before || !measured.loss_after) return "";
  const std::string text = fmt::format("after {} iterations on the same batch; {:.4g} at first",
                                       measured.iterations_run, *measured.loss_before);
  // A network without normalisation diverges from weights that nobody trained.
  if (!std::isfinite(*measured.loss_after))
    return measured_fact("loss", "diverged", text + "; what is timed is the same");
  return measured_fact("loss", fmt::format("{:.4g}", *measured.loss_after), text);
}

std::string measured_facts(const MeasurementSummary& summary) {
  const MeasurementTotals& totals = summary.totals;
  const TrainingMeasurement& measured = summary.measured;
  std::string text =
      measured_fact("time", format_time(totals.iteration.time_s),
                    fmt::format("{} samples/s   median of {}, ± {}, best {}",
                                format_count(totals.samples_per_s), measured.iteration_s.size(),
                                format_time(totals.spread_s), format_time(totals.best_s)));
  text += recorded_fact(summary) + kernel_fact(summary) + rate_fact(summary);
  text += measured_fact("memory", capacity_text(measured.profile.peak_memory_bytes.value_or(0)),
                        "weights, activations, gradients, states and scratch");
  return text + pass_fact(summary) + loss_fact(summary);
}

struct MeasuredLine {
  std::string name;
  std::string pass;
  const Totals* totals;
  std::string by_what;
  double roof_s = 0;     // 0: not known
  double spread_s = -1;  // below 0: not known
};

/// What rows take at their roofs that ran and satisfy something.
template <class IsMeant>
double roof_of(const MeasurementSummary& summary, const IsMeant& is_meant) {
  double roof_s = 0;
  for (const ProfileRow& row : summary.measured.profile.rows) {
    if (row.totals.time_s > 0 && is_meant(row)) roof_s += row.roof_s.value_or(0);
  }
  return roof_s;
}

std::string measured_table(const MeasurementSummary& summary,
                           const std::vector<MeasuredLine>& lines, std::string_view title,
                           const TextStyle& style) {
  const auto any = [&](const auto& is_there) {
    return std::any_of(lines.begin(), lines.end(), is_there);
  };
  const bool has_passes = any([](const MeasuredLine& line) { return !line.pass.empty(); });
  const bool has_spread = any([](const MeasuredLine& line) { return line.spread_s >= 0; });
  const bool has_means = any([](const MeasuredLine& line) { return !line.by_what.empty(); });
  Table table(
      {{.title = std::string(title), .least_width = 16, .omit = Omit::beginning},
       {.title = "", .is_shown = has_passes},
       {.title = "", .leaves = 5},
       {.title = "share", .align = Align::right},
       {.title = "time", .align = Align::right},
       {.title = "±", .align = Align::right, .leaves = 4, .is_shown = has_spread},
       {.title = "reached", .align = Align::right, .leaves = 1},
       {.title = "bytes/s", .align = Align::right, .leaves = 3},
       {.title = "of roof", .align = Align::right, .leaves = 2, .is_shown = summary.has_roofs()},
       {.title = "by", .least_width = 10, .leaves = 6, .is_shown = has_means}});
  double longest_s = 0;
  for (const MeasuredLine& line : lines) longest_s = std::max(longest_s, line.totals->time_s);
  for (const MeasuredLine& line : lines) {
    const Totals& totals = *line.totals;
    const auto rate = [&](std::int64_t count) { return to_double(count) / totals.time_s; };
    const bool has_time = totals.time_s > 0;
    table.add_row(
        {printable(line.name), line.pass, bar(longest_s > 0 ? totals.time_s / longest_s : 0),
         share_text(summary.totals.iteration.share_of(totals.time_s)), format_time(totals.time_s),
         line.spread_s < 0 ? "" : format_time(line.spread_s, 2),
         has_time && totals.flop > 0 ? format_flop_per_s(rate(totals.flop)) : "",
         has_time && totals.traffic_bytes() > 0 ? format_bytes_per_s(rate(totals.traffic_bytes()))
                                                : "",
         has_time && line.roof_s > 0 ? share_text(line.roof_s / totals.time_s) : "",
         printable(line.by_what)});
  }
  return table.to_text(style);
}

std::vector<MeasuredLine> lines_of_layers(const MeasurementSummary& summary, std::size_t most) {
  std::vector<MeasuredLine> lines;
  for (const ProfileRow& row : summary.measured.profile.rows) {
    if (!row.not_run.empty()) continue;
    const std::vector<double>& samples = row.timed_samples_s();
    const std::string means =
        row.implementation.empty() && row.op != row.layer ? row.op : row.implementation;
    lines.push_back({row.layer, row.pass, &row.totals, means, row.roof_s.value_or(0),
                     samples.empty() ? -1 : median_deviation_of(samples)});
  }
  if (most == every_layer) return lines;
  std::stable_sort(lines.begin(), lines.end(), [](const MeasuredLine& a, const MeasuredLine& b) {
    return a.totals->time_s > b.totals->time_s;
  });
  lines.resize(std::min(lines.size(), most));
  return lines;
}

std::string where_measured(const MeasurementSummary& summary, MeasureBy by,
                           const TextStyle& style) {
  constexpr std::string_view title = "where the time goes";
  // What is in no row has a line, so that shares add up to the iteration.
  Totals gaps;
  gaps.time_s = summary.totals.iteration.gaps_s;
  const auto with_gaps = [&](std::vector<MeasuredLine> lines) {
    if (summary.totals.iteration.share_of(gaps.time_s) >= least_shown_share)
      lines.push_back(
          {summary.has_kernels() ? "between kernels" : "between layers", "", &gaps, ""});
    return measured_table(summary, lines, title, style);
  };
  if (by == MeasureBy::layer) return with_gaps(lines_of_layers(summary, every_layer));
  const std::vector<ProfileGroup>& groups = by == MeasureBy::type    ? summary.by_type
                                            : by == MeasureBy::block ? summary.by_block
                                                                     : summary.by_pass;
  const auto key = by == MeasureBy::type    ? &ProfileRow::op
                   : by == MeasureBy::block ? &ProfileRow::block
                                            : &ProfileRow::pass;
  std::vector<MeasuredLine> lines;
  for (const ProfileGroup& group : groups) {
    if (group.totals.steps == 0) continue;
    const double roof_s =
        roof_of(summary, [&](const ProfileRow& row) { return row.*key == group.name; });
    lines.push_back({group.name, "", &group.totals, "", roof_s});
  }
  return with_gaps(std::move(lines));
}

// One line per reason, with the layers that it holds for.
std::string not_run_text(const MeasurementSummary& summary) {
  constexpr std::size_t named = 4;
  std::map<std::string, std::vector<std::string>> layers;
  for (const ProfileRow& row : summary.measured.profile.rows) {
    if (row.not_run.empty()) continue;
    std::vector<std::string>& list = layers[row.not_run];
    if (std::find(list.begin(), list.end(), row.layer) == list.end()) list.push_back(row.layer);
  }
  std::string text;
  for (const auto& [reason, list] : layers) {
    const std::vector<std::string> shown(
        list.begin(), list.begin() + static_cast<std::ptrdiff_t>(std::min(list.size(), named)));
    text +=
        fmt::format("  not run: {}{}: {}\n", printable(fmt::format("{}", fmt::join(shown, ", "))),
                    list.size() > named ? fmt::format(" and {} more", list.size() - named) : "",
                    printable(reason));
  }
  return text;
}

bool has_fewer_operations(const Profile& profile) {
  return std::any_of(profile.rows.begin(), profile.rows.end(), [](const ProfileRow& row) {
    return does_fewer_operations(row.implementation);
  });
}

std::string measured_closing(const MeasurementSummary& summary, const MeasureView& view) {
  const TrainingMeasurement& measured = summary.measured;
  std::string text = fmt::format("{} to warm up, seed {}",
                                 std::max<std::size_t>(summary.warm_up, 1), summary.seed);
  if (!summary.training.inference)
    text += fmt::format(", optimizer {}", name_of(summary.training.optimizer));
  if (measured.set_up_s > 0)
    text += fmt::format("; set up in {}", format_time(measured.set_up_s, 2));
  if (!measured.versions.empty()) text += fmt::format("; {}", fmt::join(measured.versions, ", "));
  const ConditionsSeen& seen = measured.conditions;
  if (seen.clock_hz) text += fmt::format("; clock {:.2f} GHz", *seen.clock_hz / 1e9);
  if (seen.power_w) text += fmt::format(", {:.0f} W", *seen.power_w);
  if (measured.is_interrupted) text += "; interrupted, so fewer samples than asked for";
  text +=
      fmt::format("\nrates: FLOP and bytes counted once per pass, over {}{}\n",
                  measured.kernels.empty() ? "the time of the layer" : "the time of kernels",
                  summary.utilisation().value_or(0) > 1 && has_fewer_operations(measured.profile)
                      ? "; above the peak, as Winograd and FFT compute less than is counted"
                      : "");
  if (summary.has_roofs())
    text += fmt::format(
        "of roof: what FLOP at the peak or bytes at the bandwidth of {} take, the longer, over the "
        "time\n",
        printable(summary.machine->title));
  text += fmt::format("more: {}--by {}  --json FILE  --csv FILE  --trace FILE  --html FILE\n",
                      view.layers == every_layer ? "" : "--top all  ",
                      view.by == MeasureBy::type ? "block|pass|layer" : "type|block|pass|layer");
  return text;
}

}  // namespace

std::string to_text(const MeasurementSummary& summary, const MeasureView& view,
                    const TextStyle& style) {
  std::string text = bold(measured_header(summary), style) + "\n\n";
  text += measured_facts(summary) + '\n';
  text += where_measured(summary, view.by, style) + '\n';
  if (view.layers > 0 && view.by != MeasureBy::layer) {
    text += measured_table(summary, lines_of_layers(summary, view.layers),
                           view.layers == every_layer ? "all layers" : "slowest layers", style) +
            '\n';
  }
  if (const std::string counted = counters_text(summary, view, style); !counted.empty())
    text += counted + '\n';
  if (const std::string missing = not_run_text(summary); !missing.empty()) text += missing + '\n';
  for (const std::string& note : summary.measured.notes)
    text += fmt::format("note: {}\n", printable(note));
  if (!summary.measured.notes.empty()) text += '\n';
  text += dim(measured_closing(summary, view), style);
  return style.has_unicode ? text : to_ascii(text);
}

}  // namespace strata
