// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/advice.hpp"

#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace strata {
namespace {

constexpr double busy_share = 0.03;    // of the processors' time: what others have on a quiet one
constexpr double wide_scatter = 0.10;  // of a time

ConvChoice choice_of(const ConvCell& cell) {
  const ConvScatter scatter = cell.scatter();
  const double own_share = 1 - std::clamp(cell.others_share.value_or(0), 0.0, 1.0);
  return {.strategy = cell.strategy,
          .time_s = cell.time_s(),
          .deviation_s = cell.deviation_s(),
          .scratch_bytes = cell.scratch_bytes,
          .low_s = own_share * scatter.low_s,
          .high_s = scatter.high_s};
}

/// Whether `other` may be the faster one by more than anybody would mind.
bool is_doubtful(const ConvChoice& fastest, const ConvChoice& other) {
  return fastest.high_s > other.low_s * (1 + conv_doubt);
}

/// The times of one series in one pass.
class TimesOfSeries {
 public:
  TimesOfSeries(const ConvResults& results, const ConvIndex& index, const ConvSeries& series,
                ConvPass pass, std::optional<std::int64_t> budget_bytes)
      : results_(results), series_(series) {
    for (const ConvPoint& point : series.points) {
      auto& row = rows_.emplace_back();
      if (point.counts[static_cast<std::size_t>(pass)] == 0) {
        row.resize(results.strategies.size());
        continue;
      }
      for (const ConvStrategyName& strategy : results.strategies) {
        const ConvCell* cell = index.find(point.shape, pass, strategy.name);
        const bool counts = cell != nullptr && cell->is_measured() &&
                            (!budget_bytes || cell->scratch_bytes <= *budget_bytes);
        row.push_back(counts ? std::optional(choice_of(*cell)) : std::nullopt);
      }
    }
  }

  std::size_t points() const { return rows_.size(); }
  std::size_t strategies() const { return results_.strategies.size(); }
  const std::optional<ConvChoice>& at(std::size_t point, std::size_t strategy) const {
    return rows_[point][strategy];
  }
  const ConvSeries& series() const { return series_; }
  const std::string& name(std::size_t strategy) const { return results_.strategies[strategy].name; }

  /// The fastest strategy at a point among those that `counts`.
  template <class Counts>
  std::optional<std::size_t> fastest(std::size_t point, const Counts& counts) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < strategies(); ++i) {
      if (!at(point, i) || !counts(results_.strategies[i])) continue;
      if (!best || at(point, i)->time_s < at(point, *best)->time_s) best = i;
    }
    return best;
  }
  std::optional<std::size_t> fastest(std::size_t point) const {
    return fastest(point, [](const ConvStrategyName&) { return true; });
  }
  /// Whether the fastest at a point is faster than the others, and not by chance.
  bool is_clear(std::size_t point) const {
    const auto best = fastest(point);
    if (!best) return true;
    for (std::size_t i = 0; i < strategies(); ++i) {
      if (i != *best && at(point, i) && is_doubtful(*at(point, *best), *at(point, i))) return false;
    }
    return true;
  }

 private:
  const ConvResults& results_;
  const ConvSeries& series_;
  std::vector<std::vector<std::optional<ConvChoice>>> rows_;
};

bool is_clearly_faster(const ConvChoice& one, const ConvChoice& than) {
  return one.time_s < than.time_s * (1 - conv_noise) &&
         one.time_s + one.deviation_s < than.time_s - than.deviation_s;
}

std::vector<ConvStretch> stretches_of(const TimesOfSeries& times) {
  std::vector<ConvStretch> stretches;
  std::optional<std::size_t> current;
  for (std::size_t point = 0; point < times.points(); ++point) {
    const auto best = times.fastest(point);
    if (!best || !times.is_clear(point)) continue;
    const bool stays = current && times.series().is_sweep && times.at(point, *current) &&
                       !is_clearly_faster(*times.at(point, *best), *times.at(point, *current));
    if (stays || current == best) {
      stretches.back().last = point;
      continue;
    }
    current = best;
    stretches.push_back({times.name(*best), point, point});
  }
  return stretches;
}

/// Where the lead between two strategies changes.
void add_changes_of_lead(const TimesOfSeries& times, std::size_t a, std::size_t b,
                         std::vector<ConvCrossover>& crossovers) {
  std::optional<std::size_t> leader;
  for (std::size_t point = 0; point < times.points(); ++point) {
    const auto& time_a = times.at(point, a);
    const auto& time_b = times.at(point, b);
    if (!time_a || !time_b || !times.is_clear(point)) continue;
    std::optional<std::size_t> now;
    if (is_clearly_faster(*time_a, *time_b)) now = a;
    if (is_clearly_faster(*time_b, *time_a)) now = b;
    if (!now || now == leader) continue;
    if (leader) {
      crossovers.push_back({times.name(*now), times.name(*leader),
                            times.series().points[point].at.value_or(0), false});
    }
    leader = now;
  }
}

std::vector<ConvCrossover> crossovers_of(const TimesOfSeries& times,
                                         std::span<const ConvStretch> stretches) {
  std::vector<ConvCrossover> crossovers;
  if (!times.series().is_sweep) return crossovers;
  std::vector<std::size_t> winners;
  const auto number_of = [&](std::string_view name) {
    std::size_t i = 0;
    while (times.name(i) != name) ++i;
    return i;
  };
  for (const ConvStretch& stretch : stretches) {
    const std::size_t number = number_of(stretch.strategy);
    if (std::find(winners.begin(), winners.end(), number) == winners.end())
      winners.push_back(number);
  }
  for (std::size_t i = 0; i < winners.size(); ++i) {
    for (std::size_t k = i + 1; k < winners.size(); ++k)
      add_changes_of_lead(times, winners[i], winners[k], crossovers);
  }
  for (std::size_t i = 1; i < stretches.size(); ++i) {
    const std::size_t point = stretches[i].first;
    if (times.at(point, number_of(stretches[i - 1].strategy))) continue;
    crossovers.push_back({stretches[i].strategy, stretches[i - 1].strategy,
                          times.series().points[point].at.value_or(0), true});
  }
  std::stable_sort(crossovers.begin(), crossovers.end(),
                   [](const ConvCrossover& x, const ConvCrossover& y) { return x.at < y.at; });
  return crossovers;
}

std::string most_often(const TimesOfSeries& times) {
  std::map<std::string, std::size_t> wins;
  std::size_t points = 0;
  for (std::size_t point = 0; point < times.points(); ++point) {
    if (const auto best = times.fastest(point); best && times.is_clear(point)) {
      ++wins[times.name(*best)];
      ++points;
    }
  }
  const auto first = std::max_element(
      wins.begin(), wins.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("{} is the fastest at {} of {} points", first->first, first->second, points);
}

std::string clear_recommendation(const TimesOfSeries& times,
                                 std::span<const ConvStretch> stretches) {
  constexpr std::size_t most_in_a_line = 4;
  if (stretches.size() == 1) return fmt::format("take {} throughout", stretches[0].strategy);
  if (!times.series().is_sweep || stretches.size() > most_in_a_line) return most_often(times);
  std::string text = "take ";
  for (std::size_t i = 0; i + 1 < stretches.size(); ++i) {
    text += fmt::format("{} up to {}, ", stretches[i].strategy,
                        times.series().points[stretches[i].last].label);
  }
  return text + fmt::format("{} beyond", stretches.back().strategy);
}

std::string recommendation_of(const TimesOfSeries& times, const ConvAdvice& advice) {
  const auto measured =
      std::count_if(advice.fastest.begin(), advice.fastest.end(),
                    [](const std::optional<ConvChoice>& choice) { return choice.has_value(); });
  if (measured == 0) return "";
  const auto unclear = std::count(advice.is_clear.begin(), advice.is_clear.end(), false);
  constexpr std::string_view why = "times scatter by more than they differ";
  if (unclear == measured) return fmt::format("no advice: {}", why);
  if (advice.stretches.empty())
    return fmt::format("no advice: {} at {} of {} points", why, unclear, measured);
  const std::string text = clear_recommendation(times, advice.stretches);
  if (unclear == 0) return text;
  return fmt::format("{}; no advice at {} of {} points: {}", text, unclear, measured, why);
}

std::optional<OwnAgainstVendor> against_vendor_of(const TimesOfSeries& times) {
  OwnAgainstVendor result;
  double logarithms = 0;
  std::int64_t unclear = 0;
  for (std::size_t point = 0; point < times.points(); ++point) {
    const auto own = times.fastest(point, [](const auto& each) { return !each.is_vendor; });
    const auto vendor = times.fastest(point, [](const auto& each) { return each.is_vendor; });
    if (!own || !vendor) continue;
    const double own_s = times.at(point, *own)->time_s;
    const double vendor_s = times.at(point, *vendor)->time_s;
    if (!(own_s > 0) || !(vendor_s > 0)) continue;
    const bool own_is_ahead = own_s < vendor_s;
    if (is_doubtful(*times.at(point, own_is_ahead ? *own : *vendor),
                    *times.at(point, own_is_ahead ? *vendor : *own))) {
      ++unclear;
      continue;
    }
    logarithms += std::log(own_s / vendor_s);
    ++result.points;
    result.ahead += own_is_ahead ? 1 : 0;
  }
  if (result.points == 0 || unclear > result.points) return std::nullopt;
  result.ratio = std::exp(logarithms / static_cast<double>(result.points));
  return result;
}

ConvAdvice advice_on(const TimesOfSeries& times, ConvPass pass,
                     std::optional<std::int64_t> budget_bytes) {
  ConvAdvice advice;
  advice.series = times.series().name;
  advice.pass = pass;
  advice.budget_bytes = budget_bytes;
  for (std::size_t point = 0; point < times.points(); ++point) {
    const auto best = times.fastest(point);
    advice.fastest.push_back(best ? times.at(point, *best) : std::nullopt);
    advice.is_clear.push_back(times.is_clear(point));
  }
  // One clear point among many is not what to do throughout.
  const auto unclear = std::count(advice.is_clear.begin(), advice.is_clear.end(), false);
  if (2 * unclear <= static_cast<std::ptrdiff_t>(times.points())) {
    advice.stretches = stretches_of(times);
    advice.crossovers = crossovers_of(times, advice.stretches);
  }
  advice.against_vendor = against_vendor_of(times);
  advice.recommendation = recommendation_of(times, advice);
  return advice;
}

/// Empty when no library says what it would take by itself.
std::string default_name_of(const ConvResults& results) {
  for (const ConvStrategyName& strategy : results.strategies) {
    if (is_vendor_default(strategy)) return strategy.name;
  }
  return "";
}

}  // namespace

std::vector<ConvWarning> conv_warnings(const ConvResults& results) {
  std::size_t measured = 0;
  std::size_t scattered = 0;
  std::vector<double> shares;
  for (const ConvCell& cell : results.cells) {
    if (!cell.is_measured()) continue;
    ++measured;
    scattered += cell.spread() > wide_scatter ? 1 : 0;
    if (cell.others_share) shares.push_back(*cell.others_share);
  }
  std::vector<ConvWarning> warnings;
  const double most = shares.empty() ? 0 : *std::max_element(shares.begin(), shares.end());
  if (most > busy_share) {
    const double mean =
        std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(shares.size());
    warnings.push_back(
        {"busy-machine",
         fmt::format("the machine was busy: other programs had {:.0f} % of the time of these "
                     "processors, up to {:.0f} %; times are too long by what they took",
                     100 * mean, 100 * most)});
  }
  if (scattered > 0) {
    warnings.push_back(
        {"scattered-times",
         fmt::format("the samples of {} of {} results scatter by more than ± {:.0f} %", scattered,
                     measured, 100 * wide_scatter)});
  }
  return warnings;
}

std::vector<ConvAdvice> conv_advice(const ConvResults& results,
                                    std::span<const std::int64_t> budgets_bytes) {
  const ConvIndex index(results);
  std::vector<std::optional<std::int64_t>> budgets = {std::nullopt};
  budgets.insert(budgets.end(), budgets_bytes.begin(), budgets_bytes.end());
  std::vector<ConvAdvice> all;
  for (const ConvSeries& series : results.series) {
    for (const ConvPass pass : results.passes) {
      for (const auto& budget : budgets) {
        all.push_back(advice_on(TimesOfSeries(results, index, series, pass, budget), pass, budget));
        all.back().series_index = static_cast<std::size_t>(&series - results.series.data());
      }
    }
  }
  return all;
}

ConvNetworkAdvice conv_network_advice(const ConvResults& results, const ConvSeries& series,
                                      std::optional<std::int64_t> budget_bytes) {
  const ConvIndex index(results);
  ConvNetworkAdvice advice;
  advice.series = series.name;
  advice.default_name = default_name_of(results);
  for (const ConvPass pass : results.passes) {
    const TimesOfSeries times(results, index, series, pass, budget_bytes);
    for (std::size_t point = 0; point < times.points(); ++point) {
      const std::int64_t count = series.points[point].counts[static_cast<std::size_t>(pass)];
      if (count == 0) continue;
      ConvLayerChoice& layer = advice.layers.emplace_back();
      layer.point = point;
      layer.pass = pass;
      layer.count = count;
      if (const auto best = times.fastest(point)) layer.best = times.at(point, *best);
      const ConvCell* cell = index.find(series.points[point].shape, pass, advice.default_name);
      if (cell != nullptr && cell->is_measured()) {
        layer.vendor_default = choice_of(*cell);
      }
      if (!layer.best) continue;
      const auto times_run = static_cast<double>(count);
      advice.best_s += times_run * layer.best->time_s;
      if (!layer.vendor_default) continue;
      const bool is_same = layer.best->strategy == layer.vendor_default->strategy;
      layer.is_clear = is_same || !is_doubtful(*layer.best, *layer.vendor_default);
      if (!layer.is_clear) continue;
      advice.compared_s += times_run * layer.best->time_s;
      advice.default_s += times_run * layer.vendor_default->time_s;
    }
  }
  std::stable_sort(advice.layers.begin(), advice.layers.end(),
                   [](const auto& a, const auto& b) { return a.point < b.point; });
  return advice;
}

}  // namespace strata
