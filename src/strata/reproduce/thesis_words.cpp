// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/thesis_words.hpp"

#include <algorithm>

namespace strata {
namespace {

template <std::int64_t mib>
double speed_up_at(const ThesisNetwork& network) {
  return thesis_speed_up(network, {.capacity_mib = mib});
}

template <std::int64_t from_mib, std::int64_t to_mib>
double time_change_between(const ThesisNetwork& network) {
  return network.at({.capacity_mib = to_mib}).time_s /
             network.at({.capacity_mib = from_mib}).time_s -
         1;
}

double pointwise_share_at_400(const ThesisNetwork& network) {
  return class_share(network, {.capacity_mib = 400}, LayerClass::pointwise);
}

/// The capacity that saves nine tenths of the time that 500 MiB save.
double enough_mib(const ThesisNetwork& network) {
  const double small_s = network.at({}).time_s;
  const double large_s = network.at({.capacity_mib = 500}).time_s;
  const double target_s = large_s + 0.1 * (small_s - large_s);
  std::int64_t mib = 24;
  while (network.at({.capacity_mib = mib}).time_s > target_s) mib += 8;
  return static_cast<double>(mib);
}

double average_bandwidth(const ThesisNetwork& network, const ThesisPoint& point) {
  const Prediction found = network.at(point);
  return traffic_bytes(found) / found.time_s;
}

double bandwidth_ratio_at_500(const ThesisNetwork& network) {
  return average_bandwidth(network, {.capacity_mib = 500, .bytes_per_s = hbm_bytes_per_s}) /
         average_bandwidth(network, {.capacity_mib = 500});
}

double least_bandwidth_share(const ThesisNetwork& network) {
  double least = 1;
  for (const std::int64_t mib : {24, 64, 128, 256, 400})
    least = std::min(least, average_bandwidth(network, {.capacity_mib = mib}) / thesis_bytes_per_s);
  return least;
}

double samples_per_s(const ThesisNetwork& network, std::int64_t batch, std::int64_t mib) {
  const ThesisNetwork other(network.name(), batch);
  return static_cast<double>(batch) / other.at({.capacity_mib = mib}).time_s;
}

template <std::int64_t from, std::int64_t to, std::int64_t mib>
double samples_change(const ThesisNetwork& network) {
  return samples_per_s(network, to, mib) / samples_per_s(network, from, mib);
}

constexpr std::size_t of_resnet = 0, of_mobilenet = 1, of_transformer = 2, of_gnmt = 3;
constexpr double speed_up_limit = faster_flop_per_s / thesis_flop_per_s;
constexpr double close_to_limit = 0.95 * speed_up_limit;
constexpr std::string_view close_text = "95 % of the bound, 1.63×";

constexpr std::string_view slow_memory =
    "At 24 MB a faster compute unit gives MobileNet v2 and GNMT less than 1.10× (observation 5)";
constexpr std::string_view flat_time =
    "At high capacity the speed-up is close to its bound of 1.71×, for all but MobileNet v2 "
    "(observation 6)";
constexpr std::string_view light_network =
    "MobileNet v2 still gets faster beyond 400 MB (observation 7)";
constexpr std::string_view large_memory =
    "The on-chip memory must be large to help a recurrent network (observation 9)";
constexpr std::string_view same_bandwidth =
    "With capacity, average bandwidths at 616 and 1555 GB/s converge, except for MobileNet v2 "
    "(observation 10)";
constexpr std::string_view high_bandwidth =
    "MobileNet v2's average bandwidth is high at every capacity (observation 11)";
constexpr std::string_view hidden_layers =
    "Once a block of layers fits (400 MB), time of type-II layers is almost hidden (observation "
    "13)";
constexpr std::string_view batch_falls =
    "From batch 4 to 256 samples per second fall or stay, but for GNMT, where they rise at 24 MB "
    "(observation 14)";
constexpr std::string_view batch_misses =
    "At 400 MB GNMT's samples per second fall once recurrent reuse is missed (observation 14)";

constexpr std::string_view speed_up_1000 = "13.45 → 23.04 TFLOP/s at 1000 MiB";
constexpr std::string_view bandwidths = "average bandwidth, 1555 against 616 GB/s, at 500 MiB";
constexpr std::string_view batches_at_24 = "samples/s, batch 4 → 256 at 24 MiB";
constexpr std::string_view close_words = "close to the bound at high capacity";
constexpr std::string_view falls_words = "falls or flat";

constexpr WordedClaim claims_in_words[] = {
    {"5", of_mobilenet, "13.45 → 23.04 TFLOP/s at 24 MiB", "under 1.10×", slow_memory,
     speed_up_at<24>, ThesisForm::factor, ThesisSide::below, 1.10, "1.10×"},
    {"5", of_gnmt, "13.45 → 23.04 TFLOP/s at 24 MiB", "under 1.10×", slow_memory, speed_up_at<24>,
     ThesisForm::factor, ThesisSide::below, 1.10, "1.10×"},
    {"6", of_resnet, speed_up_1000, close_words, flat_time, speed_up_at<1000>, ThesisForm::factor,
     ThesisSide::at_least, close_to_limit, close_text},
    {"6", of_mobilenet, speed_up_1000, "the exception", flat_time, speed_up_at<1000>,
     ThesisForm::factor, ThesisSide::below, close_to_limit, close_text},
    {"6", of_transformer, speed_up_1000, close_words, flat_time, speed_up_at<1000>,
     ThesisForm::factor, ThesisSide::at_least, close_to_limit, close_text},
    {"6", of_gnmt, speed_up_1000, close_words, flat_time, speed_up_at<1000>, ThesisForm::factor,
     ThesisSide::at_least, close_to_limit, close_text},
    {"7", of_mobilenet, "time, 400 → 1000 MiB", "falls further", light_network,
     time_change_between<400, 1000>, ThesisForm::share, ThesisSide::below, -0.05, "−5 %"},
    {"9", of_gnmt, "capacity for 90 % of what 500 MiB save", "large", large_memory, enough_mib,
     ThesisForm::mebibytes, ThesisSide::at_least, 256, "256 MiB"},
    {"10", of_resnet, bandwidths, "converges", same_bandwidth, bandwidth_ratio_at_500,
     ThesisForm::factor, ThesisSide::below, 1.15, "1.15×"},
    {"10", of_mobilenet, bandwidths, "does not converge", same_bandwidth, bandwidth_ratio_at_500,
     ThesisForm::factor, ThesisSide::at_least, 1.15, "1.15×"},
    {"10", of_transformer, bandwidths, "converges", same_bandwidth, bandwidth_ratio_at_500,
     ThesisForm::factor, ThesisSide::below, 1.15, "1.15×"},
    {"10", of_gnmt, bandwidths, "converges", same_bandwidth, bandwidth_ratio_at_500,
     ThesisForm::factor, ThesisSide::below, 1.15, "1.15×"},
    {"11", of_mobilenet, "least average bandwidth, 24 to 400 MiB, of the peak",
     "high at every capacity", high_bandwidth, least_bandwidth_share, ThesisForm::part,
     ThesisSide::at_least, 0.6, "60 %"},
    {"13", of_resnet, "type-II share of time at 400 MiB", "almost hidden", hidden_layers,
     pointwise_share_at_400, ThesisForm::part, ThesisSide::below, 0.10, "10 %"},
    {"13", of_transformer, "type-II share of time at 400 MiB", "almost hidden", hidden_layers,
     pointwise_share_at_400, ThesisForm::part, ThesisSide::below, 0.10, "10 %"},
    {"14", of_resnet, batches_at_24, falls_words, batch_falls, samples_change<4, 256, 24>,
     ThesisForm::factor, ThesisSide::below, 1.05, "1.05×"},
    {"14", of_mobilenet, batches_at_24, falls_words, batch_falls, samples_change<4, 256, 24>,
     ThesisForm::factor, ThesisSide::below, 1.05, "1.05×"},
    {"14", of_transformer, batches_at_24, falls_words, batch_falls, samples_change<4, 256, 24>,
     ThesisForm::factor, ThesisSide::below, 1.05, "1.05×"},
    {"14", of_gnmt, batches_at_24, "rises", batch_falls, samples_change<4, 256, 24>,
     ThesisForm::factor, ThesisSide::at_least, 1.05, "1.05×"},
    {"14", of_gnmt, "samples/s, batch 32 → 256 at 400 MiB", "falls", batch_misses,
     samples_change<32, 256, 400>, ThesisForm::factor, ThesisSide::below, 1, "1.00×"}};

}  // namespace

std::string WordedClaim::text(double value) const { return thesis_text(form, value); }

ThesisVerdict WordedClaim::verdict(double value) const {
  return side == ThesisSide::below ? below(value, bound, std::string(bound_text))
                                   : at_least(value, bound, std::string(bound_text));
}

std::span<const WordedClaim> worded_claims() { return claims_in_words; }

}  // namespace strata
