// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/predict/option_names.hpp"
#include "strata/profile/joined_rows.hpp"
#include "strata/profile/scope_title.hpp"
#include "strata/report/bar.hpp"
#include "strata/report/counts_text.hpp"
#include "strata/report/explain_report.hpp"
#include "strata/report/prediction_report.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

// "−21 %", "+3 %"; nothing that rounds to zero carries a sign.
std::string change_text(double ratio) {
  const long points = std::lround(100 * (ratio - 1));
  return fmt::format("{}{} %", points < 0 ? "−" : points > 0 ? "+" : "", std::labs(points));
}

std::string hardware_text(const Hardware& hardware) {
  const bool is_one_rate = hardware.dense_flop_per_s == hardware.other_flop_per_s;
  const std::string rate = is_one_rate
                               ? format_flop_per_s(hardware.dense_flop_per_s, 4)
                               : fmt::format("{} for products, {} for the rest",
                                             format_flop_per_s(hardware.dense_flop_per_s, 4),
                                             format_flop_per_s(hardware.other_flop_per_s, 4));
  return fmt::format("{}, {}, {} on-chip", rate, format_bytes_per_s(hardware.bytes_per_s, 4),
                     capacity_text(hardware.capacity_bytes));
}

std::string header(const PredictionSummary& summary) {
  std::string text =
      fmt::format("{}, {}", printable(summary.title),
                  summary.training.inference ? "one inference pass" : "one training iteration");
  for (const Dimension& dimension : summary.dims)
    text += fmt::format(", {} {}", printable(dimension.name), dimension.value);
  text += ", " + summary.profile.subject.setup_or_dtype();
  if (!summary.framework.empty()) text += ", " + summary.framework;
  return fmt::format("{}, on {} ({})", text, printable(summary.machine_title),
                     hardware_text(summary.hardware));
}

std::string choices(const PredictionSummary& summary) {
  std::string text = summary.preset.empty() ? "" : fmt::format("preset {}, ", summary.preset);
  if (summary.is_recorded) {
    text += "as recorded, ";
  } else if (!summary.training.inference) {
    const Optimizer optimizer = summary.training.optimizer;
    text += optimizer == Optimizer::none ? "no update"
                                         : fmt::format("optimizer {}", name_of(optimizer));
    if (summary.training.micro_batches > 1)
      text += fmt::format(", {} micro-batches", summary.training.micro_batches);
    if (summary.training.recompute != Recompute::none)
      text += fmt::format(", recompute {}", name_of(summary.training.recompute));
    text += ", ";
  }
  const PredictOptions& options = summary.options;
  text += fmt::format("policy {}, prefetch {}, offload {}", name_of(options.policy),
                      name_of(options.prefetch.value_or(Prefetch::soonest)),
                      name_of(options.offload.value_or(Offload::look_ahead)));
  if (options.channel != ChannelOrder::loads_first)
    text += fmt::format(", channel {}", name_of(options.channel));
  if (options.objective == Objective::traffic) text += ", least traffic first";
  if (options.granularity_bytes > 0)
    text += fmt::format(", parts of {}", capacity_text(options.granularity_bytes));
  if (summary.hardware.mac_is_one) text += ", a multiply-add counts as 1 operation";
  return text;
}

std::string fact(std::string_view name, std::string_view number, std::string_view text) {
  return fmt::format("  {:<11}  {:>8}   {}\n", name, number, text);
}

std::string bound_fact(const PredictionSummary& summary) {
  const PredictionTotals& totals = summary.totals;
  const std::string compute = format_time(totals.compute_time_s);
  if (!summary.bounds) {
    return fact("lower bound", compute,
                fmt::format("compute alone; no better bound: {}", summary.no_bounds_reason));
  }
  const double bound_s = summary.bounds->time_s;
  const double above = bound_s > 0 ? totals.time_s / bound_s - 1 : 0;
  return fact(
      "lower bound", format_time(bound_s),
      fmt::format("of this order of layers (compute alone {}); the prediction is {}", compute,
                  above < 0.0005 ? "as fast" : fmt::format("{:.1f} % above", 100 * above)));
}

/// A framework without a calibration of its own takes that of another one.
std::string other_calibration_text(const std::string& framework) {
  const std::string& calibrated = framework_named(framework).calibration;
  return calibrated == framework ? "" : fmt::format(" by kernels of {}", calibrated);
}

std::string expected_facts(const PredictionSummary& summary) {
  const ExpectedTime& expected = *summary.expected;
  const double samples_per_s =
      static_cast<double>(summary.totals.samples) / std::max(expected.time_s, 1e-12);
  std::string text = fact(
      "expected", format_time(expected.time_s),
      fmt::format(
          "({} to {})   {} samples/s   {} {}   {}, {} {}", format_time(expected.low_s),
          format_time(expected.high_s), format_count(samples_per_s),
          busy_title(summary.machine_kind), percent(expected.busy_s / expected.time_s),
          expected.framework, name_of(expected.calibration),
          fmt::format("{} {}{}", expected.calibration == CalibrationUse::calibrated ? "on" : "from",
                      expected.calibrated_on, other_calibration_text(expected.framework))));
  text += fact("evidence", "", text_of(expected.checked));
  text += fact("lost to", format_time(expected.time_s - expected.arithmetic_s),
               lost_text(*summary.profile.expected));
  if (expected.is_host_bound())
    text += fact(
        "host-bound", format_time(expected.host_s),
        fmt::format("to dispatch on {}: a larger batch{} help, a faster GPU hardly",
                    printable(text_of(expected.host)),
                    framework_named(expected.framework).fusion ? " or CUDA graphs"
                                                               : ", CUDA graphs or torch.compile"));
  double uncovered = 0;
  for (const UncoveredClass& one : expected.uncovered) uncovered += one.share;
  if (uncovered >= 0.01)
    text +=
        fact("uncovered", percent(uncovered), "of the kernels are of classes that nobody measured");
  if (!expected.unknown_operators.empty())
    text += fact(
        "left out", fmt::format("{}", expected.unknown_operators.size()),
        fmt::format("operators without a rule: {}",
                    printable(fmt::format("{}", fmt::join(expected.unknown_operators, ", ")))));
  return text;
}

std::string memory_fact(const PredictionSummary& summary) {
  const std::string needed = capacity_text(summary.needed_memory_bytes());
  std::string text = "peak of weights, gradients, optimizer state and saved activations";
  if (!summary.fits_device()) {
    text = out_of_memory_text(*summary.memory());
  } else if (summary.device_memory_bytes) {
    text = fmt::format("peak; fits in {}", format_capacity(*summary.device_memory_bytes));
  }
  return fact("memory", needed, text);
}

std::string memory_headline(const MemoryNeed& memory) {
  const std::string changes = memory_changes_text(memory);
  return fmt::format("  {}\n{}\n", out_of_memory_text(memory),
                     changes.empty() ? "" : fmt::format("  {}\n", changes));
}

std::string facts(const PredictionSummary& summary) {
  const PredictionTotals& totals = summary.totals;
  const double peak = summary.hardware.bytes_per_s;
  std::string text;
  if (summary.expected) {
    if (!summary.fits_device()) text += memory_headline(*summary.memory());
    text += expected_facts(summary);
  }
  text +=
      fact(summary.expected ? "limit" : "time", format_time(totals.time_s),
           fmt::format("{} samples/s   compute busy {}{}", format_count(totals.samples_per_s),
                       percent(totals.utilisation),
                       summary.expected ? "   perfect kernels; Winograd and FFT can beat it" : ""));
  text += bound_fact(summary);
  text +=
      fact("traffic", bytes_text(totals.traffic_bytes()),
           fmt::format("{} in, {} out   average {}, {} of peak",
                       bytes_text(totals.traffic_in_bytes), bytes_text(totals.traffic_out_bytes),
                       format_bytes_per_s(totals.average_bandwidth_bytes_per_s),
                       percent(totals.average_bandwidth_bytes_per_s / peak)));
  if (summary.least_traffic_bytes) {
    const double least = to_double(*summary.least_traffic_bytes);
    const double gap = to_double(totals.traffic_bytes()) / least - 1;
    text += fact("least", format_bytes(least),
                 gap < 1e-9 ? "of traffic; the solver proves that no plan moves less"
                            : fmt::format("of traffic at least; the solver found a plan {:.2f} % "
                                          "above that in its time",
                                          100 * gap));
  }
  text += memory_fact(summary);
  if (!summary.sliced_steps.empty()) {
    text +=
        fact("cut", bytes_text(totals.refetch_bytes),
             fmt::format("read again; steps with their weight cut: {}, as {} needs {}",
                         format_exact(static_cast<std::int64_t>(summary.sliced_steps.size())),
                         printable(summary.minimum.step), capacity_text(summary.minimum.bytes)));
  }
  if (!summary.cut_row_steps.empty()) {
    text += fact("cut rows", format_exact(static_cast<std::int64_t>(summary.cut_row_steps.size())),
                 fmt::format("steps stream rows in parts: one row of each tensor of {} takes {}",
                             printable(summary.widest.step), capacity_text(summary.widest.bytes)));
  }
  if (!summary.tolerated_steps.empty()) {
    text +=
        fact("tolerated", format_exact(static_cast<std::int64_t>(summary.tolerated_steps.size())),
             fmt::format("steps need slightly more than the capacity and run as if they fitted: {} "
                         "needs {}",
                         printable(summary.minimum.step),
                         format_capacity(to_double(summary.minimum.bytes), 4)));
  }
  return text;
}

// Whether arithmetic or memory limits the row.
std::string limit_text(const Totals& totals, std::string_view cause) {
  const double stalled = totals.time_s > 0 ? totals.stall_s / totals.time_s : 0;
  if (stalled < 0.05) return "compute";
  if (totals.traffic_bytes() == 0 && totals.steps == 0) return "memory";  // after the last step
  return fmt::format("{}: {} in, {} out{}{}", stalled > 0.5 ? "memory" : "compute and memory",
                     bytes_text(totals.in_bytes), bytes_text(totals.out_bytes),
                     cause.empty() ? "" : "; waits for ", printable(cause));
}

std::string stall_cell(const Totals& totals) {
  return totals.stall_s < 1e-3 * totals.time_s ? "" : format_time(totals.stall_s);
}

struct TimeRow {
  std::string name;
  std::string pass;
  const Totals* totals;
  std::string cause;
  double expected_s = 0;  ///< of its kernels; 0: no framework is asked for
};

std::string time_table(const PredictionSummary& summary, const std::vector<TimeRow>& rows,
                       std::string_view title, const TextStyle& style) {
  const bool has_passes =
      std::any_of(rows.begin(), rows.end(), [](const TimeRow& row) { return !row.pass.empty(); });
  const bool has_expected = summary.expected.has_value();
  Table table({{.title = std::string(title), .least_width = 16, .omit = Omit::beginning},
               {.title = "", .is_shown = has_passes},
               {.title = "", .leaves = 3},
               {.title = "share", .align = Align::right},
               {.title = has_expected ? "limit" : "time", .align = Align::right, .leaves = 1},
               {.title = "expected", .align = Align::right, .is_shown = has_expected},
               {.title = "stall", .align = Align::right},
               {.title = "what limits", .least_width = 10, .leaves = 2}});
  // Shares are of the expected time where there is one: that is what a user waits for.
  const double all_s = has_expected ? summary.expected->time_s : summary.totals.time_s;
  const auto shown_s = [&](const TimeRow& row) {
    return has_expected ? row.expected_s : row.totals->time_s;
  };
  double longest_s = 0;
  for (const TimeRow& row : rows) longest_s = std::max(longest_s, shown_s(row));
  for (const TimeRow& row : rows) {
    const Totals& totals = *row.totals;
    table.add_row({printable(row.name), row.pass, bar(longest_s > 0 ? shown_s(row) / longest_s : 0),
                   percent(all_s > 0 ? shown_s(row) / all_s : 0), format_time(totals.time_s),
                   row.expected_s > 0 ? format_time(row.expected_s) : "", stall_cell(totals),
                   limit_text(totals, row.cause)});
  }
  return table.to_text(style);
}

std::vector<TimeRow> layer_rows(const PredictionSummary& summary, std::size_t most) {
  std::vector<TimeRow> rows;
  for (const ProfileRow& row : summary.profile.rows)
    rows.push_back({row.layer, pass_title(row.pass, row.op), &row.totals, row.cause,
                    row.expected ? row.expected->busy_s : 0});
  if (most == all_layers) return rows;
  const bool has_expected = summary.expected.has_value();
  std::stable_sort(rows.begin(), rows.end(), [&](const TimeRow& a, const TimeRow& b) {
    return has_expected ? a.expected_s > b.expected_s : a.totals->time_s > b.totals->time_s;
  });
  rows.resize(std::min(rows.size(), most));
  return rows;
}

const std::vector<ProfileGroup>& groups_of(const PredictionSummary& summary, PredictBy by) {
  switch (by) {
    case PredictBy::block: return summary.by_block;
    case PredictBy::pass: return summary.by_pass;
    case PredictBy::layer_class: return summary.by_class;
    case PredictBy::type:
    case PredictBy::layer: break;
  }
  return summary.by_type;
}

// Groups that hardly take time are one line; it stands last, whatever it adds up to.
std::vector<TimeRow> group_rows(const std::vector<ProfileGroup>& groups, PredictBy by,
                                double total_s, Totals& rest) {
  std::vector<TimeRow> rows;
  std::size_t left_out = 0;
  double rest_expected_s = 0;
  for (const ProfileGroup& group : groups) {
    if (by == PredictBy::type && group.totals.time_s < least_shown_share * total_s) {
      rest += group.totals;
      rest_expected_s += group.expected_s;
      ++left_out;
    } else {
      rows.push_back({group.name, "", &group.totals, "", group.expected_s});
    }
  }
  if (left_out > 0)
    rows.push_back({fmt::format("{} more", left_out), "", &rest, "", rest_expected_s});
  return rows;
}

std::string where(const PredictionSummary& summary, const PredictView& view,
                  const TextStyle& style) {
  Totals rest;
  Totals drain;  // belongs to no layer; with its line shares add up to the iteration
  drain.time_s = drain.stall_s = summary.totals.drain_time_s;
  std::vector<TimeRow> rows =
      view.by == PredictBy::layer
          ? layer_rows(summary, all_layers)
          : group_rows(groups_of(summary, view.by), view.by, summary.totals.time_s, rest);
  if (drain.time_s >= least_shown_share * summary.totals.time_s && drain.time_s > 0)
    rows.push_back({"last write-backs", "", &drain, ""});
  return time_table(summary, rows, "where the time goes", style);
}

std::string reuse_line(const PredictionSummary& summary) {
  std::string text;
  for (const ScopeReuse& scope : summary.reuse) {
    if (scope.offered_bytes == 0) continue;
    const double captured = to_double(scope.captured_bytes) / to_double(scope.offered_bytes);
    text += fmt::format("   {} {}", title_of_scope(scope.scope), percent(captured));
    if (scope.captured_bytes < scope.offered_bytes)
      text += fmt::format(" (all: {})", capacity_text(scope.capacity_100_bytes));
  }
  return text.empty() ? "" : fmt::format("  kept on chip   {}\n", text);
}

// Changes that gain less than 1 % are only named.
std::string changes_line(const PredictionSummary& summary, bool of_expected,
                         std::string_view title) {
  std::string helps;
  std::vector<std::string> others;
  for (const Alternative& alternative : summary.alternatives) {
    if (alternative.is_expected != of_expected) continue;
    if (!alternative.reason.empty()) {
      others.push_back(fmt::format("{}: {}", alternative.change,
                                   alternative.reason.substr(0, alternative.reason.find(':'))));
      continue;
    }
    const double speed =
        alternative.changes_samples ? alternative.speed_ratio : 1 / alternative.time_ratio;
    if (speed < 1.01) {
      others.push_back(alternative.change);
    } else {
      helps += fmt::format("   {} {}", alternative.change,
                           alternative.changes_samples
                               ? change_text(alternative.speed_ratio) + " samples/s"
                               : change_text(alternative.time_ratio));
    }
  }
  if (!others.empty()) helps += fmt::format("   (not {})", fmt::join(others, ", "));
  return helps.empty() ? "" : fmt::format("  {}{}\n", title, helps);
}

/// Of what is out of memory: the changes with which it runs.
std::string fitting_line(const PredictionSummary& summary) {
  const double samples_per_s = summary.profile.expected->samples_per_s;
  std::string text;
  for (const Alternative& one : summary.alternatives) {
    if (one.is_expected && one.reason.empty())
      text += fmt::format("   {}: {} samples/s", one.change,
                          format_count(samples_per_s * one.speed_ratio));
  }
  return text.empty() ? "" : fmt::format("  what fits      {}\n", text);
}

std::string help_line(const PredictionSummary& summary) {
  if (!summary.expected) return changes_line(summary, false, "what would help");
  if (!summary.fits_device()) return fitting_line(summary);
  return changes_line(summary, true, "what would help") +
         changes_line(summary, false, "and the limit  ");
}

std::string closing(const PredictionSummary& summary, const PredictView& view) {
  std::string text =
      fmt::format("{}; {} (strata help predict)\n", choices(summary),
                  summary.expected ? "rows show the limit, and the expected time beside it"
                                   : "a limit, not a calibrated time");
  text += fmt::format(
      "more: {}--by {}  --json FILE  --csv FILE  --trace FILE  --html FILE\n",
      view.layers == all_layers ? "" : "--top all  ",
      view.by == PredictBy::type ? "block|pass|class|layer" : "type|block|pass|class|layer");
  return text;
}

}  // namespace

std::string to_text(const PredictionSummary& summary, const PredictView& view,
                    const TextStyle& style) {
  std::string text = bold(header(summary), style) + "\n\n";
  text += facts(summary) + '\n';
  text += where(summary, view, style) + '\n';
  const std::string advice = reuse_line(summary) + help_line(summary);
  if (!advice.empty()) text += advice + '\n';
  if (view.layers > 0 && view.by != PredictBy::layer) {
    const bool is_all = view.layers == all_layers;
    text += time_table(summary, layer_rows(summary, view.layers),
                       is_all ? "all layers" : "slowest layers", style) +
            '\n';
  }
  text += dim(closing(summary, view), style);
  return style.has_unicode ? text : to_ascii(text);
}

}  // namespace strata
