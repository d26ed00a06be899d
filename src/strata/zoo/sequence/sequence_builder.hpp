// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/sequence_builder.hpp"
#include "strata/zoo/zoo.hpp"

#include <cstdint>
#include <string_view>

/// What the built-in networks of sequences share beside their builder: their parameters.
namespace strata {

/// The knob that says in which order the cells of a recurrent network run.
inline constexpr NetworkParameter order_parameter(std::string_view default_value) {
  return {"order", default_value,
          "layer: a layer over all time steps first; time: all layers of a time step first"};
}
RecurrentOrder order_argument(const NetworkArguments& arguments);

/// An error (usage) where heads do not divide the width.
void check_heads(std::int64_t heads, std::int64_t width);

/// How large a decoder in the style of GPT is.
struct DecoderSize {
  std::int64_t layers = 0, width = 0, heads = 0, vocabulary = 0, positions = 0;
};
/// Of parameters with these names.
DecoderSize decoder_size(const NetworkArguments& arguments);

/// The parameter "layers", refused where a slip of the pen would build millions of nodes.
std::int64_t layers_argument(const NetworkArguments& arguments, std::int64_t least = 1);

}  // namespace strata
