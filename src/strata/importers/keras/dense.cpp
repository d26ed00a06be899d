// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::keras {
namespace {

/// "abc,cde->abde": the axes of input, weight and result, by letters.
struct Equation {
  std::string input;
  std::string weight;
  std::string output;
};

Equation equation_in(const std::string& text) {
  const std::size_t comma = text.find(',');
  const std::size_t arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma) {
    fail(ErrorKind::input, "expected an equation like ab,bc->ac, got {}", network::in_quotes(text));
  }
  return {text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
}

// The letters that input and weight share are summed over. What the graph's product can say: they
// are the last of the input, in the order of the weight, and what the weight adds comes last.
bool is_product_of_last_axes(const Equation& equation, std::size_t summed) {
  if (summed == 0 || summed > equation.input.size() || summed > equation.weight.size()) {
    return false;
  }
  const std::string kept = equation.input.substr(0, equation.input.size() - summed);
  return equation.input.substr(kept.size()) == equation.weight.substr(0, summed) &&
         equation.output == kept + equation.weight.substr(summed);
}

std::size_t count_summed(const Equation& equation) {
  return static_cast<std::size_t>(
      std::count_if(equation.weight.begin(), equation.weight.end(), [&](char letter) {
        return equation.input.find(letter) != std::string::npos &&
               equation.output.find(letter) == std::string::npos;
      }));
}

// "...x,xy->...y": leading axes that the equation leaves open are named by capitals.
Equation with_leading_axes(Equation equation, std::size_t rank) {
  if (!equation.input.starts_with("...") || !equation.output.starts_with("...")) return equation;
  std::string leading;
  for (std::size_t axis = equation.input.size() - 3; axis < rank; ++axis) {
    leading += static_cast<char>('A' + leading.size());
  }
  equation.input.replace(0, 3, leading);
  equation.output.replace(0, 3, leading);
  return equation;
}

// The last `count` extents of the result, which the equation does not tell.
Shape added_extents(const Config& config, std::size_t count) {
  const Json* stated = config.find({"output_shape"});
  OpenShape extents;
  if (stated != nullptr && stated->is_number()) {
    extents.push_back(whole_number(*stated, "output_shape"));
  } else if (stated != nullptr) {
    extents = shape_in(*stated).value_or(OpenShape());
  }
  if (extents.size() < count) {
    fail(ErrorKind::input, "expected {} extents for 'output_shape', got {}", count, extents.size());
  }
  Shape added;
  for (std::size_t i = extents.size() - count; i < extents.size(); ++i) {
    if (!extents[i]) fail(ErrorKind::input, "'output_shape' leaves a new extent open");
    added.push_back(*extents[i]);
  }
  return added;
}

}  // namespace

// A product with the last axis. Where channels are stored before space, it is a convolution with a
// window of one: the same numbers, nothing moved.
Values make_dense(LayerCall& call) {
  const Value x = call.only_input();
  const std::int64_t units = call.config.whole({"units", "output_dim"});
  const bool has_bias = call.config.truth({"use_bias", "bias"}, true);
  const std::size_t axes = call.rank(x);
  Value y = x;
  if (x.channels_at == 1 && axes <= 5) {
    const Convolution op{.channels = units, .kernel = Extents(axes - 2, 1), .bias = has_bias};
    y.id = call.add(op, {x.id});
  } else {
    y = call.plain(x);
    y.id = call.add(Linear{.features = units, .bias = has_bias}, {y.id});
  }
  return {activated(call, y)};
}

Values make_einsum_dense(LayerCall& call) {
  const Value x = call.plain(call.only_input());
  const Shape x_shape = call.shape(x);
  std::string text = call.config.word({"equation"}, "");
  std::erase(text, ' ');
  const Equation equation = with_leading_axes(equation_in(text), x_shape.size());
  const std::size_t summed = count_summed(equation);
  if (equation.input.size() != x_shape.size() || !is_product_of_last_axes(equation, summed)) {
    fail(ErrorKind::unsupported, "EinsumDense with the equation {} for an input of {}",
         network::in_quotes(text), call.net.text(x_shape));
  }
  const Shape added = added_extents(call.config, equation.weight.size() - summed);
  const std::span<const Dim> extents = x_shape;
  Shape result(extents.first(x_shape.size() - summed));
  std::int64_t features = 1;
  for (const Dim extent : added) {
    features = checked_mul(features, extent.factor);
    result.push_back(extent);
  }
  TensorId y = x.id;
  if (summed > 1) {
    y = call.add(Flatten{.axis = static_cast<std::int64_t>(x_shape.size() - summed)}, {y},
                 "flatten");
  }
  const bool has_bias = call.config.find({"bias_axes"}) != nullptr;
  y = call.add(Linear{.features = features, .bias = has_bias}, {y});
  if (added.size() != 1) y = call.add(Reshape{result}, {y}, "reshape");
  return {activated(call, {y, 0})};
}

// Keras takes indices of any type and casts them.
Values make_embedding(LayerCall& call) {
  Value x = call.plain(call.only_input());
  if (is_floating(call.net.dtype(x))) x.id = call.add(Cast{DType::int32}, {x.id}, "cast");
  const Embedding op{.vocabulary = call.config.whole({"input_dim"}),
                     .width = call.config.whole({"output_dim"})};
  return {{call.add(op, {x.id}), 0}};
}

}  // namespace strata::keras
