// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/layerwise_study.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

inline constexpr std::string_view no_counters_in_profiles = "no counters in these profiles";

/// What the study says of one network, as it is found.
class LayerwiseClaims {
 public:
  LayerwiseClaims(std::string network, std::vector<Finding>& findings)
      : network_(std::move(network)), findings_(findings) {}

  void claim(std::string about, std::string what, std::string printed, std::string found,
             bool holds, std::string note = {}) {
    findings_.push_back({.observation = std::move(about),
                         .network = network_,
                         .what = std::move(what),
                         .printed = std::move(printed),
                         .found = std::move(found),
                         .is_printed = true,
                         .holds = holds,
                         .note = std::move(note)});
  }
  /// Seen, but without a measure to judge it by.
  void without_verdict(std::string about, std::string what, std::string printed, std::string found,
                       std::string_view reason) {
    claim(std::move(about), std::move(what), std::move(printed), std::move(found), false,
          std::string(reason));
    findings_.back().is_printed = false;
  }
  void missing(std::string about, std::string what, std::string printed,
               std::string_view reason = no_counters_in_profiles) {
    without_verdict(std::move(about), std::move(what), std::move(printed), "–", reason);
  }

 private:
  std::string network_;
  std::vector<Finding>& findings_;
};

inline std::string whole_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }
inline std::string times_text(double ratio) { return fmt::format("{:.2f}×", ratio); }
inline bool is_convolution(const LayerSum& layer) { return layer.op == "convolution"; }
inline bool is_connected(const LayerSum& layer) { return layer.op == "linear"; }

/// What only counters show, of the largest batch that has them: stalls, caches, memory.
void add_counter_claims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims);

}  // namespace strata
