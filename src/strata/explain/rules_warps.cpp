// SPDX-License-Identifier: Apache-2.0
// What counters say of the warps of measured rows: what they wait for, how many there are, and how
// well their loads, stores and branches use the device.
#include "strata/base/units.hpp"
#include "strata/explain/counter_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

namespace strata {
namespace {

constexpr double large_stall_share = 0.05;  // of the iteration
constexpr double counted_occupancy = 0.25;  // below: low
constexpr double busy_processors = 0.5;     // share of cycles with work, below: few blocks
constexpr double half_efficiency = 0.5;     // below: more is moved or issued in vain than is used
constexpr std::size_t next_reasons = 2;     // behind the main one
constexpr std::size_t slow_rows = 3;        // whose own reason is told
constexpr std::string_view stall_prefix = "stall_";

/// What helps against a reason; those with no entry have nothing that a user can do.
const std::map<std::string_view, std::string_view>& stall_advice() {
  static const std::map<std::string_view, std::string_view> advice = {
      {"long_scoreboard",
       "more loads in flight (wider loads, more independent work per thread), or data closer: "
       "larger tiles, fusion, a layout in which neighbours are read together"},
      {"lg_throttle",
       "fewer and wider loads and stores: 16 bytes per access, or through shared memory"},
      {"short_scoreboard",
       "fewer accesses of shared memory per operation (more in registers, wider accesses), fewer "
       "special functions; another algorithm or library may have a kernel that does (strata conv)"},
      {"mio_throttle",
       "fewer accesses of shared memory per operation (more in registers, wider accesses), fewer "
       "special functions; another algorithm or library may have a kernel that does (strata conv)"},
      {"barrier", "smaller blocks, or work that is shared out more evenly between barriers"},
      {"math_pipe_throttle",
       "the arithmetic unit is busy, as it should be: lower precision or matrix units, which do "
       "more per instruction"},
      {"gmma",
       "the matrix units are busy, as they should be: lower precision, which does more per "
       "instruction"},
      {"wait", "more warps, or more independent instructions of each, hide fixed latencies"},
      {"dispatch_stall", "more warps, or more independent instructions of each"},
      {"no_instruction", "smaller kernels: less unrolling, so that the code stays in its cache"},
      {"branch_resolving", "fewer branches in inner loops"},
      {"imc_miss", "fewer constants, or the same ones for all threads of a warp"},
      {"drain", "fewer or wider stores at the end of a kernel, or longer kernels"},
      {"membar", "fewer memory barriers and atomic sums"},
      {"tex_throttle", "fewer texture accesses, or wider ones"}};
  return advice;
}

/// Time of the rows × share of their warps' cycles that wait so.
struct StallReason {
  std::string name;
  std::string about;
  double waited_s = 0;
};

std::vector<StallReason> stall_reasons(const ExplainContext& context) {
  std::vector<StallReason> reasons;
  for (const CounterColumn& column : context.profile().counters.columns) {
    if (!column.key.starts_with(stall_prefix)) continue;
    const std::string name = column.key.substr(stall_prefix.size());
    // A sum of others, and what is no waiting.
    if (name == "data_access" || name == "selected" || name == "not_selected") continue;
    const CounterRows rows = rows_that_weigh(context, [&](const ProfileRow& row, std::size_t at) {
      return row.totals.time_s * row_counter(context, at, column.key).value_or(0);
    });
    if (!rows.is_empty()) reasons.push_back({name, column.about, rows.weight_s});
  }
  std::stable_sort(reasons.begin(), reasons.end(), [](const StallReason& a, const StallReason& b) {
    return a.waited_s > b.waited_s;
  });
  return reasons;
}

struct EfficiencyColumn {
  FindingCode code;
  std::vector<std::string_view> keys;  ///< the lowest counts
  std::string_view what;
  std::string_view advice;
};

const std::vector<EfficiencyColumn>& efficiency_columns() {
  static const std::vector<EfficiencyColumn> columns = {
      {FindingCode::uncoalesced,
       {"gld_efficiency", "gst_efficiency"},
       "of the bytes that global loads or stores moved were asked for",
       "let neighbouring threads read and write neighbouring addresses; change the layout of the "
       "tensor"},
      {FindingCode::bank_conflicts,
       {"shared_efficiency"},
       "of what accesses of shared memory could move was moved: they fall on the same banks, or "
       "many threads read the same words",
       "pad or swizzle the tiles in shared memory; words that many threads share cost nothing"},
      {FindingCode::divergence,
       {"warp_execution_efficiency"},
       "of the threads of a warp were active in an instruction",
       "sort the work so that threads of a warp take the same branch; choose sizes that fill "
       "warps"}};
  return columns;
}

std::optional<double> lowest(const ExplainContext& context, std::size_t at,
                             const std::vector<std::string_view>& keys) {
  std::optional<double> least;
  for (const std::string_view key : keys) {
    const auto value = row_counter(context, at, key);
    if (value && (!least || *value < *least)) least = value;
  }
  return least;
}

/// The main reason of one row; nothing where none was counted.
std::optional<EvidenceNumber> main_reason_of(const ExplainContext& context, std::size_t at,
                                             const std::vector<StallReason>& reasons) {
  std::optional<EvidenceNumber> main;
  for (const StallReason& reason : reasons) {
    const auto share = row_counter(context, at, std::string(stall_prefix) + reason.name);
    if (!share || (main && *share <= main->value)) continue;
    main = {fmt::format("{}: {}", row_name(context.profile().rows[at]), reason.name), *share,
            Measure::share};
  }
  return main;
}

/// The slowest rows, each with its own main reason.
void add_slowest_rows(const ExplainContext& context, const std::vector<StallReason>& reasons,
                      ProfileFinding& finding) {
  const CounterRows slowest = rows_that_weigh(
      context, [](const ProfileRow& row, std::size_t) { return row.totals.time_s; });
  for (std::size_t i = 0; i < std::min(slow_rows, slowest.rows.size()); ++i) {
    if (auto main = main_reason_of(context, slowest.rows[i], reasons))
      finding.evidence.push_back(std::move(*main));
  }
}

void find_efficiency(const ExplainContext& context, const EfficiencyColumn& column,
                     Findings& found) {
  const CounterRows rows = rows_that_weigh(context, [&](const ProfileRow& row, std::size_t at) {
    const auto share = lowest(context, at, column.keys);
    return share && *share < half_efficiency ? row.totals.time_s * (1 - *share) : 0;
  });
  if (rows.is_empty() || !context.is_noticeable(rows.weight_s)) return;
  ProfileFinding finding = context.finding(column.code, "", rows.weight_s);
  finding.what =
      fmt::format("less than half {}, in {}: {}", column.what, counted(rows.rows.size(), "row"),
                  first_rows_text(context, rows, [&](std::size_t at) {
                    return percent_of(lowest(context, at, column.keys).value_or(0), 1);
                  }));
  finding.evidence = {{"time of these rows", rows.time_s, Measure::seconds}};
  for (const std::string_view key : column.keys)
    add_share(context, rows, std::string(key), key, finding);
  finding.advice = column.advice;
  found.push_back(std::move(finding));
}

/// "registers in 71 % of their time, shared memory in 20 %": what the launches say, where kernels
/// were traced; else what can limit them.
std::string limits_text(const ExplainContext& context, const CounterRows& rows) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> limits = {
      {{"limited_by_registers", "registers"},
       {"limited_by_shared_memory", "shared memory"},
       {"limited_by_block_size", "the size of the block"}}};
  constexpr double small_share = 0.005;
  std::vector<std::pair<double, std::string_view>> shares;
  for (const auto& [key, what] : limits)
    if (const auto share = mean_counter(context, rows, key); share && *share >= small_share)
      shares.emplace_back(*share, what);
  if (shares.empty()) return "registers, shared memory or the size of the block limit them";
  std::sort(shares.begin(), shares.end(), std::greater<>());
  std::string text;
  for (const auto& [share, what] : shares)
    text += fmt::format("{}{} in {}{}", text.empty() ? "" : ", ", what, percent_of(share, 1),
                        text.empty() ? " of their time" : "");
  return text + " limit them";
}

}  // namespace

void find_warp_stalls(const ExplainContext& context, Findings& found) {
  const std::vector<StallReason> reasons = stall_reasons(context);
  if (reasons.empty() || reasons[0].waited_s < large_stall_share * context.time_s()) return;
  const StallReason& main = reasons[0];
  const std::string key = std::string(stall_prefix) + main.name;
  const CounterRows rows = rows_that_weigh(context, [&](const ProfileRow& row, std::size_t at) {
    return row.totals.time_s * row_counter(context, at, key).value_or(0);
  });
  CounterRows most = rows;  // nearly all rows wait so; the others tell nothing
  most.rows.resize(std::min(slow_rows, most.rows.size()));
  ProfileFinding finding = context.finding(FindingCode::warp_stalls, main.name, main.waited_s);
  finding.what =
      fmt::format("warps spend {} of the time {} ({}), more than for any other reason; most in {}",
                  percent_of(main.waited_s, rows.time_s), main.about, main.name,
                  first_rows_text(context, most, [&](std::size_t at) {
                    return percent_of(row_counter(context, at, key).value_or(0), 1);
                  }));
  finding.evidence = {{"time of these rows", rows.time_s, Measure::seconds},
                      {main.name, main.waited_s / rows.time_s, Measure::share}};
  for (std::size_t i = 1; i < std::min(1 + next_reasons, reasons.size()); ++i)
    finding.evidence.push_back(
        {reasons[i].name, reasons[i].waited_s / rows.time_s, Measure::share});
  add_share(context, rows, "of the waiting, for data", "stall_data_access", finding);
  add_share(context, rows, "ready, another warp was taken", "stall_not_selected", finding);
  add_share(context, rows, "issuing", "stall_selected", finding);
  add_slowest_rows(context, reasons, finding);
  const auto advice = stall_advice().find(main.name);
  finding.advice = advice == stall_advice().end() ? "nothing to do about it from outside the kernel"
                                                  : std::string(advice->second);
  found.push_back(std::move(finding));
}

void find_counted_occupancy(const ExplainContext& context, Findings& found) {
  if (context.times() == nullptr) return;
  const CounterRows rows = rows_that_weigh(context, [&](const ProfileRow& row, std::size_t at) {
    const bool is_low = row_counter(context, at, "occupancy").value_or(1) < counted_occupancy;
    const bool has_blocks = row_counter(context, at, "sm_active").value_or(1) >= busy_processors;
    return is_low && has_blocks && context.times()->is_far_from_roof(at) ? row.totals.time_s : 0;
  });
  if (rows.is_empty() || !context.is_noticeable(rows.weight_s)) return;
  ProfileFinding finding = context.finding(FindingCode::low_occupancy, "", rows.weight_s);
  finding.what = fmt::format(
      "less than a quarter of the warps that a multiprocessor holds were resident in {} far from "
      "the roof, although multiprocessors had blocks to run: {}; {}",
      counted(rows.rows.size(), "row"), limits_text(context, rows),
      first_rows_text(context, rows, [&](std::size_t at) {
        return percent_of(row_counter(context, at, "occupancy").value_or(0), 1);
      }));
  finding.evidence = {{"time of these rows", rows.time_s, Measure::seconds}};
  add_share(context, rows, "occupancy", "occupancy", finding);
  add_share(context, rows, "occupancy that the launches allow", "possible_occupancy", finding);
  add_share(context, rows, "cycles with work", "sm_active", finding);
  if (const auto ipc = mean_counter(context, rows, "ipc"))
    finding.evidence.push_back({"instructions per cycle", *ipc, Measure::ratio});
  finding.advice =
      "fewer registers per thread or less shared memory per block (smaller tiles); strata trace "
      "says which of them limits a kernel";
  found.push_back(std::move(finding));
}

void find_idle_processors(const ExplainContext& context, Findings& found) {
  const CounterRows rows = rows_that_weigh(context, [&](const ProfileRow& row, std::size_t at) {
    const double busy = row_counter(context, at, "sm_active").value_or(1);
    return busy < busy_processors ? row.totals.time_s * (1 - busy) : 0;
  });
  if (rows.is_empty() || !context.is_noticeable(rows.weight_s)) return;
  ProfileFinding finding = context.finding(FindingCode::few_blocks, "", rows.weight_s);
  finding.what = fmt::format(
      "multiprocessors had work in less than half of the cycles in {}: {}",
      counted(rows.rows.size(), "row"), first_rows_text(context, rows, [&](std::size_t at) {
        return percent_of(row_counter(context, at, "sm_active").value_or(0), 1);
      }));
  finding.evidence = {{"time of these rows", rows.time_s, Measure::seconds}};
  add_share(context, rows, "cycles with work", "sm_active", finding);
  add_share(context, rows, "occupancy", "occupancy", finding);
  finding.advice =
      "too few blocks, or kernels too short to fill the device: a larger batch, fusion, or several "
      "such kernels at once in streams of their own";
  found.push_back(std::move(finding));
}

void find_access_efficiency(const ExplainContext& context, Findings& found) {
  for (const EfficiencyColumn& column : efficiency_columns())
    find_efficiency(context, column, found);
}

}  // namespace strata
