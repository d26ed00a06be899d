// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/keras/model.hpp"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// Who calls whom: the entries "inbound_nodes", "input_layers" and "output_layers" of functional
/// models. Keras 1 and 2 name a tensor ["layer", call, output], with the keywords of the call in a
/// fourth place; Keras 3 has {"args", "kwargs"} with "__keras_tensor__" objects in them.
namespace strata::keras {

class ReferenceReader {
 public:
  explicit ReferenceReader(const std::vector<Layer>& layers);

  /// The calls of a layer: its "inbound_nodes".
  std::vector<Call> calls_of(const Json& inbound_nodes) const;

  /// Every tensor that a value mentions, in order.
  void collect(const Json& value, std::vector<Reference>& tensors) const;

 private:
  Call call_of(const Json& node) const;
  void add_positional(const Json& value, Call& call) const;
  void add_keywords(const Json& keywords, Call& call) const;
  bool is_reference(const Json& value) const;
  Reference reference_of(const Json& name, const Json& call, const Json& output) const;

  std::unordered_map<std::string_view, std::uint32_t> layers_;
};

/// A nested model counts its calls from 1 where Keras counts the one that made it (Keras 1, 2 and
/// functional models of Keras 3), else from 0; which, shows in who refers to it. Turns all numbers
/// into such that count from 0, and errors on a call or layer that is not there.
void number_calls_from_zero(Model& model);

/// Puts the calls of a model into an order in which they can run, nearest to the file's own. Errors
/// (input) when they need each other in a circle.
std::vector<Step> order_of_calls(const Model& model);

}  // namespace strata::keras
