// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/layerwise_terms.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the layer-wise study says, as data: the sentence, what is compared, and the bounds within
/// which it holds.
namespace strata {

/// How a claim is tested.
enum class LayerwiseRule : std::uint8_t {
  number,        ///< a term, or its ratio to each of others, is within the bounds
  each_layer,    ///< the same of every layer of the group
  most_layers,   ///< the same of more than half of the layers, forward and backward apart
  rises,         ///< larger with every larger batch
  steady,        ///< over the batches, the most over the least is within the bounds
  steady_layer,  ///< of each layer over the batches, the most less the least is within the bounds
  proportional,  ///< growth from the smallest to the largest batch over that of the batch
  next_batch     ///< at the second batch over that at the first
};
enum class LayerwiseUnit : std::uint8_t { factor, share, bytes, bytes_per_s };

/// What explains a no; empty: nothing is known.
using LayerwiseCause = std::string (*)(const CountedLayers& layers);

struct LayerwiseClaim {
  std::string_view about;     ///< "L1"
  std::string_view sentence;  ///< what the study says, in our words, and where
  std::string_view what;      ///< the data that are compared
  std::string_view printed;
  LayerwiseRule rule = LayerwiseRule::number;
  LayerTerm of = {};
  std::array<LayerTerm, 2> over = {};  ///< those with a key; none: the number itself
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::string_view rule_text = {};  ///< "holds above 50 %"
  LayerwiseUnit unit = LayerwiseUnit::factor;
  LayerwiseCause cause = nullptr;
  bool is_of_every_batch = false;  ///< else of the largest; where others differ the note says so
  std::string_view drawn = {};     ///< the view that shows it, where what is printed is a number
  double drawn_at = 0;

  std::span<const LayerTerm> others() const {
    return std::span(over).first((over[0].keys[0].empty() ? 0U : 1U) +
                                 (over[1].keys[0].empty() ? 0U : 1U));
  }
  bool is_within(double value) const { return value > least && value < most; }
};
std::span<const LayerwiseClaim> layerwise_claims();

/// Why rows of these profiles stand apart.
inline constexpr std::string_view own_kernels = "Strata's own kernels, which the study never had";

inline constexpr std::string_view no_counters_in_profiles = "no counters in these profiles";
inline constexpr std::string_view one_batch_only = "only one batch in these profiles";

/// A verdict, when it would be yes, and what explains a no.
struct LayerwiseVerdict {
  bool holds = false;
  std::string rule;   ///< "holds above 30 %"
  std::string cause;  ///< which algorithm ran, what the GPU counts; shown where it does not hold
};

/// Rows of one network, in the order in which they are added.
class LayerwiseRows {
 public:
  LayerwiseRows(std::string network, bool is_own, std::vector<Finding>& findings)
      : network_(std::move(network)), is_own_(is_own), findings_(findings) {}

  void add(const LayerwiseClaim& claim, std::string what, std::string found,
           LayerwiseVerdict verdict);
  /// Seen, but without a measure to judge it by.
  void add_without_verdict(const LayerwiseClaim& claim, std::string what, std::string found,
                           std::string_view reason);

 private:
  std::string network_;
  bool is_own_;
  std::vector<Finding>& findings_;
};

// Each adds its rows.
void add_claim(const LayerwiseClaim& claim, const std::vector<const LayerwiseCase*>& cases,
               LayerwiseRows& rows);
void add_claims_of_kernels(const std::vector<const LayerwiseCase*>& cases, LayerwiseRows& rows);
void add_interconnect(const std::vector<const LayerwiseCase*>& cases, LayerwiseRows& rows);

inline std::string whole_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }
inline std::string times_text(double ratio) {
  return ratio < 100 ? fmt::format("{:.2f}×", ratio) : fmt::format("{:.0f}×", ratio);
}

/// "implicit GEMM (6), FFT (3), Winograd" of layers and passes; empty: nothing is known.
std::string algorithms_text(const std::vector<LayerSum>& layers);
/// "they ran as implicit GEMM (6) and FFT (3)", or empty.
std::string ran_as(std::string_view who, const std::vector<LayerSum>& layers);
/// "by definition they read 1.2 GB and write 0.4 GB".
std::string defined_bytes(const std::vector<LayerSum>& layers);

// Causes of a no.
std::string inner_ran_as(const CountedLayers& layers);
std::string longest_other_type(const CountedLayers& layers);
std::string backward_by_layer(const CountedLayers& layers);
std::string inner_bytes(const CountedLayers& layers);
std::string input_bytes(const CountedLayers& layers);
std::string connected_bytes(const CountedLayers& layers);
/// What this GPU's L2 counts as a hit of a write.
std::string write_hits_cause(const CountedLayers& layers);
/// What the heaviest convolution that waits least for data waits for instead.
std::string other_waiting(const CountedLayers& layers);
std::string kept_by_l1(const CountedLayers& layers);

/// The largest batch that has counters; the largest of all where none has.
const LayerwiseCase& largest_counted(const std::vector<const LayerwiseCase*>& cases);

}  // namespace strata
