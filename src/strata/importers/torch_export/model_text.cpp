// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/torch_export/model_text.hpp"

#include <array>
#include <bit>

namespace strata::torch_export {
namespace {

// Protobuf: a field is its number and kind, then a varint, four bytes, or a length and bytes.
void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}
void put_number(std::string& out, std::uint32_t field, std::int64_t value) {
  put_varint(out, std::uint64_t{field} << 3);
  put_varint(out, static_cast<std::uint64_t>(value));
}
void put_real(std::string& out, std::uint32_t field, double value) {
  put_varint(out, (std::uint64_t{field} << 3) | 5);
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(bits >> shift));
}
void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  put_varint(out, (std::uint64_t{field} << 3) | 2);
  put_varint(out, bytes.size());
  out += bytes;
}
void put_entry(std::string& out, std::uint32_t field, std::string_view key, std::string_view text) {
  std::string entry;
  put_bytes(entry, 1, key);
  put_bytes(entry, 2, text);
  put_bytes(out, field, entry);
}

std::string attribute_text(std::string_view name, const AttributeValue& value) {
  std::string text;
  put_bytes(text, 1, name);
  if (const auto* number = std::get_if<std::int64_t>(&value)) put_number(text, 3, *number);
  if (const auto* real = std::get_if<double>(&value)) put_real(text, 2, *real);
  if (const auto* word = std::get_if<std::string>(&value)) put_bytes(text, 4, *word);
  if (const auto* list = std::get_if<Integers>(&value))
    for (const std::int64_t number : *list) put_number(text, 8, number);
  return text;
}

std::string tensor_head(std::string_view name, const Integers& sizes, std::int64_t type) {
  std::string text;
  for (const std::int64_t size : sizes) put_number(text, 1, size);
  put_number(text, 2, type);
  put_bytes(text, 8, name);
  return text;
}

/// A symbol is a name; what is computed from symbols is left open.
bool is_symbol(std::string_view expression) {
  return !expression.empty() &&
         expression.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
             std::string_view::npos;
}

std::string value_text(std::string_view name, const TensorMeta& meta) {
  std::string shape;
  for (const Size& size : meta.sizes) {
    std::string extent;
    if (size.is_number()) put_number(extent, 1, size.number);
    if (!size.is_number() && is_symbol(size.expression)) put_bytes(extent, 2, size.expression);
    put_bytes(shape, 1, extent);
  }
  std::string tensor;
  put_number(tensor, 1, onnx_type(meta.dtype));
  put_bytes(tensor, 2, shape);
  std::string type;
  put_bytes(type, 1, tensor);
  std::string value;
  put_bytes(value, 1, name);
  put_bytes(value, 2, type);
  return value;
}

constexpr std::uint32_t node_field = 1, initializer_field = 5, input_field = 11, output_field = 12,
                        value_field = 13, metadata_field = 16;

}  // namespace

std::int64_t onnx_type(std::int64_t torch_type) {
  // byte, char, short, int, long, half, float, double, complex (three), bool, bfloat16
  constexpr std::array<std::int64_t, 14> types = {0, 2, 3, 5, 6, 7, 10, 1, 11, 0, 0, 0, 9, 16};
  return torch_type >= 0 && torch_type < std::int64_t{types.size()}
             ? types[static_cast<std::size_t>(torch_type)]
             : 0;
}

void OnnxText::add(const OnnxNode& node) {
  std::string text;
  for (const std::string& input : node.inputs) put_bytes(text, 1, input);
  for (const std::string& output : node.outputs) put_bytes(text, 2, output);
  put_bytes(text, 3, node.name);
  put_bytes(text, 4, node.op);
  for (const auto& [name, value] : node.attributes) put_bytes(text, 5, attribute_text(name, value));
  std::string scopes = "['";
  for (const std::string& module : node.modules) scopes += "', '" + module;
  put_entry(text, 9, "pkg.torch.onnx.name_scopes", scopes + "', '" + node.name + "']");
  put_bytes(graph_, node_field, text);
}

void OnnxText::add_tensor(std::string_view name, const Integers& sizes, std::int64_t type) {
  std::string text = tensor_head(name, sizes, type);
  put_number(text, 14, 1);
  put_bytes(graph_, initializer_field, text);
}

void OnnxText::add_integers(std::string_view name, const Integers& numbers, bool is_scalar) {
  constexpr std::int64_t int64_type = 7;
  const Integers sizes =
      is_scalar ? Integers{} : Integers{static_cast<std::int64_t>(numbers.size())};
  std::string text = tensor_head(name, sizes, int64_type);
  for (const std::int64_t number : numbers) put_number(text, 7, number);
  put_bytes(graph_, initializer_field, text);
}

void OnnxText::add_number(std::string_view name, double number, std::int64_t type) {
  constexpr std::int64_t int64_type = 7;
  if (type == int64_type) {
    add_integers(name, {static_cast<std::int64_t>(number)}, true);
    return;
  }
  std::string text = tensor_head(name, {}, 1);
  put_real(text, 4, number);
  put_bytes(graph_, initializer_field, text);
}

void OnnxText::add_input(std::string_view name, const TensorMeta& meta) {
  put_bytes(graph_, input_field, value_text(name, meta));
}
void OnnxText::add_output(std::string_view name, const TensorMeta& meta) {
  put_bytes(graph_, output_field, value_text(name, meta));
}
void OnnxText::add_value(std::string_view name, const TensorMeta& meta) {
  put_bytes(graph_, value_field, value_text(name, meta));
}

void OnnxText::say_learnt(std::string_view name, bool is_learnt) {
  signature_ += "x: ";
  signature_ += is_learnt ? "PARAMETER" : "BUFFER";
  signature_.append(" target='").append(name).append("'\n");
}

std::string OnnxText::finish() const {
  std::string graph = graph_;
  put_entry(graph, metadata_field, "pkg.torch.export.ExportedProgram.graph_signature", signature_);
  std::string opset;
  constexpr std::int64_t newest_opset = 23;
  put_bytes(opset, 1, "");
  put_number(opset, 2, newest_opset);
  std::string model;
  put_number(model, 1, 10);
  put_bytes(model, 7, graph);
  put_bytes(model, 8, opset);
  return model;
}

}  // namespace strata::torch_export
