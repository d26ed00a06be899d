// SPDX-License-Identifier: Apache-2.0
// What counters say of the memory behind measured rows: where their data come from, which level is
// busiest, and how far the bytes and FLOP are from those of the definition.
#include "strata/base/units.hpp"
#include "strata/explain/counter_rows.hpp"
#include "strata/roofline/counted_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata {
namespace {

constexpr double most_hits = 0.5;      // above: most accesses hit
constexpr double much_traffic = 2;     // times the bytes of the tensors
constexpr double busy_crossbar = 0.6;  // of the bandwidth of L2

/// Where the loads of a row find their data.
enum class DataSource : std::uint8_t { l1, l2, dram };
constexpr std::size_t data_sources = 3;

std::optional<DataSource> source_of(const ExplainContext& context, std::size_t at) {
  const auto l1 = row_counter(context, at, "l1_load_hit_rate");
  const auto l2 = row_counter(context, at, "l2_read_hit_rate");
  if (l1 && *l1 >= most_hits) return DataSource::l1;
  if (!l2) return std::nullopt;
  return *l2 >= most_hits ? DataSource::l2 : DataSource::dram;
}

struct SourceWords {
  std::string_view what;
  std::string_view meaning;
  std::string_view advice;
};
// In the order of DataSource.
constexpr std::array<SourceWords, data_sources> source_words = {
    {{"most loads hit L1", "kernels use again what they load, close to where they compute",
      "nothing is lost here: look at what the warps wait for"},
     {"most loads miss L1 and hit L2", "the working set fits L2, but not L1",
      "larger tiles in shared memory or registers use each byte that crosses to an SM more often"},
     {"most loads miss both L1 and L2",
      "the data come from DRAM: read once, or evicted before "
      "they are needed again",
      "do the work where the data are made (fusion), in pieces that L2 holds, or in lower "
      "precision"}}};

/// Bytes between L2 and the SMs.
double crossbar_bytes(const ExplainContext& context, std::size_t at) {
  const auto sum = [&](std::string_view read, std::string_view written) -> std::optional<double> {
    const auto in = row_counter(context, at, read);
    const auto out = row_counter(context, at, written);
    return in && out ? std::optional(*in + *out) : std::nullopt;
  };
  if (const auto crossbar = sum("crossbar_read_bytes", "crossbar_write_bytes")) return *crossbar;
  return sum("l2_read_bytes", "l2_write_bytes").value_or(0);
}

double dram_bytes(const ExplainContext& context, std::size_t at) {
  return row_counter(context, at, "dram_read_bytes").value_or(0) +
         row_counter(context, at, "dram_write_bytes").value_or(0);
}

void add_traffic(const ExplainContext& context, const CounterRows& rows, ProfileFinding& finding) {
  double crossbar = 0;
  double dram = 0;
  for (const std::size_t at : rows.rows) {
    crossbar += crossbar_bytes(context, at);
    dram += dram_bytes(context, at);
  }
  if (crossbar > 0) finding.evidence.push_back({"between L1 and L2", crossbar, Measure::bytes});
  if (dram > 0) finding.evidence.push_back({"of DRAM", dram, Measure::bytes});
}

std::optional<double> level_bandwidth(const Machine& machine, std::string_view name) {
  for (const MemoryLevel& level : machine.memory) {
    if (level.name == name && level.bandwidth_bytes_per_s)
      return level.bandwidth_bytes_per_s->value;
  }
  return std::nullopt;
}

double ratio_of(std::int64_t counted, std::int64_t defined) {
  return defined > 0 ? static_cast<double>(counted) / static_cast<double>(defined) : 0;
}

}  // namespace

void find_cache_hits(const ExplainContext& context, Findings& found) {
  std::array<CounterRows, data_sources> by_source;
  for (std::size_t i = 0; i < data_sources; ++i) {
    by_source[i] = rows_that_weigh(context, [&](const ProfileRow& row, std::size_t at) {
      return source_of(context, at) == static_cast<DataSource>(i) ? row.totals.time_s : 0;
    });
  }
  const auto longest = std::max_element(
      by_source.begin(), by_source.end(),
      [](const CounterRows& a, const CounterRows& b) { return a.time_s < b.time_s; });
  const CounterRows& rows = *longest;
  if (rows.is_empty() || !context.is_noticeable(rows.time_s)) return;
  const auto source = static_cast<std::size_t>(longest - by_source.begin());
  const SourceWords& words = source_words[source];
  const bool is_near = static_cast<DataSource>(source) == DataSource::l1;
  ProfileFinding finding = context.finding(FindingCode::cache_hits, "", is_near ? 0 : rows.time_s);
  const std::string_view shown = is_near ? "l1_load_hit_rate" : "l2_read_hit_rate";
  finding.what = fmt::format(
      "{} in {}, {} of the iteration: {}; {} hits of {}", words.what,
      counted(rows.rows.size(), "row"), percent_of(rows.time_s, context.time_s()), words.meaning,
      is_near ? "L1" : "L2", first_rows_text(context, rows, [&](std::size_t at) {
        return percent_of(row_counter(context, at, shown).value_or(0), 1);
      }));
  finding.evidence = {{"time of these rows", rows.time_s, Measure::seconds}};
  add_share(context, rows, "L1 load hits", "l1_load_hit_rate", finding);
  add_share(context, rows, "L2 read hits", "l2_read_hit_rate", finding);
  add_share(context, rows, "L2 write hits", "l2_write_hit_rate", finding);
  add_traffic(context, rows, finding);
  finding.advice = words.advice;
  found.push_back(std::move(finding));
}

void find_interconnect_bound(const ExplainContext& context, Findings& found) {
  const auto l2 = level_bandwidth(context.machine(), "L2");
  if (!l2 || context.times() == nullptr) return;
  const double dram = context.times()->roofs().outer().bytes_per_s;
  const auto use_of = [&](std::size_t at) {
    return crossbar_bytes(context, at) / (*l2 * context.profile().rows[at].totals.time_s);
  };
  const CounterRows rows = rows_that_weigh(context, [&](const ProfileRow& row, std::size_t at) {
    const double use = use_of(at);
    const bool is_busiest = use > dram_bytes(context, at) / (dram * row.totals.time_s);
    return use >= busy_crossbar && is_busiest ? row.totals.time_s : 0;
  });
  if (rows.is_empty() || !context.is_noticeable(rows.time_s)) return;
  ProfileFinding finding = context.finding(FindingCode::interconnect_bound, "", rows.time_s);
  finding.what = fmt::format(
      "what passes between L1 and L2 comes closer to its limit than DRAM in {}: {} of the "
      "bandwidth of L2",
      counted(rows.rows.size(), "row"),
      first_rows_text(context, rows, [&](std::size_t at) { return percent_of(use_of(at), 1); }));
  finding.evidence = {{"time of these rows", rows.time_s, Measure::seconds}};
  add_traffic(context, rows, finding);
  finding.evidence.push_back({"bandwidth of L2", *l2, Measure::bytes_per_s});
  finding.evidence.push_back({"bandwidth of DRAM", dram, Measure::bytes_per_s});
  finding.advice =
      "more reuse inside an SM: larger tiles in shared memory or registers, wider loads, blocks "
      "that share what they read (clusters)";
  found.push_back(std::move(finding));
}

void find_extra_traffic(const ExplainContext& context, Findings& found) {
  const RowTimes* const times = context.times();
  if (times == nullptr) return;
  const std::vector<RooflineRow>& all = times->rows();
  const auto bytes_ratio = [&](std::size_t at) {
    return all[at].definition ? ratio_of(all[at].work.bytes, all[at].definition->work.bytes) : 0;
  };
  const CounterRows rows = rows_that_weigh(context, [&](const ProfileRow& row, std::size_t at) {
    if (bytes_ratio(at) < much_traffic) return 0.0;
    Work once = all[at].work;
    once.bytes = all[at].definition->work.bytes;
    once.read_bytes = all[at].definition->work.read_bytes;
    const double before_s = all[at].point.roof_s;
    const double after_s = place(once, times->roofs()).roof_s;
    return before_s > 0 ? row.totals.time_s * (1 - std::min(1.0, after_s / before_s)) : 0.0;
  });
  if (rows.is_empty() || !context.is_noticeable(rows.weight_s)) return;
  std::int64_t counted_bytes = 0;
  std::int64_t defined_bytes = 0;
  std::size_t other_algorithms = 0;
  for (const std::size_t at : rows.rows) {
    counted_bytes += all[at].work.bytes;
    defined_bytes += all[at].definition->work.bytes;
    other_algorithms += algorithm_of(all[at]) == Algorithm::fewer_operations ? 1 : 0;
  }
  ProfileFinding finding = context.finding(FindingCode::extra_traffic, "", rows.weight_s);
  const bool is_one = rows.rows.size() == 1;
  finding.what = fmt::format("{} {} {:.1f} times the bytes of {} tensors, {} instead of {}: {}",
                             counted(rows.rows.size(), "row"), is_one ? "moves" : "move",
                             ratio_of(counted_bytes, defined_bytes), is_one ? "its" : "their",
                             format_bytes(static_cast<double>(counted_bytes)),
                             format_bytes(static_cast<double>(defined_bytes)),
                             first_rows_text(context, rows, [&](std::size_t at) {
                               return fmt::format("{:.1f}×", bytes_ratio(at));
                             }));
  finding.evidence = {
      {"time of these rows", rows.time_s, Measure::seconds},
      {"bytes counted", static_cast<double>(counted_bytes), Measure::bytes},
      {"bytes of the tensors", static_cast<double>(defined_bytes), Measure::bytes},
      {"rows by another algorithm", static_cast<double>(other_algorithms), Measure::count}};
  finding.advice =
      2 * other_algorithms > rows.rows.size()
          ? "Winograd's algorithm and the FFT write transformed tensors to memory: compare "
            "algorithms that do not (strata conv), or give less scratch memory"
          : "tensors are read again, converted, unrolled or kept in scratch memory: another "
            "algorithm (strata conv), one layout for all layers, or fusion";
  finding.what_ifs.push_back(
      context.computed("each of their tensors crossed memory once", rows.weight_s));
  found.push_back(std::move(finding));
}

void find_other_algorithm(const ExplainContext& context, Findings& found) {
  if (context.times() == nullptr) return;
  const std::vector<RooflineRow>& all = context.times()->rows();
  const CounterRows rows = rows_that_weigh(context, [&](const ProfileRow& row, std::size_t at) {
    return algorithm_of(all[at]) == Algorithm::fewer_operations ? row.totals.time_s : 0;
  });
  if (rows.is_empty() || !context.is_noticeable(rows.time_s)) return;
  double counted_flop = 0;
  double defined_flop = 0;
  for (const std::size_t at : rows.rows) {
    counted_flop += static_cast<double>(all[at].counted_product_flop);
    defined_flop += static_cast<double>(all[at].product_flop);
  }
  ProfileFinding finding = context.finding(FindingCode::other_algorithm, "", 0);
  const bool is_one = rows.rows.size() == 1;
  finding.what = fmt::format("{} {} {:.2f} times the FLOP of {} definition: {}",
                             counted(rows.rows.size(), "row"), is_one ? "does" : "do",
                             counted_flop / defined_flop, is_one ? "its" : "their",
                             first_rows_text(context, rows, [&](std::size_t at) {
                               const std::string& by = all[at].implementation;
                               return fmt::format("{:.2f}×{}", *counted_over_defined(all[at]),
                                                  by.empty() ? "" : fmt::format(" ({})", by));
                             }));
  finding.evidence = {{"time of these rows", rows.time_s, Measure::seconds},
                      {"FLOP counted", counted_flop, Measure::flop},
                      {"FLOP by definition", defined_flop, Measure::flop}};
  finding.advice =
      "judge these rows by what was counted, as here: a rate of the definition's FLOP can be above "
      "every peak";
  found.push_back(std::move(finding));
}

}  // namespace strata
