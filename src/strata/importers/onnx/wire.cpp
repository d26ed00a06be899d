// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/wire.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/onnx/limits.hpp"

#include <protozero/pbf_reader.hpp>

namespace strata::onnx {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

// Field numbers are those of onnx.proto; a field is matched together with its wire type, so that a
// field of the wrong type is passed over like an unknown one.
constexpr std::uint32_t bytes_field(std::uint32_t number) {
  return protozero::tag_and_type(number, pbf_wire_type::length_delimited);
}
constexpr std::uint32_t varint_field(std::uint32_t number) {
  return protozero::tag_and_type(number, pbf_wire_type::varint);
}
constexpr std::uint32_t fixed32_field(std::uint32_t number) {
  return protozero::tag_and_type(number, pbf_wire_type::fixed32);
}

pbf_reader reader_of(Bytes message) { return {message.data(), message.size()}; }

Bytes view(pbf_reader& reader) {
  const protozero::data_view data = reader.get_view();
  return {data.data(), data.size()};
}

template <class Item>
void check_count(const std::vector<Item>& items, std::size_t most, std::string_view what) {
  if (items.size() >= most) fail(ErrorKind::input, "more than {} {}", most, what);
}

// Two bytes of a file are enough for a name or an attribute that takes dozens in memory: all of
// them together are bounded.
class Pieces {
 public:
  template <class Item>
  void add(std::vector<Item>& items, Item item) {
    if (++count_ > most_pieces) {
      fail(ErrorKind::input, "more than {} names, attributes and tensors", most_pieces);
    }
    items.push_back(std::move(item));
  }

 private:
  std::size_t count_ = 0;
};

AttributeDef parse_attribute_name(Bytes message) {
  AttributeDef attribute{.message = message};
  pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes_field(1): attribute.name = view(reader); break;
      case bytes_field(21): attribute.reference = view(reader); break;
      default: reader.skip();
    }
  }
  return attribute;
}

// StringStringEntryProto.
struct Metadata {
  std::string_view key;
  std::string_view value;
};

Metadata parse_metadata(Bytes message) {
  Metadata entry;
  pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes_field(1): entry.key = view(reader); break;
      case bytes_field(2): entry.value = view(reader); break;
      default: reader.skip();
    }
  }
  return entry;
}

void set_metadata(const Metadata& entry, NodeDef& node) {
  if (entry.key == "pkg.torch.onnx.name_scopes") node.scopes = entry.value;
  if (entry.key == "pkg.onnxscript.rewriter.rule_name") node.rewrite = entry.value;
}

void set_metadata(const Metadata& entry, GraphDef& graph) {
  constexpr std::string_view signature = "pkg.torch.export.ExportedProgram.graph_signature";
  if (entry.key == signature) graph.signature = entry.value;
}

NodeDef parse_node(Bytes message, Pieces& pieces) {
  NodeDef node;
  pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes_field(1):
        check_count(node.inputs, most_operands, "inputs of one node");
        pieces.add(node.inputs, view(reader));
        break;
      case bytes_field(2):
        check_count(node.outputs, most_operands, "outputs of one node");
        pieces.add(node.outputs, view(reader));
        break;
      case bytes_field(3): node.name = view(reader); break;
      case bytes_field(4): node.op = view(reader); break;
      case bytes_field(5):
        check_count(node.attributes, most_attributes, "attributes of one node");
        pieces.add(node.attributes, parse_attribute_name(view(reader)));
        break;
      case bytes_field(7): node.domain = plain_domain(view(reader)); break;
      case bytes_field(8): node.overload = view(reader); break;
      case bytes_field(9): set_metadata(parse_metadata(view(reader)), node); break;
      default: reader.skip();
    }
  }
  return node;
}

ValueDef parse_value(Bytes message) {
  ValueDef value;
  pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes_field(1): value.name = view(reader); break;
      case bytes_field(2): value.type = view(reader); break;
      default: reader.skip();
    }
  }
  return value;
}

// SparseTensorProto: its values carry the name, the extents are its own.
TensorDef parse_sparse_tensor(Bytes message) {
  TensorDef tensor;
  InlineVector<std::int64_t, most_axes> extents;
  pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes_field(1): tensor = parse_tensor(view(reader)); break;
      case varint_field(3): extents.push_back(reader.get_int64()); break;
      case bytes_field(3):
        for (const std::int64_t extent : reader.get_packed_int64()) extents.push_back(extent);
        break;
      default: reader.skip();
    }
  }
  tensor.extents = extents;
  tensor.is_external = true;  // what is stored is not the dense tensor
  return tensor;
}

OpsetDef parse_opset(Bytes message) {
  OpsetDef opset;
  pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes_field(1): opset.domain = plain_domain(view(reader)); break;
      case varint_field(2): opset.version = reader.get_int64(); break;
      default: reader.skip();
    }
  }
  return opset;
}

FunctionDef parse_function(Bytes message, Pieces& pieces) {
  FunctionDef function;
  pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes_field(1): function.name = view(reader); break;
      case bytes_field(4): pieces.add(function.inputs, view(reader)); break;
      case bytes_field(5): pieces.add(function.outputs, view(reader)); break;
      case bytes_field(7):
        check_count(function.nodes, most_nodes, "nodes in one function");
        pieces.add(function.nodes, parse_node(view(reader), pieces));
        break;
      case bytes_field(9):
        check_count(function.opsets, most_opsets, "opsets");
        pieces.add(function.opsets, parse_opset(view(reader)));
        break;
      case bytes_field(10): function.domain = plain_domain(view(reader)); break;
      case bytes_field(11):
        check_count(function.defaults, most_attributes, "attributes of one function");
        pieces.add(function.defaults, parse_attribute_name(view(reader)));
        break;
      case bytes_field(13): function.overload = view(reader); break;
      default: reader.skip();
    }
  }
  return function;
}

GraphDef parse_graph(Bytes message, Pieces& pieces) {
  GraphDef graph;
  pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case bytes_field(1):
        check_count(graph.nodes, most_nodes, "nodes");
        pieces.add(graph.nodes, parse_node(view(reader), pieces));
        break;
      case bytes_field(2): graph.name = view(reader); break;
      case bytes_field(5):
        check_count(graph.initializers, most_initializers, "initializers");
        pieces.add(graph.initializers, parse_tensor(view(reader)));
        break;
      case bytes_field(11): pieces.add(graph.inputs, parse_value(view(reader))); break;
      case bytes_field(12): pieces.add(graph.outputs, parse_value(view(reader))); break;
      case bytes_field(13): pieces.add(graph.values, parse_value(view(reader))); break;
      case bytes_field(15):
        check_count(graph.initializers, most_initializers, "initializers");
        pieces.add(graph.initializers, parse_sparse_tensor(view(reader)));
        break;
      case bytes_field(16): set_metadata(parse_metadata(view(reader)), graph); break;
      default: reader.skip();
    }
  }
  return graph;
}

ModelDef parse_model_fields(Bytes bytes) {
  ModelDef model;
  Pieces pieces;
  pbf_reader reader = reader_of(bytes);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case varint_field(1): model.ir_version = reader.get_int64(); break;
      case bytes_field(2): model.producer = view(reader); break;
      case bytes_field(7): model.graph = parse_graph(view(reader), pieces); break;
      case bytes_field(8):
        check_count(model.opsets, most_opsets, "opsets");
        pieces.add(model.opsets, parse_opset(view(reader)));
        break;
      case bytes_field(25):
        check_count(model.functions, most_functions, "functions");
        pieces.add(model.functions, parse_function(view(reader), pieces));
        break;
      default: reader.skip();
    }
  }
  return model;
}

ExtentDef parse_extent(Bytes message) {
  ExtentDef extent;
  pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case varint_field(1): extent.number = reader.get_int64(); break;
      case bytes_field(2): extent.name = view(reader); break;
      default: reader.skip();
    }
  }
  return extent;
}

std::vector<ExtentDef> parse_shape(Bytes message) {
  std::vector<ExtentDef> extents;
  pbf_reader reader = reader_of(message);
  while (reader.next()) {
    if (reader.tag_and_type() != bytes_field(1)) {
      reader.skip();
      continue;
    }
    if (extents.size() >= most_axes) {
      fail(ErrorKind::unsupported, "a tensor with more than {} axes", most_axes);
    }
    extents.push_back(parse_extent(view(reader)));
  }
  return extents;
}

void parse_tensor_type(Bytes message, TypeDef& type) {
  type.is_tensor = true;
  pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case varint_field(1): type.type = reader.get_int32(); break;
      case bytes_field(2):
        type.has_shape = true;
        type.extents = parse_shape(view(reader));
        break;
      default: reader.skip();
    }
  }
}

template <class List, class Range>
void append(List& list, const Range& range) {
  for (const auto entry : range) {
    check_count(list, most_list_entries, "entries of one attribute");
    list.push_back(entry);
  }
}

AttributeContent parse_attribute_fields(Bytes message) {
  AttributeContent content;
  pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case fixed32_field(2): content.real = reader.get_float(); break;
      case varint_field(3): content.integer = reader.get_int64(); break;
      case bytes_field(4): content.text = view(reader); break;
      case bytes_field(5): content.tensor = view(reader); break;
      case bytes_field(6):
      case bytes_field(11):
        content.has_graph = true;
        reader.skip();
        break;
      case fixed32_field(7):
        check_count(content.reals, most_list_entries, "entries of one attribute");
        content.reals.push_back(reader.get_float());
        break;
      case bytes_field(7): append(content.reals, reader.get_packed_float()); break;
      case varint_field(8):
        check_count(content.integers, most_list_entries, "entries of one attribute");
        content.integers.push_back(reader.get_int64());
        break;
      case bytes_field(8): append(content.integers, reader.get_packed_int64()); break;
      case bytes_field(9):
        check_count(content.texts, most_list_entries, "entries of one attribute");
        content.texts.push_back(view(reader));
        break;
      default: reader.skip();
    }
    ++content.entries;
  }
  content.entries += content.integers.size() + content.reals.size();
  return content;
}

TensorDef parse_tensor_fields(Bytes message) {
  constexpr std::int32_t external = 1;  // TensorProto.DataLocation.EXTERNAL
  TensorDef tensor{.message = message};
  pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case varint_field(1): tensor.extents.push_back(reader.get_int64()); break;
      case bytes_field(1):
        for (const std::int64_t extent : reader.get_packed_int64()) {
          tensor.extents.push_back(extent);
        }
        break;
      case varint_field(2): tensor.type = reader.get_int32(); break;
      case bytes_field(8): tensor.name = view(reader); break;
      case varint_field(14): tensor.is_external = reader.get_int32() == external; break;
      default: reader.skip();
    }
  }
  return tensor;
}

// What protozero throws becomes Strata's own error.
template <class Parse>
auto or_input_error(Parse&& parse) {
  try {
    return parse();
  } catch (const protozero::exception& problem) {
    fail(ErrorKind::input, "not a complete ONNX model: broken protobuf ({})", problem.what());
  }
}

}  // namespace

ModelDef parse_model(Bytes bytes) {
  return or_input_error([&] { return parse_model_fields(bytes); });
}

TensorDef parse_tensor(Bytes message) {
  return or_input_error([&] { return parse_tensor_fields(message); });
}

TypeDef parse_type(Bytes message) {
  return or_input_error([&] {
    TypeDef type;
    pbf_reader reader = reader_of(message);
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case bytes_field(1): parse_tensor_type(view(reader), type); break;
        default: reader.skip();
      }
    }
    return type;
  });
}

AttributeContent parse_attribute(Bytes message) {
  return or_input_error([&] { return parse_attribute_fields(message); });
}

}  // namespace strata::onnx
