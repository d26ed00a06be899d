// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/thesis_network.hpp"

#include <functional>
#include <string>
#include <vector>

/// The points behind the figures of the thesis, for one of its networks. Base units.
namespace strata {

struct ThesisTotals {
  double time_s = 0;
  std::int64_t in_bytes = 0;
  std::int64_t out_bytes = 0;

  double bytes() const { return static_cast<double>(in_bytes + out_bytes); }
};

/// Figures 5.2, 5.3 and 5.4: one capacity, three pairs of rates.
struct CapacityPoint {
  std::int64_t capacity_mib = 0;
  ThesisTotals base;            ///< 13.45 TFLOP/s, 616 GB/s
  ThesisTotals faster_compute;  ///< 23.04 TFLOP/s
  ThesisTotals faster_memory;   ///< 1555 GB/s
};

/// Figures 4.1 and 4.2: the thesis's own ways of loading and storing, and the naive ones.
struct PolicyPoint {
  std::int64_t capacity_mib = 0;
  ThesisTotals no_prefetch;
  ThesisTotals naive_prefetch;
  ThesisTotals listing_prefetch;
  ThesisTotals printed_prefetch;
  ThesisTotals soonest_prefetch;
  ThesisTotals look_ahead_offload;  ///< the preset: what all other figures use
  ThesisTotals on_demand_offload;
};

/// Figure 5.5: time by kind of layer.
struct BreakDown {
  std::int64_t capacity_mib = 0;
  double time_s = 0;
  std::vector<double> kind_s;  ///< one per entry of layer_kinds
};
/// Kinds of layers: three of type I, six of type II, then the rest.
inline constexpr std::string_view layer_kinds[] = {
    "convolution", "matrix product", "recurrent gates", "recurrent point-wise", "normalisation",
    "activation",  "addition",       "dropout",         "other point-wise",     "other"};
inline constexpr std::size_t first_kinds = 3;   ///< of type I
inline constexpr std::size_t second_kinds = 6;  ///< of type II

/// Figure 5.6.
struct BatchPoint {
  std::int64_t batch = 0;
  std::int64_t capacity_mib = 0;
  double time_s = 0;

  double samples_per_s() const { return static_cast<double>(batch) / time_s; }
};

/// Figure 5.1: a forward layer in the plane of the roofline.
struct LayerPoint {
  std::string layer;
  LayerClass layer_class = LayerClass::other;
  std::int64_t operations = 0;  ///< a multiply-add is one
  std::int64_t bytes = 0;       ///< of all values that it touches
  double reuse_frequency() const {
    return static_cast<double>(operations) / static_cast<double>(bytes);
  }
};

struct NetworkResults {
  NamedNetwork network;
  std::int64_t whole_bytes = 0;  ///< from this capacity on every layer holds all it touches
  std::vector<LayerPoint> layers;
  std::vector<CapacityPoint> capacities;
  std::vector<PolicyPoint> policies;
  std::vector<BreakDown> break_downs;
  std::vector<BatchPoint> batches;
};

/// Which capacities: from 24 to 1000 MiB, as in the thesis. Policies are compared at every fourth.
struct ThesisGrid {
  std::int64_t step_mb = 2;
  std::int64_t long_step_mb = 8;  ///< for GNMT, whose iteration has 14,200 steps
};

/// All points of all networks, on all cores.
std::vector<NetworkResults> thesis_results(const ThesisGrid& grid = {},
                                           const std::function<void(double)>& progress = {});

}  // namespace strata
