// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/builder.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace strata::zoo {

/// Lays darknet networks section by section, as a cfg file does. Sections are numbered from 0 and
/// nodes are named by that number ("conv_4", "batch_norm_4", "leaky_4", "shortcut_7"), because
/// darknet's routes refer to it.
class DarknetSections {
 public:
  DarknetSections(GraphBuilder& builder, TensorId input) : builder_(builder), input_(input) {}

  /// Convolution without bias, batch normalisation, leaky ReLU; padded to keep the size when the
  /// stride is 1.
  void convolutional(std::int64_t filters, std::int64_t size, std::int64_t stride = 1);
  /// 1×1 convolution with bias and nothing behind it.
  void linear_convolutional(std::int64_t filters);
  void max_pool();
  void average_pool();
  void softmax();
  /// Adds the output of an earlier section.
  void shortcut(std::size_t section);
  /// Takes the outputs of earlier sections, joined along the channels.
  void route(const std::vector<std::size_t>& sections);
  void upsample();
  /// A detection layer, which is an output of the network.
  void yolo(std::int64_t boxes, std::int64_t classes);

  /// 1×1 to half the filters, 3×3 back, shortcut: a block of its own.
  void residual(std::int64_t filters);

  TensorId last() const { return outputs_.empty() ? input_ : outputs_.back(); }
  /// Number of the section that was added last.
  std::size_t last_section() const { return outputs_.size() - 1; }

 private:
  std::string numbered(std::string_view what) const;

  GraphBuilder& builder_;
  TensorId input_;
  std::vector<TensorId> outputs_;  // of each section
};

/// Sections 0 to 74 of darknet53.cfg, which YOLOv3 shares: all but the classifier.
void darknet53_trunk(DarknetSections& sections);

}  // namespace strata::zoo
