// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/profile/profile.hpp"
#include "strata/reproduce/analytical.hpp"
#include "strata/reproduce/figures.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// "Layer-wise Performance Bottleneck Analysis of Deep Neural Networks" (GTX 1080 Ti, Caffe): what
/// it found when it trained AlexNet and VGG-16, beside training iterations that `strata measure`
/// timed and counted. What the profiles do not hold is a finding that says so.
namespace strata {

/// The networks of the study, as the zoo calls them, and its batches.
std::vector<std::string_view> layerwise_networks();
std::vector<std::int64_t> layerwise_batches();

/// One network at one batch.
struct LayerwiseCase {
  Profile profile;
  std::int64_t batch = 0;
  std::vector<std::string> implementations;  ///< of each row
  /// Of each row of a convolution, "implicit GEMM", "FFT", "Winograd": what its implementation
  /// names, else its longest kernel that says so; empty: nothing does.
  std::vector<std::string> algorithms;
  std::map<std::string, double> convolution_kernel_s;  ///< by name, forward; empty: not traced

  /// Whether most of its convolutions were computed by Strata's own strategies and not by the
  /// vendor's library, as in the study.
  bool is_own() const;
  /// What profiles belong together by: "vgg16", "vgg16-own".
  std::string key() const { return profile.subject.network + (is_own() ? "-own" : ""); }
};

/// The JSON of `strata measure` of one network. Errors (input): it is something else.
LayerwiseCase read_layerwise_case(std::string_view json_text);

/// All that was measured, by network (and whose convolutions) and batch.
class LayerwiseStudy {
 public:
  /// Errors (input): two profiles of the same network, kernels and batch, or none at all.
  explicit LayerwiseStudy(std::vector<LayerwiseCase> cases);

  const std::vector<LayerwiseCase>& cases() const { return cases_; }
  /// Keys of what is there, as LayerwiseCase has them.
  std::vector<std::string> networks() const;
  /// Of one key, batches rising.
  std::vector<const LayerwiseCase*> of(std::string_view key) const;
  bool has_counters() const;
  std::string device() const { return cases_.front().profile.subject.machine_title; }

 private:
  std::vector<LayerwiseCase> cases_;
};

/// A layer in one direction: its rows of forward, or of all backward passes, added up.
struct LayerSum {
  std::string layer;
  std::string op;
  bool is_backward = false;
  double time_s = 0;
  std::int64_t flop = 0;
  std::int64_t in_bytes = 0;  ///< by the layer's definition
  std::int64_t out_bytes = 0;
  CounterValues counters;  ///< as the profile's columns; empty: not counted
  /// Warps × cycles that waited, and of those for data: the stall time. A sum over passes of
  /// products, which the products of sums are not.
  std::optional<double> waiting;
  std::optional<double> data_waiting;
  std::string implementation;
  std::vector<std::string> algorithms;  ///< of its convolutions, one per pass

  /// "CONV2_1 (features.5) backward"
  std::string title() const;
  std::string paper_name;  ///< as the study calls it; empty: as it is called here
};

/// Layers in the order of the network, forward and then backward of each; no updates, no loss.
std::vector<LayerSum> layers_of(const LayerwiseCase& one);

/// Seconds of all layers forward, and of all backward.
std::pair<double, double> directions(const LayerwiseCase& one);
/// What L2 reaches on the machine, where that ships.
std::optional<double> l2_bytes_per_s(const LayerwiseCase& one);

/// A column of a layer; nothing where it is not there.
std::optional<double> counted(const LayerwiseCase& one, const LayerSum& layer,
                              std::string_view key);

/// "CONV1_1" for "features.0" of VGG-16: the study's names, by position. Empty where both are the
/// same, or the study has no name for it.
std::map<std::string, std::string> paper_names(const LayerwiseCase& one);

std::vector<Finding> layerwise_findings(const LayerwiseStudy& study);
/// Whose kernels ran, how often and on what data: what differs from the study, in lines.
std::string layerwise_notes(const LayerwiseStudy& study);
/// Views of the study, relative to the first convolution at the smallest batch, per network.
std::vector<Figure> layerwise_figures(const LayerwiseStudy& study);

}  // namespace strata
