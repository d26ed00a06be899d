// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/thesis_numbers.hpp"

#include "strata/reproduce/run_tasks.hpp"

#include <cmath>
#include <functional>
#include <iterator>

namespace strata {
namespace {

ThesisPoint with_capacity(ThesisPoint point, std::int64_t mib) {
  point.capacity_mib = mib;
  return point;
}

template <std::int64_t to_mib>
double time_change(const ThesisNetwork& network, const ThesisPoint& point) {
  return network.at(with_capacity(point, to_mib)).time_s /
             network.at(with_capacity(point, 24)).time_s -
         1;
}

template <std::int64_t to_mib>
double traffic_change(const ThesisNetwork& network, const ThesisPoint& point) {
  return traffic_bytes(network.at(with_capacity(point, to_mib))) /
             traffic_bytes(network.at(with_capacity(point, 24))) -
         1;
}

double speed_up_at_24(const ThesisNetwork& network, const ThesisPoint& point) {
  return thesis_speed_up(network, with_capacity(point, 24));
}

double pointwise_share_at_24(const ThesisNetwork& network, const ThesisPoint& point) {
  return class_share(network, with_capacity(point, 24), LayerClass::pointwise);
}

/// Bytes of the weights that are read in every time step.
double recurrent_weight_bytes(const Program& program) {
  std::vector<bool> is_counted(program.values.size(), false);
  double bytes = 0;
  for (StepId id = 0; id < program.steps.size(); ++id) {
    if (program.steps[id].time == 0) continue;
    for (const Use& use : program.uses_of(id)) {
      const Value& value = program.values[use.value];
      if (value.kind != ValueKind::weight || is_counted[use.value]) continue;
      is_counted[use.value] = true;
      bytes += static_cast<double>(value.bytes);
    }
  }
  return bytes;
}

// Forward and backward each read a weight in every time step, T − 1 times more often than once.
// What backward adds to the weights' gradients is read and written alike and cancels out.
double excess_of_weights(const ThesisNetwork& network, const ThesisPoint& point) {
  const double weights = recurrent_weight_bytes(network.program());
  constexpr double passes = 2, repeated = thesis_time_steps - 1;
  const Prediction small = network.at(with_capacity(point, 24));
  return static_cast<double>(small.in_bytes - small.out_bytes) / (passes * repeated * weights);
}

constexpr std::size_t at_resnet = 0, at_mobilenet = 1, at_transformer = 2, at_gnmt = 3;
constexpr std::string_view adjacent_reuse =
    "Complete adjacent reuse cuts the traffic at 24 MB by 67 % for the Transformer (128 MB) and by "
    "about 70 % for ResNet-50 (296 MB) and MobileNet v2 (442 MB) (observation 3)";
constexpr std::string_view recurrent_reuse =
    "Reuse of recurrent weights dominates GNMT: 500 MB save 96.6 % of its traffic (observation 4)";
constexpr std::string_view weights_again =
    "At small capacity GNMT reads (T−1) times its weights more than it writes (observation 4)";
constexpr std::string_view faster_unit =
    "1.71 times the throughput gives 1.20× for ResNet-50 and 1.40× for the Transformer at 24 MB "
    "(observation 5)";
constexpr std::string_view falling_time =
    "From 24 to 500 MB the time falls by 48.1 % (ResNet-50), 26.5 % (Transformer), 69.6 % "
    "(MobileNet v2) and 81.1 % (GNMT) (observation 8)";
constexpr std::string_view pointwise_time =
    "At 24 MB type-II layers take 46.15 % of ResNet-50's time and 26.69 % of the Transformer's "
    "(observation 12)";
constexpr std::string_view not_listed = "the thesis does not list the layers of this network";

constexpr PrintedNumber numbers_of_thesis[] = {
    {"3", at_transformer, "traffic, 24 → 128 MiB", -0.67, ThesisForm::share, adjacent_reuse,
     traffic_change<128>},
    {"3", at_resnet, "traffic, 24 → 296 MiB", -0.70, ThesisForm::about, adjacent_reuse,
     traffic_change<296>},
    {"3", at_mobilenet, "traffic, 24 → 442 MiB", -0.70, ThesisForm::about, adjacent_reuse,
     traffic_change<442>},
    {"4", at_gnmt, "traffic, 24 → 500 MiB", -0.966, ThesisForm::share, recurrent_reuse,
     traffic_change<500>},
    {"4", at_gnmt, "traffic in less out at 24 MiB, in (T−1) · weights per pass", 1,
     ThesisForm::factor, weights_again, excess_of_weights},
    {"5",
     at_resnet,
     "13.45 → 23.04 TFLOP/s at 24 MiB",
     1.20,
     ThesisForm::factor,
     faster_unit,
     speed_up_at_24,
     {},
     "speed-up",
     24},
    {"5",
     at_transformer,
     "13.45 → 23.04 TFLOP/s at 24 MiB",
     1.40,
     ThesisForm::factor,
     faster_unit,
     speed_up_at_24,
     {},
     "speed-up",
     24},
    {"8",
     at_resnet,
     "time, 24 → 500 MiB",
     -0.481,
     ThesisForm::share,
     falling_time,
     time_change<500>,
     {},
     "time",
     500},
    {"8", at_transformer, "time, 24 → 500 MiB", -0.265, ThesisForm::share, falling_time,
     time_change<500>, not_listed, "time", 500},
    {"8",
     at_mobilenet,
     "time, 24 → 500 MiB",
     -0.696,
     ThesisForm::share,
     falling_time,
     time_change<500>,
     {},
     "time",
     500},
    {"8", at_gnmt, "time, 24 → 500 MiB", -0.811, ThesisForm::share, falling_time, time_change<500>,
     not_listed, "time", 500},
    {"12", at_resnet, "type-II share of time at 24 MiB", 0.4615, ThesisForm::part, pointwise_time,
     pointwise_share_at_24},
    {"12", at_transformer, "type-II share of time at 24 MiB", 0.2669, ThesisForm::part,
     pointwise_time, pointwise_share_at_24, not_listed}};

}  // namespace

double traffic_bytes(const Prediction& prediction) {
  return static_cast<double>(prediction.in_bytes + prediction.out_bytes);
}

double thesis_speed_up(const ThesisNetwork& network, ThesisPoint point) {
  const double time_s = network.at(point).time_s;
  point.flop_per_s = faster_flop_per_s;
  return time_s / network.at(point).time_s;
}

double class_share(const ThesisNetwork& network, const ThesisPoint& point, LayerClass layer_class) {
  const Prediction prediction = network.at(point, Record::steps);
  const Program& program = network.program();
  double time_s = 0;
  double before_s = 0;
  for (StepId step = 0; step < program.steps.size(); ++step) {
    const double end_s = prediction.steps[step].end_s;
    if (program.steps[step].layer_class == layer_class) time_s += end_s - before_s;
    before_s = end_s;
  }
  return time_s / prediction.time_s;
}

std::string PrintedNumber::text(double value) const { return thesis_text(form, value); }

std::string PrintedNumber::printed_text() const {
  return form == ThesisForm::about ? "about " + text(printed) : text(printed);
}

ThesisVerdict PrintedNumber::verdict(double value) const {
  if (form == ThesisForm::factor) return within_factor(printed, value);
  return within_points(printed, value, form == ThesisForm::about ? about_points : exact_points);
}

double PrintedNumber::distance(double value) const { return 100 * std::fabs(value - printed); }

std::span<const PrintedNumber> printed_numbers() { return numbers_of_thesis; }

std::vector<std::vector<double>> numbers_by_reading(const ThesisNetworks& networks) {
  std::vector<std::vector<double>> found(std::size(numbers_of_thesis),
                                         std::vector<double>(std::size(thesis_readings)));
  std::vector<std::function<void()>> tasks;
  for (std::size_t i = 0; i < std::size(numbers_of_thesis); ++i) {
    for (std::size_t k = 0; k < std::size(thesis_readings); ++k) {
      tasks.emplace_back([&networks, &found, i, k] {
        const ThesisReading& reading = thesis_readings[k];
        found[i][k] =
            numbers_of_thesis[i].found(networks.all()[numbers_of_thesis[i].network],
                                       {.prefetch = reading.prefetch, .channel = reading.channel});
      });
    }
  }
  run_tasks(tasks, {});
  return found;
}

std::vector<double> distances_by_reading(const std::vector<std::vector<double>>& found,
                                         bool of_given_alone) {
  std::vector<double> distances(std::size(thesis_readings));
  double count = 0;
  for (std::size_t i = 0; i < std::size(numbers_of_thesis); ++i) {
    const PrintedNumber& number = numbers_of_thesis[i];
    if (of_given_alone && thesis_networks[number.network].is_inferred) continue;
    ++count;
    for (std::size_t k = 0; k < distances.size(); ++k) distances[k] += number.distance(found[i][k]);
  }
  for (double& distance : distances) distance /= count;
  return distances;
}

}  // namespace strata
