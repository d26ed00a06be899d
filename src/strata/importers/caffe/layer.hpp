// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/caffe/text_format.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata::caffe {

/// Layers beyond which a file is a slip of the pen or an attack.
inline constexpr std::size_t most_layers = 20'000;
inline constexpr std::size_t most_blobs = 100'000;  ///< named as bottom, top or input

enum class Phase : std::uint8_t { train, test };

/// One `layer` or `layers` of the file. Both syntaxes are the same from here on.
struct Layer {
  std::string name;
  std::string type;  ///< "InnerProduct", "INNER_PRODUCT", as it stands there
  std::string kind;  ///< "innerproduct": what both syntaxes agree on
  std::uint32_t line = 0;
  std::vector<std::string> bottoms;
  std::vector<std::string> tops;
  std::vector<std::string> parameter_names;  ///< by which weights are shared; empty: own
  bool is_frozen = false;                    ///< some weight has a learning rate of 0
  const Message* message = nullptr;

  /// "layer 'conv1' (line 12)".
  std::string place() const;
};

/// A blob that comes from outside: an input of the network, or a top of a data layer.
struct Source {
  std::string name;
  std::vector<std::int64_t> shape;  ///< with the batch in front; empty: the file does not tell
  std::string assumption;           ///< what had to be assumed about the shape; empty: nothing
  std::string place;
  bool is_label = false;  ///< one number per sample, whatever the data look like
};

/// What the file says: inputs and layers in order.
struct Document {
  std::string name;
  std::vector<Source> inputs;
  std::vector<Layer> layers;
};

Document read_document(const Message& root);

/// Whether Caffe keeps the layer in that phase (include and exclude rules, at level 0, without
/// stages).
bool is_in_phase(const Layer& layer, Phase phase);

/// The layers of the phase that training sees: TRAIN, or TEST when only there every blob that is
/// read is also made. Says which in `phase`.
std::vector<Layer> layers_in_phase(const Document& document, Phase& phase);

}  // namespace strata::caffe
