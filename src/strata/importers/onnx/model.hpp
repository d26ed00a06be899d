// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/base/inline_vector.hpp"
#include "strata/graph/shape.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

/// What an ONNX file says (onnx.proto), as light structs that point into its bytes. Nothing that
/// may be large is copied: a tensor is its name, type and extents, its numbers stay where they are
/// (tensor_data.hpp looks into the small ones), an attribute is read when an operator asks for it.
namespace strata::onnx {

using Bytes = std::string_view;  ///< a message or a piece of one, inside the file

struct AttributeDef {
  std::string_view name;
  std::string_view reference;  ///< inside a function: the call's attribute that stands here
  Bytes message;
};

struct NodeDef {
  std::string_view name;
  std::string_view op;
  std::string_view domain;
  std::string_view overload;
  std::string_view scopes;   ///< PyTorch's "['', 'layer1', 'layer1.0', …]": the modules it is in
  std::string_view rewrite;  ///< the rule of onnxscript that wrote the node anew
  std::vector<std::string_view> inputs;  ///< an empty name: an optional input left out
  std::vector<std::string_view> outputs;
  std::vector<AttributeDef> attributes;
};

struct TensorDef {
  std::string_view name;
  std::int32_t type = 0;  ///< TensorProto.DataType
  InlineVector<std::int64_t, most_axes> extents;
  bool is_external = false;  ///< its numbers are in another file
  Bytes message;
};

/// One extent of a declared shape: a number, a name, or neither.
struct ExtentDef {
  std::optional<std::int64_t> number;
  std::string_view name;
};

struct TypeDef {
  bool is_tensor = false;
  std::int32_t type = 0;
  bool has_shape = false;
  std::vector<ExtentDef> extents;
};

struct ValueDef {
  std::string_view name;
  Bytes type;  ///< TypeProto; read by type_of
};

struct OpsetDef {
  std::string_view domain;
  std::int64_t version = 0;
};

struct FunctionDef {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<NodeDef> nodes;
  std::vector<AttributeDef> defaults;
  std::vector<OpsetDef> opsets;
};

struct GraphDef {
  std::string_view name;
  std::string_view signature;  ///< of torch.export: which tensors are parameters (signature.hpp)
  std::vector<NodeDef> nodes;
  std::vector<TensorDef> initializers;
  std::vector<ValueDef> inputs;
  std::vector<ValueDef> outputs;
  std::vector<ValueDef> values;  ///< shapes the exporter wrote down for values in between
};

struct ModelDef {
  std::int64_t ir_version = 0;
  std::string_view producer;
  std::vector<OpsetDef> opsets;
  std::vector<FunctionDef> functions;
  std::optional<GraphDef> graph;
};

/// "" and "ai.onnx" are the same domain.
std::string_view plain_domain(std::string_view domain);

/// TensorProto.DataType → Strata's; nothing for text, complex numbers and what ONNX may add.
std::optional<DType> dtype_of(std::int32_t type);
/// The same as an error (unsupported) that names the type.
DType known_dtype(std::int32_t type);

}  // namespace strata::onnx
