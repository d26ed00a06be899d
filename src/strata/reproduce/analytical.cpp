// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/analytical.hpp"

#include "strata/base/units.hpp"
#include "strata/reproduce/thesis_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace strata {
namespace {

constexpr double most_points = 3;        // percentage points by which a share may differ
constexpr double most_points_about = 5;  // where the thesis prints "about"
constexpr double most_factor = 0.05;     // by which a speed-up may differ

std::string percent(double share) {
  std::string text = fmt::format("{:+.1f} %", 100 * share);
  if (text.front() == '-') text.replace(0, 1, "−");
  return text;
}
std::string times(double factor) { return fmt::format("{:.2f}×", factor); }

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

/// Operations per byte of the values that each forward layer touches: its reuse frequency.
std::vector<double> reuse_frequencies(const ThesisNetwork& network, LayerClass layer_class) {
  const Program& program = network.program();
  std::vector<double> frequencies;
  for (StepId step = 0; step < program.steps.size(); ++step) {
    const Step& s = program.steps[step];
    if (s.pass != Pass::forward || s.layer_class != layer_class || s.flop == 0) continue;
    frequencies.push_back(static_cast<double>(s.flop - s.mac) /
                          static_cast<double>(network.list().needs[step].all_bytes));
  }
  std::sort(frequencies.begin(), frequencies.end());
  return frequencies;
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
    std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
      const auto rank = [](const Finding& finding) {  // the figures come last
        const int number = std::atoi(finding.observation.c_str());
        return number == 0 ? 100 : number;
      };
      return rank(a) < rank(b);
    });
    return std::move(findings_);
  }

 private:
  using Network = ThesisNetwork;

  double time_s(const Network& network, ThesisPoint point) const {
    return network.at(point).time_s;
  }
  double change(double from, double to) const { return to / from - 1; }

  void share(std::string observation, const Network& network, std::string what, double printed,
             double found, std::string note = {}) {
    claim(std::move(observation), network, std::move(what), percent(printed), percent(found),
          std::fabs(100 * (found - printed)) <= most_points, std::move(note));
  }
  void about(std::string observation, const Network& network, std::string what, double printed,
             double found) {
    claim(std::move(observation), network, std::move(what), "about " + percent(printed),
          percent(found), std::fabs(100 * (found - printed)) <= most_points_about);
  }
  void factor(std::string observation, const Network& network, std::string what, double printed,
              double found, std::string note = {}) {
    claim(std::move(observation), network, std::move(what), times(printed), times(found),
          std::fabs(found - printed) <= most_factor, std::move(note));
  }
  void claim(std::string observation, const Network& network, std::string what, std::string printed,
             std::string found, bool holds, std::string note = {}) {
    findings_.push_back({.observation = std::move(observation),
                         .network = network.name(),
                         .what = std::move(what),
                         .printed = std::move(printed),
                         .found = std::move(found),
                         .holds = holds,
                         .note = std::move(note)});
  }
  void beside(std::string observation, const Network& network, std::string what,
              std::string found) {
    claim(std::move(observation), network, std::move(what), "", std::move(found), true);
    findings_.back().is_printed = false;
  }

  /// Puts the printed number into figure 5.3, whose panels are named after the network.
  void drawn_over_capacity(const Network& network, std::string_view panel,
                           std::int64_t capacity_mib, double y) {
    Finding& finding = findings_.back();
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
      const std::vector<double> first = reuse_frequencies(*network, LayerClass::dense);
      const std::vector<double> second = reuse_frequencies(*network, LayerClass::pointwise);
      const double spread =
          std::max(first.back(), second.back()) / std::min(first.front(), second.front());
      const long magnitude = std::lround(std::log10(spread));
      claim("1", *network, "reuse frequency, most against least", "10² to 10⁴×",
            fmt::format("{:.0f}×", spread), magnitude >= 2 && magnitude <= 4);
      claim("1", *network, "two clusters: median of type I over type II", "apart",
            fmt::format("{:.0f}×", median(first) / median(second)),
            first[first.size() / 4] > second[3 * second.size() / 4]);
      const auto above = first.end() - std::lower_bound(first.begin(), first.end(), ridge);
      const double part = static_cast<double>(above) / static_cast<double>(first.size());
      const bool is_compute = network == &resnet_ || network == &transformer_;
      claim("2", *network, "type-I layers above the ridge point",
            is_compute ? "most: compute-bound" : "few: memory-bound",
            fmt::format("{:.0f} %", 100 * part), is_compute == (part > 0.5));
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
    std::int64_t largest = 0;
    for (const Value& value : resnet_.program().values) {
      if (value.kind == ValueKind::feature) largest = std::max(largest, value.bytes);
    }
    claim("3", resnet_, "largest feature map", "98 MB",
          format_capacity(static_cast<double>(largest)), largest == 98 << 20);
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
    claim("9", gnmt_, "capacity for 90 % of what 500 MiB save", "large",
          fmt::format("{} MiB", enough_mib), enough_mib >= 256);
  }

  // 5 and 6
  void faster_compute() {
    const auto speed_up = [&](const Network& network, std::int64_t capacity_mib) {
      return time_s(network, {.capacity_mib = capacity_mib}) /
             time_s(network, {.capacity_mib = capacity_mib, .flop_per_s = faster_flop_per_s});
    };
    const std::string what = "13.45 → 23.04 TFLOP/s at {} MiB";
    factor("5", resnet_, fmt::format(fmt::runtime(what), 24), 1.20, speed_up(resnet_, 24));
    drawn_over_capacity(resnet_, "speed-up", 24, 1.20);
    factor("5", transformer_, fmt::format(fmt::runtime(what), 24), 1.40,
           speed_up(transformer_, 24));
    drawn_over_capacity(transformer_, "speed-up", 24, 1.40);
    for (const Network* network : {&mobilenet_, &gnmt_}) {
      const double found = speed_up(*network, 24);
      claim("5", *network, fmt::format(fmt::runtime(what), 24), "under 1.10×", times(found),
            found < 1.10);
    }
    factor("6", resnet_, fmt::format(fmt::runtime(what), 400), 1.71, speed_up(resnet_, 400),
           "known: an independent implementation has 1.60×");
    factor("6", transformer_, fmt::format(fmt::runtime(what), 400), 1.71,
           speed_up(transformer_, 400));
    factor("6", gnmt_, fmt::format(fmt::runtime(what), 400), 1.71, speed_up(gnmt_, 400));
    const double light = speed_up(mobilenet_, 400);
    claim("6", mobilenet_, fmt::format(fmt::runtime(what), 400), "the exception", times(light),
          light < 1.60);
  }

  // 7 and 8
  void capacity() {
    const double later = change(time_s(mobilenet_, {.capacity_mib = 400}),
                                time_s(mobilenet_, {.capacity_mib = 1000}));
    claim("7", mobilenet_, "time, 400 → 1000 MiB", "falls further", percent(later), later < -0.05);
    const std::pair<const Network*, double> printed[] = {
        {&resnet_, -0.481}, {&transformer_, -0.265}, {&mobilenet_, -0.696}, {&gnmt_, -0.811}};
    for (const auto& [network, value] : printed) {
      share("8", *network, "time, 24 → 500 MiB", value,
            change(time_s(*network, {}), time_s(*network, {.capacity_mib = 500})));
      // Printed against the time at 24 MiB, so that it stands below ours there.
      drawn_over_capacity(*network, "time", 500, time_s(*network, {}) * (1 + value));
    }
  }

  // 5 and 8 for the networks as published, whose layers do not fit into 24 MiB.
  void published() {
    for (const std::string_view name : {"transformer_big", "gnmt"}) {
      const Network network(name);
      const ThesisPoint small{.may_slice = true};
      const ThesisPoint large{.capacity_mib = 500, .may_slice = true};
      const ThesisPoint faster{.flop_per_s = faster_flop_per_s, .may_slice = true};
      beside("5", network, "13.45 → 23.04 TFLOP/s at 24 MiB, as published",
             times(time_s(network, small) / time_s(network, faster)));
      beside("8", network, "time, 24 → 500 MiB, as published",
             percent(change(time_s(network, small), time_s(network, large))));
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
      const double small = ratio(24);
      const double large = ratio(500);
      const bool converges = large < 1.15;
      claim("10", *network, "average bandwidth, 1555 against 616 GB/s, at 24 and 500 MiB",
            network == &mobilenet_ ? "does not converge" : "converges",
            fmt::format("{}, {}", times(small), times(large)),
            converges == (network != &mobilenet_));
    }
    double least = 1;
    for (const std::int64_t capacity_mib : {24, 64, 128, 256, 400}) {
      least = std::min(least,
                       average(mobilenet_, capacity_mib, thesis_bytes_per_s) / thesis_bytes_per_s);
    }
    claim("11", mobilenet_, "average bandwidth, 24 to 400 MiB", "high at every capacity",
          fmt::format("at least {:.0f} % of peak", 100 * least), least > 0.6);
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
      claim("13", *network, "type-II share of time at 400 MiB", "almost hidden", percent(found),
            found < 0.10);
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
      const double small = samples_per_s(network->name(), 4, 24);
      const double large = samples_per_s(network->name(), 256, 24);
      claim("14", *network, "samples/s, batch 4 → 256 at 24 MiB",
            is_recurrent ? "rises" : "falls or flat", times(large / small),
            is_recurrent ? large > small : large < 1.05 * small);
    }
    const double before = samples_per_s(gnmt_.name(), 32, 400);
    const double after = samples_per_s(gnmt_.name(), 256, 400);
    claim("14", gnmt_, "samples/s, batch 32 → 256 at 400 MiB", "falls", times(after / before),
          after < before);
  }

  // Figures 4.1 and 4.2
  void policies() {
    for (const Network* network : all_) {
      const double aware = time_s(*network, {.prefetch = Prefetch::listing});
      const double naive = time_s(*network, {.prefetch = Prefetch::next_layer});
      claim("figure 4.1", *network, "latency-aware against naive prefetch at 24 MiB",
            "never slower", percent(change(naive, aware)), aware <= naive * 1.001);
      const double ahead = time_s(*network, {});
      const double on_demand = time_s(*network, {.offload = Offload::on_demand});
      claim("figure 4.2", *network, "look-ahead against on-demand offload at 24 MiB",
            "never slower", percent(change(on_demand, ahead)), ahead <= on_demand * 1.001);
    }
  }

  const std::function<void(double)>& progress_;
  const Network resnet_{thesis_networks[0].model};
  const Network mobilenet_{thesis_networks[1].model};
  const Network transformer_{thesis_networks[2].model};
  const Network gnmt_{thesis_networks[3].model};
  const std::vector<const Network*> all_{&resnet_, &mobilenet_, &transformer_, &gnmt_};
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> reproduce_analytical(const std::function<void(double)>& progress) {
  return Analytical(progress).run();
}

}  // namespace strata
