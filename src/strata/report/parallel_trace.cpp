// SPDX-License-Identifier: Apache-2.0
// What ranks do when, for Perfetto: a process per stage, a track per stream.
#include "strata/base/printable.hpp"
#include "strata/report/parallel_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <iterator>
#include <set>

namespace strata {
namespace {

/// Whole ticks of 0.1 ns: what ends where another begins does so in the file, too.
long long tick_of(double time_s) { return std::llround(1e10 * time_s); }
double microseconds_of(long long ticks) { return static_cast<double>(ticks) / 1e4; }

std::string trace_name(std::string_view text) {
  return printable_json(
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

std::string to_trace(const ParallelSummary& summary) {
  std::string text = "{\"traceEvents\":[";
  const auto out = std::back_inserter(text);
  const RankIteration& iteration = summary.result.iteration;
  std::string_view separator;
  const auto next = [&] {
    text += separator;
    separator = ",";
    text += '\n';
  };
  for (std::size_t rank = 0; rank < iteration.ranks.size(); ++rank) {
    next();
    fmt::format_to(out, R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":{}}}}})", rank,
                   trace_name(fmt::format("stage {}: {}", rank, summary.stages[rank])));
  }
  std::set<std::pair<std::uint32_t, std::size_t>> tracks;
  for (const RankEvent& event : iteration.events)
    tracks.emplace(event.rank, static_cast<std::size_t>(event.stream));
  for (const auto& [rank, stream] : tracks) {
    next();
    fmt::format_to(out,
                   R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})",
                   rank, stream, trace_name(rank_stream_names[stream]));
  }
  for (const RankEvent& event : iteration.events) {
    const long long begin = tick_of(event.begin_s), end = tick_of(event.end_s);
    next();
    fmt::format_to(
        out, R"({{"name":{},"cat":{},"ph":"X","pid":{},"tid":{},"ts":{:.4f},"dur":{:.4f}}})",
        trace_name(event.name), trace_name(rank_time_names[event.part]), event.rank,
        static_cast<int>(event.stream), microseconds_of(begin), microseconds_of(end - begin));
  }
  return text + "\n],\"displayTimeUnit\":\"ms\"}\n";
}

}  // namespace strata
