// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/strategy.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace strata {
namespace {

constexpr std::int64_t most_ranks = 1 << 20;
constexpr std::array<std::string_view, 4> schedule_names = {"gpipe", "1f1b", "interleaved",
                                                            "zero-bubble"};
constexpr std::array<std::string_view, 3> rank_recompute_names = {"none", "selective", "full"};
constexpr std::array<std::string_view, 2> exchange_names = {"ring", "all-to-all"};
constexpr std::array<std::string_view, 2> balance_names = {"layers", "time"};
constexpr std::array<std::string_view, 2> truth_names = {"no", "yes"};

/// A number of a strategy by the words that people use for it.
struct CountWord {
  std::string_view name, also;
  std::int64_t Strategy::*count;
  std::int64_t least, most;
};
constexpr std::array<CountWord, 8> count_words = {{
    {"dp", "data", &Strategy::data, 1, most_ranks},
    {"tp", "tensor", &Strategy::tensor, 1, most_ranks},
    {"cp", "context", &Strategy::context, 1, most_ranks},
    {"ep", "expert", &Strategy::expert, 1, most_ranks},
    {"pp", "pipeline", &Strategy::pipeline, 1, most_ranks},
    {"micro", "micro-batches", &Strategy::micro_batches, 1, most_ranks},
    {"v", "chunks", &Strategy::chunks, 1, most_ranks},
    {"zero", "zero", &Strategy::zero, 0, 3},
}};

std::int64_t count_of(const CountWord& word, std::string_view value) {
  std::int64_t count = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), count);
  if (problem != std::errc() || end != value.data() + value.size() || count < word.least ||
      count > word.most)
    fail(ErrorKind::usage, "--parallel: {} expects a whole number from {} to {}, got '{}'",
         word.name, word.least, word.most, value);
  return count;
}

template <std::size_t count>
std::size_t choice_of(std::string_view word, std::string_view value,
                      const std::array<std::string_view, count>& names) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](std::string_view n) { return same_name(n, value); });
  if (found == names.end())
    fail(ErrorKind::usage, "--parallel: {} expects {}, got '{}'", word, alternatives(names), value);
  return static_cast<std::size_t>(found - names.begin());
}

void set_part(Strategy& strategy, std::string_view name, std::string_view value) {
  for (const CountWord& word : count_words) {
    if (!same_name(word.name, name) && !same_name(word.also, name)) continue;
    strategy.*word.count = count_of(word, value);
    return;
  }
  if (same_name(name, "sp")) {
    strategy.sequence_parallel = choice_of(name, value, truth_names) == 1;
  } else if (same_name(name, "overlap")) {
    strategy.overlaps_gradients = choice_of(name, value, truth_names) == 1;
  } else if (same_name(name, "balance")) {
    strategy.balances_time = choice_of(name, value, balance_names) == 1;
  } else if (same_name(name, "exchange")) {
    strategy.exchange = static_cast<ContextExchange>(choice_of(name, value, exchange_names));
  } else if (same_name(name, "recompute")) {
    strategy.recompute = static_cast<RankRecompute>(choice_of(name, value, rank_recompute_names));
  } else if (same_name(name, "schedule")) {
    strategy.schedule = static_cast<PipelineSchedule>(choice_of(name, value, schedule_names));
  } else {
    std::vector<std::string> known = strategy_counts();
    for (std::string& choice : strategy_choices()) known.push_back(std::move(choice));
    fail(ErrorKind::usage, "--parallel: no part named '{}'{}; there are {}", name,
         did_you_mean(name, known), fmt::join(known, ", "));
  }
}

std::string pipeline_reason(const Strategy& s) {
  if (s.chunks > 1 && s.schedule != PipelineSchedule::interleaved)
    return "v is for schedule=interleaved";
  if (s.schedule == PipelineSchedule::interleaved && s.chunks == 1)
    return "schedule=interleaved needs v, the chunks of layers per stage: v=2";
  if (s.pipeline == 1 && s.chunks > 1) return "chunks of layers need several stages: pp=2";
  if (s.chunks > 1 && s.micro_batches % s.pipeline != 0)
    return fmt::format("with v, pp={} must divide micro={}", s.pipeline, s.micro_batches);
  if (s.pipeline > 1 && s.zero >= 2)
    return fmt::format(
        "zero={} with pp={}: gradients would be scattered after each micro-batch, which no "
        "framework does; zero=1 goes with stages",
        s.zero, s.pipeline);
  return {};
}

}  // namespace

std::string_view name_of(PipelineSchedule schedule) {
  return schedule_names[static_cast<std::size_t>(schedule)];
}
std::string_view name_of(RankRecompute recompute) {
  return rank_recompute_names[static_cast<std::size_t>(recompute)];
}
std::string_view name_of(ContextExchange exchange) {
  return exchange_names[static_cast<std::size_t>(exchange)];
}

std::vector<std::string> strategy_counts() {
  std::vector<std::string> names;
  for (const CountWord& word : count_words) names.emplace_back(word.name);
  return names;
}

std::vector<std::string> strategy_choices() {
  return {"sp", "recompute", "schedule", "exchange", "overlap", "balance"};
}

Strategy parse_strategy(std::string_view text) {
  Strategy strategy;
  bool has_schedule = false;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      fail(ErrorKind::usage, "--parallel expects parts as dp=8,tp=8,pp=2,micro=4, got '{}'", part);
    const std::string_view name = trimmed(part.substr(0, equals));
    has_schedule |= same_name(name, "schedule");
    set_part(strategy, name, trimmed(part.substr(equals + 1)));
  }
  if (strategy.chunks > 1 && !has_schedule) strategy.schedule = PipelineSchedule::interleaved;
  return strategy;
}

std::string to_text(const Strategy& strategy) {
  std::string text = fmt::format("dp={},tp={},pp={},micro={}", strategy.data, strategy.tensor,
                                 strategy.pipeline, strategy.micro_batches);
  if (strategy.context > 1) text += fmt::format(",cp={}", strategy.context);
  if (strategy.exchange != ContextExchange::ring)
    text += fmt::format(",exchange={}", name_of(strategy.exchange));
  if (strategy.expert > 1) text += fmt::format(",ep={}", strategy.expert);
  if (strategy.chunks > 1) text += fmt::format(",v={}", strategy.chunks);
  if (strategy.zero > 0) text += fmt::format(",zero={}", strategy.zero);
  if (strategy.sequence_parallel) text += ",sp=yes";
  if (strategy.recompute != RankRecompute::none)
    text += fmt::format(",recompute={}", name_of(strategy.recompute));
  if (strategy.pipeline > 1 && strategy.chunks == 1 &&
      strategy.schedule != PipelineSchedule::one_f_one_b)
    text += fmt::format(",schedule={}", name_of(strategy.schedule));
  if (!strategy.overlaps_gradients) text += ",overlap=no";
  if (!strategy.balances_time) text += ",balance=layers";
  return text;
}

std::string reason_against(const Strategy& s, const Cluster& cluster, std::int64_t samples) {
  if (s.data > most_ranks / s.tensor / s.context / s.pipeline || s.devices() != cluster.devices())
    return fmt::format("dp={} x tp={} x {}pp={} are not the {} devices of {}", s.data, s.tensor,
                       s.context > 1 ? fmt::format("cp={} x ", s.context) : "", s.pipeline,
                       cluster.devices(), cluster.name);
  if (samples % (s.data * s.micro_batches) != 0)
    return fmt::format("dp={} x micro={} must divide the batch of {} samples", s.data,
                       s.micro_batches, samples);
  if (s.zero > 0 && s.weight_ranks() == 1) return "zero splits over dp x cp, and dp and cp are 1";
  if (s.weight_ranks() % s.expert != 0)
    return fmt::format("ep={} must divide dp x cp = {}: experts are spread over those ranks",
                       s.expert, s.weight_ranks());
  if (s.exchange == ContextExchange::all_to_all && s.context == 1)
    return "exchange=all-to-all is between the ranks of cp, and cp is 1";
  if (s.sequence_parallel && s.tensor == 1) return "sp splits over tp, and tp is 1";
  return pipeline_reason(s);
}

void check_strategy(const Strategy& strategy, const Cluster& cluster, std::int64_t samples) {
  if (const std::string reason = reason_against(strategy, cluster, samples); !reason.empty())
    fail(ErrorKind::usage, "--parallel {}: {}", to_text(strategy), reason);
}

}  // namespace strata
