// SPDX-License-Identifier: Apache-2.0
// What waiting for memory costs, by operator and by layer; what only moves data.
#include "strata/base/units.hpp"
#include "strata/explain/explain_context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr double large_layer_share = 0.1;  // of the iteration
constexpr double large_layer_ratio = 3;    // of the mean layer
constexpr double zero_flop_share = 0.02;

/// What a row reads and writes itself. Under its roof a predicted row has the bytes that moved
/// while it ran, for other rows, too: they say when it waits, not what it needs.
double own_bytes(const ExplainContext& context, std::size_t row) {
  const ProfileRow& of = context.profile().rows[row];
  return static_cast<double>(of.moved ? of.totals.traffic_bytes()
                                      : context.times()->rows()[row].work.bytes);
}

/// Rows of one operator that wait for memory, and how long.
struct Waiting {
  std::vector<std::size_t> rows;
  double time_s = 0;
  double waited_s = 0;
  double bytes = 0;
  double flop = 0;
  std::size_t worst = 0;  // the row that waits longest
  double worst_s = 0;
};

Waiting waiting_of(const ExplainContext& context, const RowSet& set) {
  const RowTimes& times = *context.times();
  Waiting waiting;
  for (const std::size_t i : set.rows) {
    const ProfileRow& row = context.profile().rows[i];
    if (is_communication(row)) continue;  // it waits for links and for other ranks
    const RooflinePoint& point = times.rows()[i].point;
    const double waited_s = row.totals.time_s - times.without_traffic_s(i);
    // A measured row is not memory-bound when launches or the peak limit it, or when it takes much
    // longer than its bytes.
    if (context.has_kernel_times() && (point.bound != Bound::memory || times.is_far_from_roof(i)))
      continue;
    if (waited_s <= 0) continue;
    waiting.rows.push_back(i);
    waiting.time_s += row.totals.time_s;
    waiting.waited_s += waited_s;
    waiting.bytes += own_bytes(context, i);
    waiting.flop += static_cast<double>(times.rows()[i].work.flop);
    if (waited_s > waiting.worst_s) {
      waiting.worst_s = waited_s;
      waiting.worst = i;
    }
  }
  return waiting;
}

std::string memory_advice(const ExplainContext& context, const Waiting& waiting,
                          const RooflinePoint& worst) {
  const double intensity = waiting.bytes > 0 ? waiting.flop / waiting.bytes : 0;
  if (intensity >= worst.balance) {
    return context.facts() != nullptr
               ? "it does enough arithmetic per byte, but its bytes come late: more on-chip memory "
                 "lets them stay, a longer prefetch lets them come in time"
               : "it does enough arithmetic per byte, but its bytes come late: load ahead";
  }
  return fmt::format(
      "it does {:.2g} FLOP per byte where the machine does {:.3g}: do its arithmetic in the kernel "
      "that makes or takes its data (fusion), keep that data on chip, or store it in lower "
      "precision",
      intensity, worst.balance);
}

}  // namespace

void find_memory_bound(const ExplainContext& context, Findings& found) {
  if (context.times() == nullptr) return;
  for (const RowSet& set : rows_by(context.profile(), operator_of)) {
    if (set.name == "gradient_sum" || set.name == "update") continue;  // findings of their own
    const Waiting waiting = waiting_of(context, set);
    if (waiting.rows.empty() || !context.is_noticeable(waiting.waited_s)) continue;
    const ProfileRow& worst = context.profile().rows[waiting.worst];
    const RooflinePoint& point = context.times()->rows()[waiting.worst].point;
    ProfileFinding finding = context.finding(FindingCode::memory_bound, set.name, waiting.waited_s);
    finding.what =
        fmt::format("{} waits {} for memory in {}, {} of the iteration; longest {}, {}", set.name,
                    format_time(waiting.waited_s), counted(waiting.rows.size(), "row"),
                    percent_of(waiting.waited_s, context.time_s()), row_name(worst),
                    format_time(waiting.worst_s));
    finding.evidence = {{"time of these rows", waiting.time_s, Measure::seconds},
                        {"waits for memory", waiting.waited_s, Measure::seconds},
                        {"bytes", waiting.bytes, Measure::bytes},
                        {"FLOP per byte", waiting.bytes > 0 ? waiting.flop / waiting.bytes : 0,
                         Measure::flop_per_byte},
                        {"balance of the machine", point.balance, Measure::flop_per_byte}};
    finding.advice = memory_advice(context, waiting, point);
    finding.what_ifs.push_back(
        context.computed(fmt::format("the traffic of {} were free", set.name), waiting.waited_s));
    if (waiting.rows.size() > 1) {
      finding.what_ifs.push_back(context.computed(
          fmt::format("the traffic of {} were free", row_name(worst)), waiting.worst_s));
    }
    found.push_back(std::move(finding));
  }
}

void find_one_layer(const ExplainContext& context, Findings& found) {
  auto layers = rows_by(context.profile(), [](const ProfileRow& row) { return row.layer; });
  // Communication is no layer: it has a finding of its own.
  std::erase_if(layers, [&](const RowSet& layer) {
    return is_communication(context.profile().rows[layer.rows.front()]);
  });
  if (layers.empty()) return;
  const auto longest =
      std::max_element(layers.begin(), layers.end(),
                       [](const RowSet& a, const RowSet& b) { return a.time_s < b.time_s; });
  double rows_s = 0;
  for (const RowSet& layer : layers) rows_s += layer.time_s;
  const double mean_s = rows_s / static_cast<double>(layers.size());
  if (longest->time_s < large_layer_share * context.time_s() ||
      longest->time_s < large_layer_ratio * mean_s)
    return;
  ProfileFinding finding = context.finding(FindingCode::one_layer, longest->name, longest->time_s);
  finding.what =
      fmt::format("{} takes {} of the iteration, {:.1f} times the mean layer", longest->name,
                  percent_of(longest->time_s, context.time_s()), longest->time_s / mean_s);
  finding.evidence = {{"time", longest->time_s, Measure::seconds},
                      {"mean layer", mean_s, Measure::seconds},
                      {"layers", static_cast<double>(layers.size()), Measure::count}};
  double waited_s = 0;
  double above_roof_s = 0;
  if (const RowTimes* times = context.times()) {
    double flop = 0;
    double bytes = 0;
    for (const std::size_t i : longest->rows) {
      const Totals& totals = context.profile().rows[i].totals;
      waited_s += totals.time_s - times->without_traffic_s(i);
      above_roof_s += totals.time_s - times->at_roof_s(i);
      flop += static_cast<double>(times->rows()[i].work.flop);
      bytes += own_bytes(context, i);
    }
    finding.evidence.push_back({"FLOP", flop, Measure::flop});
    finding.evidence.push_back({"bytes", bytes, Measure::bytes});
    finding.what_ifs.push_back(
        context.computed(fmt::format("the traffic of {} were free", longest->name), waited_s));
    if (context.has_kernel_times())
      finding.what_ifs.push_back(
          context.computed(fmt::format("{} ran at its roof", longest->name), above_roof_s));
  }
  finding.what_ifs.push_back(
      context.computed(fmt::format("{} took half its time", longest->name), longest->time_s / 2));
  const double half_s = longest->time_s / 2;
  finding.advice =
      context.times() == nullptr ? "begin with its kernels; whether arithmetic or memory limits "
                                   "them cannot be told without "
                                   "FLOP, bytes and the roofs of the machine"
      : context.has_kernel_times() && above_roof_s > half_s
          ? "most of it is neither its arithmetic nor its bytes: another kernel here pays more "
            "than anywhere else"
      : waited_s > half_s
          ? "most of it is waiting for memory: begin there before anything else"
          : "most of it is arithmetic: a better algorithm, lower precision or fewer channels here "
            "pay more than anywhere else";
  found.push_back(std::move(finding));
}

void find_zero_flop(const ExplainContext& context, Findings& found) {
  if (!context.profile().columns.has_flop) return;
  double time_s = 0;
  std::int64_t launches = 0;
  const ProfileRow* longest = nullptr;
  for (const ProfileRow& row : context.profile().rows) {
    time_s += row.totals.zero_flop_s;
    launches += row.totals.zero_flop_launches;
    if (longest == nullptr || row.totals.zero_flop_s > longest->totals.zero_flop_s) longest = &row;
  }
  if (longest == nullptr || time_s < zero_flop_share * context.time_s()) return;
  ProfileFinding finding = context.finding(FindingCode::zero_flop, "", time_s);
  finding.what =
      fmt::format("{} without any arithmetic take {}, {} of the iteration; longest {}",
                  counted(static_cast<std::size_t>(launches), "kernel"), format_time(time_s),
                  percent_of(time_s, context.time_s()), row_name(*longest));
  finding.evidence = {{"time", time_s, Measure::seconds},
                      {"kernels", static_cast<double>(launches), Measure::count},
                      {"longest", longest->totals.zero_flop_s, Measure::seconds}};
  finding.advice =
      "copies and changes of layout: let neighbours agree on one layout, write concatenations in "
      "place, and take views instead of copies";
  finding.what_ifs.push_back(context.computed("they were not there", time_s));
  found.push_back(std::move(finding));
}

}  // namespace strata
