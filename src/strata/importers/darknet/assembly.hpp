// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/builder.hpp"
#include "strata/importers/darknet/config.hpp"
#include "strata/importers/import_options.hpp"
#include "strata/importers/notes.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata::darknet {

/// What a section has become. Sections that darknet lets others share weights with remember the
/// nodes that own them.
struct Made {
  TensorId output = 0;
  NodeId convolution = no_node;
  NodeId norm = no_node;
};

/// A network in the making: the graph so far, what each section has become, and the shapes that
/// darknet's layers expect. In darknet everything is an image of width, height and channels, or a
/// row of numbers; here these are [N, C, H, W] and [N, F], and [N, T, F] between recurrent layers.
/// With recurrent layers an image batch holds every time step of every sequence, N = batch·seq.
class Assembly {
 public:
  /// Takes the section [net]: input, mini-batch and time steps.
  Assembly(const Section& net, bool is_recurrent, std::string name, const ImportOptions& options);

  GraphBuilder& builder() { return builder_; }
  const TensorType& type(TensorId tensor) const { return builder_.type(tensor); }
  std::size_t axes(TensorId tensor) const { return type(tensor).shape.size(); }

  /// Number of the section that is being read; [net] has none, the first after it is 0.
  std::size_t index() const { return made_.size(); }
  void section_made(const Made& made) { made_.push_back(made); }
  const Made& made(std::size_t section) const { return made_[section]; }
  /// Output of the section before, or the network's input.
  TensorId previous() const { return made_.empty() ? input_ : made_.back().output; }
  /// The section that a number in a file means: negative ones count back from here.
  std::size_t section_at(std::string_view key, std::int64_t number);

  /// "conv_4": nodes are named by what they do and the number of their section.
  std::string numbered(std::string_view what) const;

  TensorId as_image(TensorId x);     ///< [N, C, H, W]
  TensorId as_rows(TensorId x);      ///< [N, F]
  TensorId as_sequence(TensorId x);  ///< [batch, seq, F]
  std::int64_t features(TensorId x);

  /// x through the activation that the section names; "linear" adds nothing.
  TensorId activated(const Section& section, std::string_view otherwise, TensorId x);
  TensorId activated_by(std::string_view word, TensorId x);
  TensorId batch_norm(std::string_view name, TensorId x);

  /// Says, once per `what` and at the end, how often something happened and where first. An
  /// operator that is not counted is an error when the caller wants strictness.
  void note(WarningCode code, std::string_view what);

  Graph finish() &&;

 private:
  void read_input(const Section& net, const ImportOptions& options);

  GraphBuilder builder_;
  Notes notes_;
  bool is_recurrent_;
  Dim batch_;
  Dim steps_ = 1;
  Dim rows_;  // batch·seq
  TensorId input_ = 0;
  std::vector<Made> made_;
  std::size_t references_ = 0;
};

}  // namespace strata::darknet
