// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/analytical.hpp"

#include "strata/base/units.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/report/prediction_reuse.hpp"
#include "strata/reproduce/thesis_network.hpp"
#include "strata/reproduce/thesis_rows.hpp"
#include "strata/training/reuse_frequency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace strata {
namespace {

/// Shares of time by class of layer; a step has the time from the end of the one before it.
double share_of(const Prediction& prediction, const Program& program, LayerClass layer_class) {
  double time_s = 0;
  double before_s = 0;
  for (StepId step = 0; step < program.steps.size(); ++step) {
    const double end_s = prediction.steps[step].end_s;
    if (program.steps[step].layer_class == layer_class) time_s += end_s - before_s;
    before_s = end_s;
  }
  return time_s / prediction.time_s;
}

double bytes_of(const Prediction& prediction) {
  return static_cast<double>(prediction.in_bytes + prediction.out_bytes);
}

/// Reuse frequencies of the forward layers of a class, rising.
std::vector<double> frequencies_of(const ThesisNetwork& network, LayerClass layer_class) {
  std::vector<double> frequencies;
  for (const StepReuse& reuse : reuse_frequencies(network.program(), CountMac::as_one)) {
    const Step& step = network.program().steps[reuse.step];
    if (step.pass == Pass::forward && step.layer_class == layer_class && reuse.operations > 0)
      frequencies.push_back(reuse.frequency());
  }
  std::sort(frequencies.begin(), frequencies.end());
  return frequencies;
}

/// Bytes of the smallest and the largest feature map that a convolution makes.
std::pair<std::int64_t, std::int64_t> map_bytes(const Program& program) {
  std::pair<std::int64_t, std::int64_t> range(INT64_MAX, 0);
  for (StepId id = 0; id < program.steps.size(); ++id) {
    const Step& step = program.steps[id];
    if (step.pass != Pass::forward || step.node == no_node ||
        name_of(program.bound->graph->nodes[step.node].op) != "convolution")
      continue;
    range.first = std::min(range.first, program.write_bytes(id));
    range.second = std::max(range.second, program.write_bytes(id));
  }
  return range;
}

double median(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

class Analytical {
 public:
  explicit Analytical(const std::function<void(double)>& progress) : progress_(progress) {}

  std::vector<Finding> run() && {
    const std::vector<void (Analytical::*)()> parts = {
        &Analytical::reuse_frequency, &Analytical::traffic,       &Analytical::recurrent_reuse,
        &Analytical::faster_compute,  &Analytical::capacity,      &Analytical::published,
        &Analytical::bandwidth,       &Analytical::layer_classes, &Analytical::batch,
        &Analytical::policies};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (progress_) progress_(static_cast<double>(i) / static_cast<double>(parts.size()));
      (this->*parts[i])();
    }
    if (progress_) progress_(1);
    return std::move(rows_).sorted();
  }

 private:
  using Network = ThesisNetwork;

  double time_s(const Network& network, ThesisPoint point) const {
    return network.at(point).time_s;
  }
  double change(double from, double to) const { return to / from - 1; }

  using Claim = ThesisRows::Claim;

  void share(const char* observation, const Network& network, std::string what, double printed,
             double found, std::string why_not = {}) {
    rows_.add({observation, network.name(), std::move(what), thesis_percent(printed),
               thesis_percent(found), std::move(why_not)},
              within_points(printed, found));
  }
  void about(const char* observation, const Network& network, std::string what, double printed,
             double found) {
    rows_.add({observation, network.name(), std::move(what), "about " + thesis_percent(printed),
               thesis_percent(found)},
              within_points(printed, found, about_points));
  }
  void factor(const char* observation, const Network& network, std::string what, double printed,
              double found) {
    rows_.add(
        {observation, network.name(), std::move(what), thesis_times(printed), thesis_times(found)},
        within_factor(printed, found));
  }

  /// Puts the printed number into figure 5.3, whose panels are named after the network.
  void drawn_over_capacity(const Network& network, std::string_view panel,
                           std::int64_t capacity_mib, double y) {
    Finding& finding = rows_.last();
    const auto at = std::find(all_.begin(), all_.end(), &network) - all_.begin();
    finding.drawn.push_back({.figure = "figure-5.3-time",
                             .panel = fmt::format("{}: {}", thesis_networks[at].title, panel),
                             .x = static_cast<double>(capacity_mib << 20),
                             .y = y,
                             .label = fmt::format("{}: {}", finding.what, finding.printed)});
  }

  // 1 and 2
  void reuse_frequency() {
    const double ridge = thesis_flop_per_s / thesis_bytes_per_s;
    for (const Network* network : all_) {
      const std::vector<double> first = frequencies_of(*network, LayerClass::dense);
      const std::vector<double> second = frequencies_of(*network, LayerClass::pointwise);
      const double spread =
          std::max(first.back(), second.back()) / std::min(first.front(), second.front());
      rows_.add({"1", network->name(), "reuse frequency, most against least", "10² to 10⁴×",
                 fmt::format("{:.0f}×", spread),
                 fmt::format("10^{:.2f}: the range is met by rounding only", std::log10(spread))},
                between(spread, 1e2, 1e4, "10² to 10⁴×, not rounded"));
      rows_.add({"1", network->name(), "two clusters: median of type I over type II", "apart",
                 fmt::format("{:.0f}×", median(first) / median(second))},
                {first[first.size() / 4] > second[3 * second.size() / 4],
                 "a quarter of type I is above three quarters of type II"});
      const auto above = first.end() - std::lower_bound(first.begin(), first.end(), ridge);
      const double part = static_cast<double>(above) / static_cast<double>(first.size());
      const bool is_compute = network == &resnet_ || network == &transformer_;
      rows_.add({"2", network->name(), "type-I layers above the ridge point",
                 is_compute ? "most: compute-bound" : "few: memory-bound",
                 fmt::format("{:.0f} %", 100 * part)},
                {is_compute == (part > 0.5), is_compute ? "more than half" : "at most half"});
      const double needed = thesis_flop_per_s / second.front();
      rows_.add({"1", network->name(), "bandwidth at which every type-II layer computes at peak",
                 "10⁵ GB/s", fmt::format("{:.1f} · 10⁵ GB/s", needed / 1e14)},
                same_order(1e14, needed));
    }
  }

  // 3
  void traffic() {
    const auto reduction = [&](const Network& network, std::int64_t capacity_mib) {
      return change(bytes_of(network.at({})), bytes_of(network.at({.capacity_mib = capacity_mib})));
    };
    share("3", transformer_, "traffic, 24 → 128 MiB", -0.67, reduction(transformer_, 128));
    about("3", resnet_, "traffic, 24 → 296 MiB", -0.70, reduction(resnet_, 296));
    about("3", mobilenet_, "traffic, 24 → 442 MiB", -0.70, reduction(mobilenet_, 442));
    const auto [smallest, largest] = map_bytes(resnet_.program());
    const auto text = [](std::int64_t bytes) {
      return format_capacity(static_cast<double>(bytes));
    };
    rows_.add({"3", resnet_.name(), "largest feature map of a convolution", "98 MB", text(largest)},
              same_bytes(98 << 20, largest));
    rows_.add({"3", resnet_.name(), "smallest feature map of a convolution", "6 MB", text(smallest),
               "7 × 7 × 512 numbers in fp32, 32 times, are half of what is printed"},
              same_bytes(6 << 20, smallest));
    scopes();
  }

  // 3: what stays on chip of the Transformer by 180 MB
  void scopes() {
    const ThesisPoint point{.capacity_mib = 180};
    const Decision decision = decide(transformer_.list(), point.hardware(), point.options());
    for (const ScopeReuse& scope : reuse_by_scope(transformer_.program(), decision.plan)) {
      if (scope.scope != "adjacent" && scope.scope != "block") continue;
      const double captured =
          static_cast<double>(scope.captured_bytes) / static_cast<double>(scope.offered_bytes);
      rows_.add({"3", transformer_.name(), fmt::format("{} reuse captured at 180 MiB", scope.scope),
                 "almost all", fmt::format("{:.0f} %", 100 * captured),
                 fmt::format("all of it needs {}",
                             format_capacity(static_cast<double>(scope.capacity_100_bytes)))},
                at_least(captured, 0.9, "90 %"));
    }
  }

  // 4 and 9
  void recurrent_reuse() {
    const Prediction small = gnmt_.at({});
    const Prediction large = gnmt_.at({.capacity_mib = 500});
    share("4", gnmt_, "traffic, 24 → 500 MiB", -0.966, change(bytes_of(small), bytes_of(large)));
    // Forward and backward each read a weight in every time step, T − 1 times more often than once.
    // What backward adds to the weights' gradients is read and written alike and cancels out.
    double weights = 0;
    for (const Value& value : gnmt_.program().values) {
      if (value.kind == ValueKind::weight) weights += static_cast<double>(value.bytes);
    }
    constexpr double passes = 2, repeated = thesis_time_steps - 1;
    factor("4", gnmt_, "traffic in less out at 24 MiB, in (T−1) · weights per pass", 1,
           static_cast<double>(small.in_bytes - small.out_bytes) / (passes * repeated * weights));
    std::int64_t enough_mib = 24;  // for nine tenths of the time that 500 MiB save
    const double target_s = large.time_s + 0.1 * (small.time_s - large.time_s);
    while (time_s(gnmt_, {.capacity_mib = enough_mib}) > target_s) enough_mib += 8;
    rows_.add({"9", gnmt_.name(), "capacity for 90 % of what 500 MiB save", "large",
               fmt::format("{} MiB", enough_mib)},
              at_least(static_cast<double>(enough_mib), 256, "256 MiB"));
  }

  double speed_up(const Network& network, std::int64_t capacity_mib) const {
    return time_s(network, {.capacity_mib = capacity_mib}) /
           time_s(network, {.capacity_mib = capacity_mib, .flop_per_s = faster_flop_per_s});
  }

  // 5 and 6
  void faster_compute() {
    const std::string what = "13.45 → 23.04 TFLOP/s at {} MiB";
    const std::string at_24 = fmt::format(fmt::runtime(what), 24);
    factor("5", resnet_, at_24, 1.20, speed_up(resnet_, 24));
    drawn_over_capacity(resnet_, "speed-up", 24, 1.20);
    factor("5", transformer_, at_24, 1.40, speed_up(transformer_, 24));
    drawn_over_capacity(transformer_, "speed-up", 24, 1.40);
    for (const Network* network : {&mobilenet_, &gnmt_}) {
      const double found = speed_up(*network, 24);
      rows_.add({"5", network->name(), at_24, "under 1.10×", thesis_times(found)},
                below(found, 1.10, "1.10×"));
    }
    constexpr double bound = faster_flop_per_s / thesis_flop_per_s;
    constexpr double close = 0.95;
    const std::string rule = "95 % of the bound, 1.63×";
    for (const Network* network : all_) {
      const double high = speed_up(*network, 1000);
      const bool is_light = network == &mobilenet_;
      const Claim claim{"6",
                        network->name(),
                        fmt::format(fmt::runtime(what), 1000),
                        is_light ? "the exception" : "close to the bound at high capacity",
                        thesis_times(high),
                        fmt::format("it is {:.1f} % of the bound", 100 * high / bound)};
      rows_.add(claim,
                is_light ? below(high, close * bound, rule) : at_least(high, close * bound, rule));
      rows_.beside({"6", network->name(), fmt::format(fmt::runtime(what), 400), "",
                    thesis_times(speed_up(*network, 400))},
                   "the thesis prints no number at 400 MB");
    }
  }

  // 7 and 8
  void capacity() {
    const double later = change(time_s(mobilenet_, {.capacity_mib = 400}),
                                time_s(mobilenet_, {.capacity_mib = 1000}));
    rows_.add(
        {"7", mobilenet_.name(), "time, 400 → 1000 MiB", "falls further", thesis_percent(later)},
        below(later, -0.05, "−5 %"));
    for (const auto& [network, value] : printed_times()) {
      const double soonest =
          change(time_s(*network, {.prefetch = Prefetch::soonest}),
                 time_s(*network, {.capacity_mib = 500, .prefetch = Prefetch::soonest}));
      share("8", *network, "time, 24 → 500 MiB", value,
            change(time_s(*network, {}), time_s(*network, {.capacity_mib = 500})),
            fmt::format("the thesis does not list the layers; with prefetch soonest it is {}",
                        thesis_percent(soonest)));
      // Printed against the time at 24 MiB, so that it stands below ours there.
      drawn_over_capacity(*network, "time", 500, time_s(*network, {}) * (1 + value));
    }
  }
  std::vector<std::pair<const Network*, double>> printed_times() const {
    return {{&resnet_, -0.481}, {&transformer_, -0.265}, {&mobilenet_, -0.696}, {&gnmt_, -0.811}};
  }

  // 5 and 8 for the networks as published, whose layers do not fit into 24 MiB.
  void published() {
    struct Published {
      std::string_view name;
      const char* speed_up;
      double time;
    };
    const std::string note = "as published; the printed number is met by the inferred network only";
    for (const auto& [name, printed, time] : {Published{"transformer_big", "1.40×", -0.265},
                                              Published{"gnmt", "under 1.10×", -0.811}}) {
      const Network network(name);
      const ThesisPoint small{.may_slice = true};
      const ThesisPoint large{.capacity_mib = 500, .may_slice = true};
      const ThesisPoint faster{.flop_per_s = faster_flop_per_s, .may_slice = true};
      rows_.beside({"5", network.name(), "13.45 → 23.04 TFLOP/s at 24 MiB, as published", printed,
                    thesis_times(time_s(network, small) / time_s(network, faster))},
                   "as published; the thesis's network is inferred");
      rows_.beside({"8", network.name(), "time, 24 → 500 MiB, as published", thesis_percent(time),
                    thesis_percent(change(time_s(network, small), time_s(network, large)))},
                   note);
    }
  }

  // 10 and 11
  void bandwidth() {
    const auto average = [&](const Network& network, std::int64_t capacity_mib, double peak) {
      const Prediction found = network.at({.capacity_mib = capacity_mib, .bytes_per_s = peak});
      return bytes_of(found) / found.time_s;
    };
    for (const Network* network : all_) {
      const auto ratio = [&](std::int64_t capacity_mib) {
        return average(*network, capacity_mib, hbm_bytes_per_s) /
               average(*network, capacity_mib, thesis_bytes_per_s);
      };
      const double large = ratio(500);
      const bool is_light = network == &mobilenet_;
      rows_.add(
          {"10", network->name(), "average bandwidth, 1555 against 616 GB/s, at 24 and 500 MiB",
           is_light ? "does not converge" : "converges",
           fmt::format("{}, {}", thesis_times(ratio(24)), thesis_times(large))},
          is_light ? at_least(large, 1.15, "1.15× at 500 MiB")
                   : below(large, 1.15, "1.15× at 500 MiB"));
    }
    double least = 1;
    for (const std::int64_t capacity_mib : {24, 64, 128, 256, 400}) {
      least = std::min(least,
                       average(mobilenet_, capacity_mib, thesis_bytes_per_s) / thesis_bytes_per_s);
    }
    rows_.add({"11", mobilenet_.name(), "average bandwidth, 24 to 400 MiB",
               "high at every capacity", fmt::format("at least {:.0f} % of peak", 100 * least)},
              at_least(least, 0.6, "60 % of peak"));
  }

  // 12 and 13
  void layer_classes() {
    const auto share_at = [&](const Network& network, std::int64_t capacity_mib) {
      return share_of(network.at({.capacity_mib = capacity_mib}, Record::steps), network.program(),
                      LayerClass::pointwise);
    };
    share("12", resnet_, "type-II share of time at 24 MiB", 0.4615, share_at(resnet_, 24));
    share("12", transformer_, "type-II share of time at 24 MiB", 0.2669,
          share_at(transformer_, 24));
    for (const Network* network : {&resnet_, &transformer_}) {
      const double found = share_at(*network, 400);
      rows_.add({"13", network->name(), "type-II share of time at 400 MiB", "almost hidden",
                 thesis_percent(found)},
                below(found, 0.10, "10 %"));
    }
  }

  // 14
  void batch() {
    const auto samples_per_s = [&](std::string_view name, std::int64_t batch, std::int64_t mb) {
      const Network network(name, batch);
      return static_cast<double>(batch) / time_s(network, {.capacity_mib = mb});
    };
    for (const Network* network : all_) {
      const bool is_recurrent = network == &gnmt_;
      const double ratio =
          samples_per_s(network->name(), 256, 24) / samples_per_s(network->name(), 4, 24);
      rows_.add({"14", network->name(), "samples/s, batch 4 → 256 at 24 MiB",
                 is_recurrent ? "rises" : "falls or flat", thesis_times(ratio)},
                is_recurrent ? at_least(ratio, 1.05, "1.05×") : below(ratio, 1.05, "1.05×"));
    }
    const double ratio =
        samples_per_s(gnmt_.name(), 256, 400) / samples_per_s(gnmt_.name(), 32, 400);
    rows_.add(
        {"14", gnmt_.name(), "samples/s, batch 32 → 256 at 400 MiB", "falls", thesis_times(ratio)},
        below(ratio, 1, "1.00×"));
  }

  // Figures 4.1 and 4.2, at the capacities of the break-down
  void policies() {
    for (const Network* network : all_) {
      double prefetch = -1, offload = -1;  // the most by which ours is slower
      for (const std::int64_t mib : {24, 64, 128, 256, 400}) {
        const double aware = time_s(*network, {.capacity_mib = mib});
        const double naive =
            time_s(*network, {.capacity_mib = mib, .prefetch = Prefetch::next_layer});
        const double on_demand =
            time_s(*network, {.capacity_mib = mib, .offload = Offload::on_demand});
        prefetch = std::max(prefetch, change(naive, aware));
        offload = std::max(offload, change(on_demand, aware));
      }
      const std::string why = "a transfer that cannot be interrupted delays a more urgent one";
      rows_.add({"figure 4.1", network->name(),
                 "latency-aware against naive prefetch, most over 24 to 400 MiB", "never slower",
                 thesis_percent(prefetch), why},
                below(prefetch, 0.001, "+0.1 %"));
      rows_.add({"figure 4.2", network->name(),
                 "look-ahead against on-demand offload, most over 24 to 400 MiB", "never slower",
                 thesis_percent(offload), why},
                below(offload, 0.001, "+0.1 %"));
    }
  }

  const std::function<void(double)>& progress_;
  const Network resnet_{thesis_networks[0].model};
  const Network mobilenet_{thesis_networks[1].model};
  const Network transformer_{thesis_networks[2].model};
  const Network gnmt_{thesis_networks[3].model};
  const std::vector<const Network*> all_{&resnet_, &mobilenet_, &transformer_, &gnmt_};
  ThesisRows rows_;
};

}  // namespace

std::vector<Finding> reproduce_analytical(const std::function<void(double)>& progress) {
  return Analytical(progress).run();
}

}  // namespace strata
