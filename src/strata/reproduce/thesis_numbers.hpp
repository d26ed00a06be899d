// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/thesis_network.hpp"
#include "strata/reproduce/thesis_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The numbers that the thesis prints of its networks, as data: each with its place, what it is of,
/// and how we compute it.
namespace strata {

/// The networks of the thesis, in the order of thesis_networks.
class ThesisNetworks {
 public:
  const ThesisNetwork& resnet() const { return all_[0]; }
  const ThesisNetwork& mobilenet() const { return all_[1]; }
  const ThesisNetwork& transformer() const { return all_[2]; }
  const ThesisNetwork& gnmt() const { return all_[3]; }
  std::span<const ThesisNetwork, 4> all() const { return all_; }

 private:
  const ThesisNetwork all_[4] = {
      ThesisNetwork(thesis_networks[0].model), ThesisNetwork(thesis_networks[1].model),
      ThesisNetwork(thesis_networks[2].model), ThesisNetwork(thesis_networks[3].model)};
};

double traffic_bytes(const Prediction& prediction);
/// Time at 13.45 over that at 23.04 TFLOP/s.
double thesis_speed_up(const ThesisNetwork& network, ThesisPoint point);
/// Shares of time by class of layer; a step has the time from the end of the one before it.
double class_share(const ThesisNetwork& network, const ThesisPoint& point, LayerClass layer_class);

struct PrintedNumber {
  std::string_view observation;
  std::size_t network;  ///< in thesis_networks
  std::string_view what;
  double printed;
  ThesisForm form;
  std::string_view sentence;
  /// What we compute, at the capacities that the number is of; rates, prefetch and channel are
  /// those of the point.
  double (*found)(const ThesisNetwork& network, const ThesisPoint& point);
  std::string_view why_not = {};   ///< used where it does not hold
  std::string_view drawn_in = {};  ///< the panel of figure 5.3, behind the network's name
  std::int64_t drawn_at_mib = 0;

  std::string text(double value) const;
  std::string printed_text() const;
  ThesisVerdict verdict(double value) const;
  /// How far a value is from what is printed, in percentage points or hundredths of a factor.
  double distance(double value) const;
};
std::span<const PrintedNumber> printed_numbers();

/// A reading of the thesis's prefetch and of the order of its channel.
struct ThesisReading {
  std::string_view name;
  Prefetch prefetch;
  ChannelOrder channel;
};
inline constexpr ThesisReading thesis_readings[] = {
    {"prose", Prefetch::listing, ChannelOrder::loads_first},
    {"Listing 1 as printed", Prefetch::listing_printed, ChannelOrder::loads_first},
    {"prose, offload first", Prefetch::listing, ChannelOrder::offload_first},
    {"Listing 1 as printed, offload first", Prefetch::listing_printed,
     ChannelOrder::offload_first}};

/// Every printed number by every reading: a row per number, in the order of the readings.
std::vector<std::vector<double>> numbers_by_reading(const ThesisNetworks& networks);
/// Mean distance from what is printed, by reading: over all networks, or over those alone that the
/// thesis gives.
std::vector<double> distances_by_reading(const std::vector<std::vector<double>>& numbers,
                                         bool of_given_alone = false);

}  // namespace strata
