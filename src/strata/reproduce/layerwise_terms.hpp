// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/layerwise_study.hpp"
#include "strata/reproduce/mean.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Numbers of a profile that the claims of the layer-wise study compare: sums, rates, shares and
/// means of columns over a group of layers.
namespace strata {

/// The study's roles of layers: the first convolution reads the input, all others are inner ones.
enum class LayerGroup : std::uint8_t { all, convolutions, input, inner, connected, heaviest };
enum class LayerDirection : std::uint8_t { both, forward, backward };
enum class LayerMeasure : std::uint8_t {
  sum,    ///< of all keys
  rate,   ///< the same over the layers' time
  share,  ///< the first key over the second
  mean,   ///< of the first key over layers, weighted with the second where there is one
  most    ///< the most of the first key in any layer
};

/// Keys are columns of counters, "time_s", "waiting" and "data_waiting" (warps × cycles), or
/// "l2_missed_bytes": read from L2 and not found there.
struct LayerTerm {
  LayerGroup group = LayerGroup::all;
  LayerMeasure measure = LayerMeasure::sum;
  std::array<std::string_view, 2> keys = {};
  LayerDirection direction = LayerDirection::both;

  bool needs_counters() const { return keys[0] != "time_s"; }
};

/// The layers of one profile by their role in the study.
class CountedLayers {
 public:
  explicit CountedLayers(const LayerwiseCase& one);

  const LayerwiseCase& profile() const { return one_; }
  const std::vector<LayerSum>& all() const { return all_; }
  /// Heaviest are the four convolutions of most FLOP, forward and backward apart.
  std::vector<LayerSum> group(LayerGroup group,
                              LayerDirection direction = LayerDirection::both) const;

  /// Nothing where a layer of the group lacks a key, and where there is no such layer.
  std::optional<double> value(const LayerTerm& term) const;
  /// The same of one layer.
  std::optional<double> value(const LayerTerm& term, const LayerSum& layer) const;
  std::optional<double> number(const LayerSum& layer, std::string_view key) const;
  Mean mean(const std::vector<LayerSum>& layers, std::string_view key,
            std::string_view weight_key = "") const;

 private:
  std::optional<double> value_of(const LayerTerm& term, const std::vector<LayerSum>& layers) const;
  std::optional<double> sum(const std::vector<LayerSum>& layers, std::string_view key) const;

  const LayerwiseCase& one_;
  std::vector<LayerSum> all_;
  std::string first_convolution_;
};

inline bool is_convolution(const LayerSum& layer) { return layer.op == "convolution"; }
inline bool is_connected(const LayerSum& layer) { return layer.op == "linear"; }

}  // namespace strata
