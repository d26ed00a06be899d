// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/keras/layer_call.hpp"

#include <optional>

/// The arguments of a function that is called like a layer: tensors and constants in any order, by
/// position or by name, or stored with the function.
namespace strata::keras {

/// A tensor, a constant, or nothing.
struct Operand {
  std::optional<Value> tensor;
  const Json* constant = nullptr;

  bool is_there() const { return tensor.has_value() || constant != nullptr; }
};

/// The argument at that position, or of one of these names.
Operand operand(const LayerCall& call, std::size_t position, Names names);

/// The tensor at that position; an error when there is none.
Value tensor_operand(const LayerCall& call, std::size_t position, Names names);

/// Whole numbers given at that position or by name; nothing when absent.
std::optional<std::vector<std::int64_t>> numbers_operand(const LayerCall& call,
                                                         std::size_t position, Names names);

/// A constant as a tensor that broadcasts with x as NumPy would have it.
TensorId constant_tensor(LayerCall& call, Value x, const Json& constant, std::string_view what);

/// x with axes of extent 1 put before its own, as NumPy broadcasts.
Value with_leading_axes(LayerCall& call, Value x, std::size_t rank, std::size_t channels_at,
                        std::string_view suffix);

}  // namespace strata::keras
