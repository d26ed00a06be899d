// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Whole networks in the convolution study: where the time of a training iteration goes (figure 2),
/// and what the library's kernels in its convolutions do (figure 4), by their names.
namespace strata {

/// A training iteration that `strata measure` timed.
struct HotLayers {
  std::string network;  ///< as the zoo calls it
  std::string title;
  std::string device;
  std::int64_t batch = 0;
  /// Operators with their share of the time of all rows, longest first.
  std::vector<std::pair<std::string, double>> types;
  std::vector<std::pair<std::int64_t, double>> other_batches = {};  ///< with convolution's share
  /// Of the time of convolutions, what FFT and Winograd's algorithm take.
  double fewer_operations_share = 0;
  /// Seconds of the kernels of convolutions by pass and role; empty: they were not traced.
  std::map<std::string, std::map<std::string, double>> roles;

  double convolution_share() const;
};

/// The JSON of `strata measure` of one network. Errors (input): it is something else.
HotLayers read_hot_layers(std::string_view json_text);

/// A network of the study: how it is called here, and what is printed of it.
struct HotNetwork {
  std::string_view network;
  std::string_view title;
  double convolution_share = 0;
  std::string_view difference;  ///< from that of the study; empty: none
};
std::span<const HotNetwork> hot_networks();

/// Of those that ship, the networks of the study at the batch that is nearest to 128, which were
/// measured on a device; may be empty.
std::vector<HotLayers> shipped_hot_layers(std::string_view device);

}  // namespace strata
