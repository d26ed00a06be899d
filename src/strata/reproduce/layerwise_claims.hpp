// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/layerwise_study.hpp"
#include "strata/reproduce/mean.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

inline constexpr std::string_view no_counters_in_profiles = "no counters in these profiles";

/// A verdict, when it would be yes, and what explains a no.
struct LayerwiseVerdict {
  bool holds = false;
  std::string rule;   ///< "holds above 30 %"
  std::string cause;  ///< which algorithm ran, what the GPU counts; shown where it does not hold
};

/// What the study says of one network, as it is found.
class LayerwiseClaims {
 public:
  LayerwiseClaims(std::string network, std::vector<Finding>& findings)
      : network_(std::move(network)), findings_(findings) {}

  void claim(std::string about, std::string what, std::string printed, std::string found,
             LayerwiseVerdict verdict) {
    std::string note = std::move(verdict.rule);
    if (!verdict.holds && !verdict.cause.empty()) note += "; " + verdict.cause;
    findings_.push_back({.observation = std::move(about),
                         .network = network_,
                         .what = std::move(what),
                         .printed = std::move(printed),
                         .found = std::move(found),
                         .is_printed = true,
                         .holds = verdict.holds,
                         .note = std::move(note)});
  }
  /// Draws what the last claim prints as a line into the view of this network that shows it.
  void drawn(std::string_view view, double y, std::string label) {
    findings_.back().drawn.push_back({.figure = fmt::format("layerwise-{}-{}", network_, view),
                                      .x = {},
                                      .y = y,
                                      .label = std::move(label)});
  }
  /// Seen, but without a measure to judge it by.
  void without_verdict(std::string about, std::string what, std::string printed, std::string found,
                       std::string_view reason) {
    claim(std::move(about), std::move(what), std::move(printed), std::move(found),
          {.holds = false, .rule = std::string(reason), .cause = {}});
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
inline std::string times_text(double ratio) {
  return ratio < 100 ? fmt::format("{:.2f}×", ratio) : fmt::format("{:.0f}×", ratio);
}
inline bool is_convolution(const LayerSum& layer) { return layer.op == "convolution"; }
inline bool is_connected(const LayerSum& layer) { return layer.op == "linear"; }

/// The layers of one profile that has counters, by their role in the study, and sums over them.
class CountedLayers {
 public:
  explicit CountedLayers(const LayerwiseCase& one);

  const LayerwiseCase& profile() const { return one_; }
  const std::vector<LayerSum>& all() const { return all_; }
  const std::vector<LayerSum>& input() const { return input_; }  ///< the first convolution
  const std::vector<LayerSum>& inner() const { return inner_; }  ///< all other convolutions
  const std::vector<LayerSum>& connected() const { return connected_; }

  /// Columns added up; nothing where no layer has all of them.
  std::optional<double> sum(const std::vector<LayerSum>& layers,
                            std::initializer_list<std::string_view> keys) const;
  /// The same over the layers' time.
  std::optional<double> rate(const std::vector<LayerSum>& layers,
                             std::initializer_list<std::string_view> keys) const;
  /// Mean of a column, each layer weighted with another; empty: alike.
  Mean mean(const std::vector<LayerSum>& layers, std::string_view key,
            std::string_view weight_key = "") const;

 private:
  const LayerwiseCase& one_;
  std::vector<LayerSum> all_, input_, inner_, connected_;
};

/// "implicit GEMM (6), FFT (3), Winograd" of layers and passes; empty: nothing is known.
std::string algorithms_text(const std::vector<LayerSum>& layers);
/// "they ran as implicit GEMM (6) and FFT (3)", or empty.
std::string ran_as(std::string_view who, const std::vector<LayerSum>& layers);
/// "by definition they read 1.2 GB and write 0.4 GB".
std::string defined_bytes(const std::vector<LayerSum>& layers);
/// What this GPU's L2 counts as a hit of a write.
std::string write_hits_cause(const CountedLayers& layers);
/// What a layer waits for most, data aside: "most of the rest waits because …"; empty: not counted.
std::string other_waiting(const LayerwiseCase& one, const LayerSum& layer);

/// The largest batch that has counters; the largest of all where none has.
const LayerwiseCase& largest_counted(const std::vector<const LayerwiseCase*>& cases);

/// What times and the names of kernels show of one network, whose batches rise.
void add_time_claims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims);
/// What counters show over the batch.
void add_batch_claims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims);
/// What only counters show, of the largest batch that has them: stalls and L1.
void add_counter_claims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims);
/// L2, DRAM and what joins them.
void add_memory_claims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims);

}  // namespace strata
