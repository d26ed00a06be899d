// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/model.hpp"

/// Protobuf → light structs. Fields of unknown number or wrong type are passed over, as protobuf
/// wants it; broken bytes are an Error (input).
namespace strata::onnx {

ModelDef parse_model(Bytes bytes);
TensorDef parse_tensor(Bytes message);
TypeDef parse_type(Bytes message);

/// What an attribute may hold; empty where the message has nothing of that kind.
struct AttributeContent {
  std::optional<std::int64_t> integer;
  std::optional<float> real;
  std::optional<std::string_view> text;
  std::optional<Bytes> tensor;
  std::vector<std::int64_t> integers;
  std::vector<float> reals;
  std::vector<std::string_view> texts;
  bool has_graph = false;
  std::size_t entries = 0;  ///< how much there was to read
};

AttributeContent parse_attribute(Bytes message);

}  // namespace strata::onnx
