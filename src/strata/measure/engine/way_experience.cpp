// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/way_experience.hpp"

#include <algorithm>

namespace strata {

void WayExperience::learn(const std::string& kind, const Ratios& ratios) {
  auto& records = kinds_[kind];
  for (const auto& [way, ratio] : ratios) {
    Record& record = records[way];
    ++record.trials;
    record.least_ratio = std::min(record.least_ratio, ratio);
  }
}

bool WayExperience::is_hopeless(const std::string& kind, std::string_view way) const {
  constexpr int enough_trials = 4;
  constexpr double far_behind = 5;
  const auto records = kinds_.find(kind);
  if (records == kinds_.end()) return false;
  const auto record = records->second.find(way);
  return record != records->second.end() && record->second.trials >= enough_trials &&
         record->second.least_ratio > far_behind;
}

}  // namespace strata
