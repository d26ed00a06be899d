// SPDX-License-Identifier: Apache-2.0
// A predicted iteration over time: what is busy, what waits, what is on chip, what lives in memory.
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace strata {
namespace {

using chart::Chart;
using chart::ChartGrid;
using chart::Quantity;

constexpr std::size_t time_bins = 240;  // of an iteration: three pixels each at 800

/// How much of each bin of time something fills.
class BusyBins {
 public:
  explicit BusyBins(double time_s) : width_s_(time_s / static_cast<double>(time_bins)) {}

  void add(double start_s, double end_s) {
    if (!(end_s > start_s) || !(width_s_ > 0)) return;
    for (std::size_t bin = bin_at(start_s); bin < time_bins; ++bin) {
      const double from = static_cast<double>(bin) * width_s_;
      if (from >= end_s) break;
      filled_[bin] += std::max(0.0, std::min(end_s, from + width_s_) - std::max(start_s, from));
    }
  }

  Chart panel(std::string title, chart::Color color) const {
    Chart chart{.title = std::move(title),
                .x = {.quantity = Quantity::seconds,
                      .least = 0.0,
                      .most = width_s_ * static_cast<double>(time_bins),
                      .has_labels = false},
                .y = {.quantity = Quantity::share, .least = 0.0, .most = 1.0}};
    for (std::size_t bin = 0; bin < time_bins; ++bin) {
      const double share = std::min(1.0, filled_[bin] / width_s_);
      if (share < 1e-3) continue;
      const double from = static_cast<double>(bin) * width_s_;
      if (!chart.bands.empty() && chart.bands.back().x_to == from &&
          std::fabs(*chart.bands.back().y_to - share) < 1e-3) {
        chart.bands.back().x_to = from + width_s_;  // the same goes on
        continue;
      }
      chart.bands.push_back({.x_from = from,
                             .x_to = from + width_s_,
                             .y_from = 0.0,
                             .y_to = share,
                             .label = "",
                             .color = color,
                             .is_solid = true});
    }
    return chart;
  }

  double busy_s() const {
    double sum = 0;
    for (const double each : filled_) sum += each;
    return sum;
  }

 private:
  std::size_t bin_at(double at_s) const {
    const double bin = std::floor(at_s / width_s_);
    return bin <= 0 ? 0 : std::min(time_bins - 1, static_cast<std::size_t>(bin));
  }

  double width_s_;
  std::array<double, time_bins> filled_{};
};

struct Lanes {
  BusyBins compute;
  BusyBins in;
  BusyBins out;
  BusyBins waits;
};

Lanes lanes_of(const Prediction& prediction) {
  const double time_s = prediction.time_s;
  Lanes lanes{BusyBins(time_s), BusyBins(time_s), BusyBins(time_s), BusyBins(time_s)};
  for (const StepResult& step : prediction.steps) {
    lanes.compute.add(step.start_s, step.start_s + step.compute_s);
    lanes.waits.add(step.start_s - step.wait_s, step.start_s);
    lanes.waits.add(step.end_s - step.stream_s, step.end_s);
  }
  lanes.waits.add(time_s - prediction.drain_s, time_s);
  for (const Transfer& transfer : prediction.transfers) {
    // A stream goes both ways; it is drawn as first in, then out.
    const auto in = static_cast<double>(transfer.in_bytes);
    const double all = in + static_cast<double>(transfer.out_bytes);
    const double turn_s =
        transfer.start_s + (all > 0 ? in / all : 0) * (transfer.end_s - transfer.start_s);
    lanes.in.add(transfer.start_s, turn_s);
    lanes.out.add(turn_s, transfer.end_s);
  }
  return lanes;
}

Chart occupancy_panel(const Prediction& prediction, std::int64_t capacity_bytes) {
  Chart chart{.title = "on chip",
              .x = {.title = "time",
                    .quantity = Quantity::seconds,
                    .least = 0.0,
                    .most = prediction.time_s},
              .y = {.quantity = Quantity::capacity, .from_zero = true}};
  chart::Series line{.color = 2};
  // The most of each bin: a point per step would be more than can be seen.
  std::array<double, time_bins> most{};
  for (const StepResult& step : prediction.steps) {
    const double place = step.start_s / prediction.time_s * static_cast<double>(time_bins);
    const std::size_t bin = std::min(time_bins - 1, static_cast<std::size_t>(std::max(0.0, place)));
    most[bin] = std::max(most[bin], static_cast<double>(step.occupied_bytes));
  }
  double last = 0;
  for (std::size_t bin = 0; bin < time_bins; ++bin) {
    if (most[bin] > 0) last = most[bin];
    line.points.push_back(
        {(static_cast<double>(bin) + 0.5) / static_cast<double>(time_bins) * prediction.time_s,
         last, ""});
  }
  chart.series.push_back(std::move(line));
  chart.lines.push_back(
      {.direction = chart::Direction::horizontal,
       .at = static_cast<double>(capacity_bytes),
       .label = fmt::format("capacity {}", format_capacity(static_cast<double>(capacity_bytes)))});
  return chart;
}

/// The data of an iteration by what it is for.
enum class Living : std::uint8_t { weights, state, features, gradients, weight_gradients };
constexpr std::array<std::string_view, 5> living_names = {
    "weights and constants", "optimizer state", "activations", "gradients", "gradients of weights"};

Living living_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::weight:
    case ValueKind::constant: return Living::weights;
    case ValueKind::state: return Living::state;
    case ValueKind::gradient: return Living::gradients;
    case ValueKind::weight_gradient: return Living::weight_gradients;
    case ValueKind::input:
    case ValueKind::feature:
    case ValueKind::saved: break;
  }
  return Living::features;
}

using LivingBytes = std::array<double, living_names.size()>;

/// What lives while each step runs: from its first use (given: from the beginning) to its last
/// (results: to the end).
std::vector<LivingBytes> living_in(const Program& program) {
  const std::size_t steps = program.steps.size();
  std::vector<std::size_t> first(program.values.size(), steps);
  std::vector<std::size_t> last(program.values.size(), 0);
  for (std::size_t step = 0; step < steps; ++step) {
    for (const Use& use : program.uses_of(static_cast<StepId>(step))) {
      first[use.value] = std::min(first[use.value], step);
      last[use.value] = step;
    }
  }
  std::vector<LivingBytes> changes(steps + 1, LivingBytes{});
  for (std::size_t value = 0; value < program.values.size(); ++value) {
    if (first[value] == steps) continue;  // nobody uses it
    const Value& what = program.values[value];
    const auto kind = static_cast<std::size_t>(living_of(what.kind));
    changes[what.is_given ? 0 : first[value]][kind] += static_cast<double>(what.bytes);
    changes[what.is_result ? steps : last[value] + 1][kind] -= static_cast<double>(what.bytes);
  }
  LivingBytes now{};
  std::vector<LivingBytes> living;
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t kind = 0; kind < now.size(); ++kind) now[kind] += changes[step][kind];
    living.push_back(now);
  }
  return living;
}

double sum_of_living(const LivingBytes& bytes) {
  double sum = 0;
  for (const double each : bytes) sum += each;
  return sum;
}

/// Of the steps of each bin of time the one with most; a bin without a step goes on as before.
std::array<LivingBytes, time_bins> living_over_time(const std::vector<LivingBytes>& living,
                                                    const Prediction& prediction) {
  std::array<LivingBytes, time_bins> bins{};
  for (std::size_t step = 0; step < living.size(); ++step) {
    const double place =
        prediction.steps[step].start_s / prediction.time_s * static_cast<double>(time_bins);
    LivingBytes& bin =
        bins[std::min(time_bins - 1, static_cast<std::size_t>(std::max(0.0, place)))];
    if (sum_of_living(living[step]) > sum_of_living(bin)) bin = living[step];
  }
  for (std::size_t bin = 1; bin < time_bins; ++bin) {
    if (sum_of_living(bins[bin]) == 0) bins[bin] = bins[bin - 1];
  }
  return bins;
}

void add_stack(Chart& chart, const LivingBytes& bytes, double from_s, double to_s) {
  double foot = 0;
  for (std::size_t kind = 0; kind < bytes.size(); ++kind) {
    if (bytes[kind] <= 0) continue;
    chart.bands.push_back({.x_from = from_s,
                           .x_to = to_s,
                           .y_from = foot,
                           .y_to = foot + bytes[kind],
                           .label = "",
                           .color = kind,
                           .is_solid = true});
    foot += bytes[kind];
  }
}

void check_times(const Program& program, const Prediction& prediction) {
  STRATA_CHECK(prediction.steps.size() == program.steps.size(),
               "a timeline needs the result of every step");
  if (!(prediction.time_s > 0))
    fail(ErrorKind::input, "the iteration takes no time: there is nothing to draw over it");
}

}  // namespace

ChartGrid timeline_figure(const Program& program, const Prediction& prediction,
                          std::int64_t capacity_bytes, const TimelineTitle& title) {
  check_times(program, prediction);
  const Lanes lanes = lanes_of(prediction);
  const auto named = [&](std::string_view name, const BusyBins& lane) {
    return fmt::format("{}, {:.0f} %", name, 100 * lane.busy_s() / prediction.time_s);
  };
  return {.title = title.title,
          .subtitle = title.subtitle,
          .panels = {lanes.compute.panel(named("arithmetic busy", lanes.compute), 0),
                     lanes.waits.panel(named("waiting for memory", lanes.waits), 1),
                     lanes.in.panel(named("channel in", lanes.in), 5),
                     lanes.out.panel(named("channel out", lanes.out), 4),
                     occupancy_panel(prediction, capacity_bytes)},
          .columns = 1,
          .plot_height = 62};
}

ChartGrid memory_figure(const Program& program, const Prediction& prediction,
                        const TimelineTitle& title) {
  check_times(program, prediction);
  const std::vector<LivingBytes> living = living_in(program);
  const auto bins = living_over_time(living, prediction);
  Chart chart{
      .x = {.title = "time",
            .quantity = Quantity::seconds,
            .least = 0.0,
            .most = prediction.time_s},
      .y = {.title = "memory that lives", .quantity = Quantity::capacity, .from_zero = true}};
  const double width_s = prediction.time_s / static_cast<double>(time_bins);
  LivingBytes ever{};
  for (std::size_t bin = 0; bin < time_bins;) {
    std::size_t end = bin + 1;
    while (end < time_bins && bins[end] == bins[bin]) ++end;
    add_stack(chart, bins[bin], static_cast<double>(bin) * width_s,
              static_cast<double>(end) * width_s);
    for (std::size_t kind = 0; kind < ever.size(); ++kind)
      ever[kind] = std::max(ever[kind], bins[bin][kind]);
    bin = end;
  }
  for (std::size_t kind = 0; kind < ever.size(); ++kind) {
    if (ever[kind] > 0) chart.band_keys.push_back({std::string(living_names[kind]), {}, kind});
  }
  const auto peak = std::max_element(living.begin(), living.end(),
                                     [](const LivingBytes& a, const LivingBytes& b) {
                                       return sum_of_living(a) < sum_of_living(b);
                                     });
  const auto at = static_cast<std::size_t>(peak - living.begin());
  chart.lines.push_back(
      {.direction = chart::Direction::horizontal,
       .at = sum_of_living(*peak),
       .label = fmt::format("most: {} in {}", format_capacity(sum_of_living(*peak)),
                            name_of(program, static_cast<StepId>(at)))});
  chart.y.most = 1.12 * sum_of_living(*peak);  // room for the line's name
  return {.title = title.title,
          .subtitle = title.subtitle,
          .panels = {std::move(chart)},
          .columns = 1,
          .plot_height = 320};
}

ChartGrid timeline_figure(const MeasuredKernels& measured, const TimelineTitle& title) {
  const double end_s = measured.end_s();
  if (!(end_s > 0))
    fail(ErrorKind::input, "no kernel has a time: there is nothing to draw over it");
  constexpr std::array<std::string_view, 3> passes = {"forward", "backward", "update"};
  std::array<BusyBins, passes.size()> lanes = {BusyBins(end_s), BusyBins(end_s), BusyBins(end_s)};
  BusyBins idle(end_s);
  std::vector<std::pair<double, double>> spans;
  for (const MeasuredKernel& kernel : measured.kernels) {
    const std::size_t lane = kernel.pass.starts_with("backward") ? 1
                             : kernel.pass == "update"           ? 2
                                                                 : 0;
    const double kernel_end_s = kernel.begin_s + kernel.time_s;
    lanes[lane].add(kernel.begin_s, kernel_end_s);
    spans.emplace_back(kernel.begin_s, kernel_end_s);
  }
  std::sort(spans.begin(), spans.end());
  double busy_until = 0;
  for (const auto& [from, to] : spans) {
    idle.add(busy_until, from);
    busy_until = std::max(busy_until, to);
  }
  const auto named = [&](std::string_view name, const BusyBins& lane) {
    return fmt::format("{}, {:.0f} %", name, 100 * lane.busy_s() / end_s);
  };
  ChartGrid grid{.title = title.title,
                 .subtitle = title.subtitle,
                 .panels = {},
                 .columns = 1,
                 .plot_height = 62};
  for (std::size_t i = 0; i < passes.size(); ++i)
    grid.panels.push_back(lanes[i].panel(named(fmt::format("kernels {}", passes[i]), lanes[i]), i));
  grid.panels.push_back(idle.panel(named("no kernel", idle), 5));
  grid.panels.back().x.has_labels = true;
  grid.panels.back().x.title = "time";
  return grid;
}

ChartGrid memory_figure(const Program& program, const MeasuredKernels& measured,
                        const TimelineTitle& title) {
  std::map<std::pair<std::string, std::string>, double> begins;
  for (const MeasuredKernel& kernel : measured.kernels) {
    const bool is_backward = kernel.pass.starts_with("backward");
    begins.try_emplace({kernel.layer, is_backward ? "backward" : kernel.pass}, kernel.begin_s);
  }
  Prediction times;
  times.time_s = measured.end_s();
  times.steps.resize(program.steps.size());
  double now_s = 0;
  for (StepId id = 0; id < program.steps.size(); ++id) {
    const Step& step = program.steps[id];
    const std::string layer =
        step.node == no_node ? "loss" : program.bound->graph->nodes[step.node].name;
    const bool is_plain = step.pass == Pass::forward || step.pass == Pass::update;
    const auto begin =
        begins.find({layer, is_plain ? std::string(name_of(step.pass)) : "backward"});
    // A step without kernels of its own runs with the one before it.
    if (begin != begins.end()) now_s = std::max(now_s, begin->second);
    times.steps[id].start_s = times.steps[id].end_s = now_s;
  }
  return memory_figure(program, times, title);
}

}  // namespace strata
