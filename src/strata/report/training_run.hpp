// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/text_style.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>

/// What a whole training run takes and costs, from the time of one iteration.
namespace strata {

/// What of a run does not follow from the network and the cluster.
struct TrainingTerms {
  std::optional<double> tokens = {}, samples = {};  ///< of the whole run; at most one of the two
  std::optional<double> price_per_hour = {};        ///< of one device
  std::string currency = {};                        ///< "USD"
  std::optional<double> power_w = {};               ///< the limit of one device's board
};

/// One iteration on some devices.
struct TrainingPace {
  std::int64_t devices = 1, samples = 1;
  std::optional<std::int64_t> tokens = {};  ///< where the network has sequences
  double time_s = 0, low_s = 0, high_s = 0;
};

struct TrainingRun {
  double iterations = 0;  ///< the last one is a whole one, too
  double time_s = 0, low_s = 0, high_s = 0;
  double device_hours = 0;
  std::optional<double> cost, energy_kwh;  ///< energy: at the boards' limits all the time
};

/// Nothing: the terms say no length. Errors (usage): tokens of a network without sequences.
std::optional<TrainingRun> training_run(const TrainingTerms& terms, const TrainingPace& pace);

/// Of a million tokens; of a million samples where the network has no sequences.
std::optional<double> cost_per_million(const TrainingTerms& terms, const TrainingPace& pace);

/// "$9.16 M", "5.20 EUR".
std::string money_text(double amount, const std::string& currency);
/// "93.1 days", "7.5 hours", "42 s".
std::string duration_text(double seconds);
/// "479 kWh", "2.63 GWh".
std::string energy_text(double kwh);

/// The lines of a summary; empty: the terms say nothing.
std::string training_lines(const TrainingTerms& terms, const TrainingPace& pace);
nlohmann::ordered_json training_json(const TrainingTerms& terms, const TrainingPace& pace);

}  // namespace strata
