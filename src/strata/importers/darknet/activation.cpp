// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/darknet/activation.hpp"

#include <algorithm>
#include <vector>

namespace strata::darknet {

// activations.c of both darknets. Where Strata has no operator of that name, the one of the nearest
// arithmetic stands in: ramp, relie, revleaky and plse are lines with a kink, loggy is 2σ − 1,
// hard_mish is a clipped parabola like hard-swish, and the three normalize_channels weigh the
// channels of each pixel against each other as softmax does.
const Activation* find_activation(std::string_view word) {
  static const std::vector<Activation> table{
      {"linear", std::nullopt},
      {"logistic", Unary{UnaryKind::sigmoid}},
      {"loggy", Unary{UnaryKind::sigmoid}},
      {"relu", Unary{UnaryKind::relu}},
      {"relu6", Unary{UnaryKind::relu6}},
      {"leaky", Unary{UnaryKind::leaky_relu}},
      {"revleaky", Unary{UnaryKind::leaky_relu}},
      {"ramp", Unary{UnaryKind::leaky_relu}},
      {"relie", Unary{UnaryKind::leaky_relu}},
      {"plse", Unary{UnaryKind::leaky_relu}},
      {"elu", Unary{UnaryKind::elu}},
      {"selu", Unary{UnaryKind::selu}},
      {"gelu", Unary{UnaryKind::gelu_tanh}},
      {"tanh", Unary{UnaryKind::tanh}},
      {"swish", Unary{UnaryKind::silu}},
      {"mish", Unary{UnaryKind::mish}},
      {"hard_mish", Unary{UnaryKind::hard_swish}},
      {"hardtan", Unary{UnaryKind::clip}},
      {"lhtan", Unary{UnaryKind::clip}},
      {"stair", Unary{UnaryKind::floor}},
      {"normalize_channels", Softmax{.axis = 1}},
      {"normalize_channels_softmax", Softmax{.axis = 1}},
      {"normalize_channels_softmax_maxval", Softmax{.axis = 1}},
  };
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Activation& row) { return row.word == word; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace strata::darknet
