// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/parallel_report.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

std::string part_of(double part, double whole) {
  return fmt::format("{:.1f} %", whole > 0 ? 100 * part / whole : 0);
}

std::string parallel_header(const ParallelContext& context) {
  std::string text = fmt::format("{}, one training iteration", printable(context.title));
  for (const Dimension& dimension : context.dims)
    text += fmt::format(", {} {}{}", printable(dimension.name), dimension.value,
                        dimension.name == "batch" ? " in all" : "");
  text += fmt::format(", {}, optimizer {}", context.precision(), name_of(context.optimizer));
  return fmt::format("{}, on {} {} ({} x {})\n", text, context.devices,
                     printable(context.machine_title), context.nodes, context.devices_per_node);
}

std::string parallel_fact(std::string_view name, std::string_view number, std::string_view text) {
  return fmt::format("  {:<12} {:>9}   {}\n", name, number, text);
}

std::string rate_text(const ParallelContext& context, double time_s) {
  std::string text =
      context.tokens
          ? fmt::format("{} tokens/s", format_count(static_cast<double>(*context.tokens) / time_s))
          : fmt::format("{} samples/s",
                        format_count(static_cast<double>(context.samples) / time_s));
  if (const auto mfu = context.mfu(time_s)) text += fmt::format("   MFU {:.1f} %", 100 * *mfu);
  return text;
}

std::string memory_text(const ParallelSummary& summary) {
  const RankMemory& memory = summary.result.most_memory();
  const auto total = static_cast<double>(memory.total_bytes());
  std::string text;
  if (summary.context.device_memory_bytes && !summary.fits())
    text = parallel_fact("out of memory", format_capacity(total),
                         fmt::format("needed by the fullest rank; the device has {}",
                                     format_capacity(*summary.context.device_memory_bytes)));
  return text;
}

std::string memory_table(const ParallelSummary& summary, const TextStyle& style) {
  Table table({{.title = "memory of the fullest rank", .least_width = 26},
               {.title = "", .align = Align::right},
               {.title = "share", .align = Align::right}});
  const RankMemory& memory = summary.result.most_memory();
  const auto total = static_cast<double>(memory.total_bytes());
  const auto add = [&](std::string_view name, std::int64_t bytes) {
    table.add_row({std::string(name), format_capacity(static_cast<double>(bytes)),
                   part_of(static_cast<double>(bytes), total)});
  };
  add("parameters", memory.parameters_bytes);
  add("gradients", memory.gradients_bytes);
  add("optimizer states", memory.states_bytes);
  add("activations", memory.activations_bytes);
  add("buffers", memory.buffers_bytes);
  table.add_row({"all", format_capacity(total),
                 summary.context.device_memory_bytes
                     ? fmt::format("of {}", format_capacity(*summary.context.device_memory_bytes))
                     : ""});
  return table.to_text(style);
}

std::string time_table(const ParallelSummary& summary, const TextStyle& style) {
  Table table({{.title = "where the time goes (mean of the ranks)", .least_width = 26},
               {.title = "", .align = Align::right},
               {.title = "share", .align = Align::right}});
  const RankTime time = summary.result.iteration.mean();
  for (std::size_t i = 0; i < rank_time_parts.size(); ++i) {
    const double part = time.*rank_time_parts[i];
    if (part <= 0) continue;
    table.add_row(
        {std::string(rank_time_names[i]), format_time(part), part_of(part, summary.result.time_s)});
  }
  return table.to_text(style);
}

std::string stage_table(const ParallelSummary& summary, const TextStyle& style) {
  if (summary.result.iteration.ranks.size() < 2) return {};
  Table table({{.title = "stage", .align = Align::right},
               {.title = "layers", .least_width = 20},
               {.title = "compute", .align = Align::right},
               {.title = "bubble", .align = Align::right},
               {.title = "memory", .align = Align::right}});
  for (std::size_t i = 0; i < summary.result.iteration.ranks.size(); ++i) {
    const RankTime& time = summary.result.iteration.ranks[i];
    table.add_row({std::to_string(i), printable(summary.stages[i]),
                   format_time(time.compute_s + time.recompute_s),
                   part_of(time.bubble_s, summary.result.time_s),
                   format_capacity(static_cast<double>(summary.result.memory[i].total_bytes()))});
  }
  return "\n" + table.to_text(style);
}

}  // namespace

std::string to_text(const ParallelSummary& summary, const TextStyle& style) {
  const ParallelContext& context = summary.context;
  const StrategyTime& result = summary.result;
  std::string text = parallel_header(context);
  text += fmt::format("{}, {} sample{} per micro-batch\n\n", to_text(result.strategy),
                      result.micro_batch, result.micro_batch == 1 ? "" : "s");
  text += memory_text(summary);
  text += parallel_fact(
      "expected", format_time(result.time_s),
      fmt::format("({} to {})   {}   {}, {} from {}", format_time(result.low_s),
                  format_time(result.high_s), rate_text(context, result.time_s), context.framework,
                  name_of(context.calibration), context.calibrated_on));
  text += parallel_fact("evidence", "", text_of(context.checked));
  text += parallel_fact("limit", format_time(summary.limit_s),
                        "perfect kernels, full link rates, nothing waits");
  text += training_lines(context.terms, summary.pace());
  text += "\n" + time_table(summary, style) + "\n" + memory_table(summary, style) +
          stage_table(summary, style);
  for (const std::string& assumption : context.assumptions)
    text += fmt::format("\nassumed: {}", printable(assumption));
  return text + "\n";
}

std::string to_text(const ParallelChoice& choice, std::size_t top, const TextStyle& style) {
  const auto& outcomes = choice.search.outcomes;
  const auto fitting = static_cast<std::size_t>(std::count_if(
      outcomes.begin(), outcomes.end(), [](const StrategyOutcome& one) { return one.fits; }));
  std::string text = choice.best ? to_text(*choice.best, style) : parallel_header(choice.context);
  text += fmt::format("\n{} strategies, {} fit in memory\n\n", outcomes.size(), fitting);
  Table table({{.title = "strategy", .least_width = 24},
               {.title = "expected", .align = Align::right},
               {.title = "memory", .align = Align::right},
               {.title = "why it loses"}});
  for (std::size_t i = 0; i < std::min(top, outcomes.size()); ++i) {
    const StrategyOutcome& one = outcomes[i];
    table.add_row({to_text(one.strategy), one.fits ? format_time(one.time_s) : "out of memory",
                   format_capacity(static_cast<double>(one.memory_bytes)),
                   i > 0 && one.fits ? why_slower(one, outcomes.front()) : ""});
  }
  text += table.to_text(style);
  if (choice.search.pareto.size() > 1) {
    Table front({{.title = "less memory for more time", .least_width = 24},
                 {.title = "expected", .align = Align::right},
                 {.title = "memory", .align = Align::right}});
    for (const std::size_t i : choice.search.pareto)
      front.add_row({to_text(outcomes[i].strategy), format_time(outcomes[i].time_s),
                     format_capacity(static_cast<double>(outcomes[i].memory_bytes))});
    text += "\n" + front.to_text(style);
  }
  constexpr std::size_t most_reasons = 4;
  for (std::size_t i = 0; i < std::min(most_reasons, choice.search.refused.size()); ++i)
    text += fmt::format("\nnot possible: {}", printable(choice.search.refused[i]));
  if (choice.search.refused.size() > most_reasons)
    text += fmt::format("\nnot possible: {} more, in --json",
                        choice.search.refused.size() - most_reasons);
  return text + (choice.search.refused.empty() ? "" : "\n");
}

}  // namespace strata
