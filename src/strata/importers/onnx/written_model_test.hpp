// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/onnx.hpp"

#include <protozero/pbf_writer.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// ONNX files for tests, written field by field (numbers as in onnx.proto), so that a test can say
/// anything that a file can, right or wrong.
namespace strata::onnx::test {

using protozero::pbf_writer;

inline constexpr std::int32_t fp32 = 1, int8 = 3, int32 = 6, int64 = 7, boolean = 9, fp16 = 10;

/// An extent: a number, a name, or, with -1, neither.
using Extent = std::variant<std::int64_t, std::string>;
using Integers = std::vector<std::int64_t>;
using Reals = std::vector<float>;

struct TensorText {
  std::string name;
  std::int32_t type = fp32;
  Integers extents;
  Integers integers;         ///< int64_data
  std::vector<float> reals;  ///< float_data
  bool is_external = false;

  std::string text() const {
    std::string out;
    pbf_writer writer(out);
    for (const std::int64_t extent : extents) writer.add_int64(1, extent);
    writer.add_int32(2, type);
    writer.add_packed_float(4, reals.begin(), reals.end());
    writer.add_packed_int64(7, integers.begin(), integers.end());
    writer.add_string(8, name);
    if (is_external) writer.add_int32(14, 1);
    return out;
  }
};

/// A weight whose numbers are elsewhere.
inline TensorText weight(std::string name, Integers extents, std::int32_t type = fp32) {
  return {std::move(name), type, std::move(extents), {}, {}, true};
}

/// A tensor whose numbers are in the file.
inline TensorText table(std::string name, Integers extents, Reals numbers) {
  return {std::move(name), fp32, std::move(extents), {}, std::move(numbers), false};
}

inline TensorText integers(std::string name, Integers numbers) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  return {std::move(name), int64, {count}, std::move(numbers), {}, false};
}

inline TensorText scalar(std::string name, float value) {
  return {std::move(name), fp32, {}, {}, {value}, false};
}

/// Another attribute of the call around a function.
struct Reference {
  std::string name;
};

using AttributeValue =
    std::variant<std::int64_t, float, std::string, Integers, Reals, TensorText, Reference>;
using Attribute = std::pair<std::string, AttributeValue>;

inline std::string attribute_text(const Attribute& attribute) {
  std::string out;
  pbf_writer writer(out);
  writer.add_string(1, attribute.first);
  struct Visitor {
    pbf_writer& writer;
    void operator()(std::int64_t value) const { writer.add_int64(3, value); }
    void operator()(float value) const { writer.add_float(2, value); }
    void operator()(const std::string& value) const { writer.add_string(4, value); }
    void operator()(const Integers& value) const {
      for (const std::int64_t entry : value) writer.add_int64(8, entry);
    }
    void operator()(const Reals& value) const {
      for (const float entry : value) writer.add_float(7, entry);
    }
    void operator()(const TensorText& value) const { writer.add_message(5, value.text()); }
    void operator()(const Reference& value) const { writer.add_string(21, value.name); }
  };
  std::visit(Visitor{writer}, attribute.second);
  return out;
}

struct NodeText {
  std::string op;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<Attribute> attributes = {};
  std::string name = {};
  std::string domain = {};
  std::string scopes = {};
  std::string rewrite = {};

  std::string text() const {
    std::string out;
    pbf_writer writer(out);
    for (const std::string& input : inputs) writer.add_string(1, input);
    for (const std::string& output : outputs) writer.add_string(2, output);
    if (!name.empty()) writer.add_string(3, name);
    writer.add_string(4, op);
    for (const Attribute& attribute : attributes) writer.add_message(5, attribute_text(attribute));
    if (!domain.empty()) writer.add_string(7, domain);
    if (!scopes.empty()) {
      pbf_writer entry(writer, 9);
      entry.add_string(1, "pkg.torch.onnx.name_scopes");
      entry.add_string(2, scopes);
    }
    if (!rewrite.empty()) {
      pbf_writer entry(writer, 9);
      entry.add_string(1, "pkg.onnxscript.rewriter.rule_name");
      entry.add_string(2, rewrite);
    }
    return out;
  }
};

inline std::string value_text(const std::string& name, const std::vector<Extent>& extents,
                              std::int32_t type) {
  std::string out;
  pbf_writer value(out);
  value.add_string(1, name);
  pbf_writer type_proto(value, 2);
  pbf_writer tensor(type_proto, 1);
  tensor.add_int32(1, type);
  pbf_writer shape(tensor, 2);
  for (const Extent& extent : extents) {
    pbf_writer dim(shape, 1);
    if (const auto* number = std::get_if<std::int64_t>(&extent)) {
      if (*number != -1) dim.add_int64(1, *number);
    } else {
      dim.add_string(2, std::get<std::string>(extent));
    }
  }
  return out;
}

/// A whole file, put together piece by piece.
class WrittenModel {
 public:
  explicit WrittenModel(std::int64_t opset = 17) : opset_(opset) {}

  WrittenModel& input(const std::string& name, std::vector<Extent> extents,
                      std::int32_t type = fp32) {
    pbf_writer(graph_).add_message(11, value_text(name, extents, type));
    return *this;
  }
  WrittenModel& output(const std::string& name) {
    pbf_writer writer(graph_);
    pbf_writer value(writer, 12);
    value.add_string(1, name);
    return *this;
  }
  WrittenModel& output(const std::string& name, std::vector<Extent> extents,
                       std::int32_t type = fp32) {
    pbf_writer(graph_).add_message(12, value_text(name, extents, type));
    return *this;
  }
  WrittenModel& value(const std::string& name, std::vector<Extent> extents,
                      std::int32_t type = fp32) {
    pbf_writer(graph_).add_message(13, value_text(name, extents, type));
    return *this;
  }
  WrittenModel& store(const TensorText& tensor) {
    pbf_writer(graph_).add_message(5, tensor.text());
    return *this;
  }
  /// What torch.export says of parameters and buffers.
  WrittenModel& signature(const std::string& text) {
    pbf_writer writer(graph_);
    pbf_writer entry(writer, 16);
    entry.add_string(1, "pkg.torch.export.ExportedProgram.graph_signature");
    entry.add_string(2, text);
    return *this;
  }
  WrittenModel& producer(const std::string& name) {
    producer_ = name;
    return *this;
  }
  WrittenModel& node(const NodeText& node) {
    pbf_writer(graph_).add_message(1, node.text());
    return *this;
  }
  WrittenModel& function(const std::string& domain, const std::string& name,
                         const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs,
                         const std::vector<NodeText>& nodes,
                         const std::vector<std::string>& attributes = {}) {
    pbf_writer writer(functions_);
    pbf_writer function(writer, 25);
    function.add_string(1, name);
    for (const std::string& input : inputs) function.add_string(4, input);
    for (const std::string& output : outputs) function.add_string(5, output);
    for (const std::string& attribute : attributes) function.add_string(6, attribute);
    for (const NodeText& node : nodes) function.add_message(7, node.text());
    function.add_string(10, domain);
    return *this;
  }

  std::string text() const {
    std::string out;
    pbf_writer writer(out);
    writer.add_int64(1, 8);
    if (!producer_.empty()) writer.add_string(2, producer_);
    writer.add_message(7, graph_);
    pbf_writer opset(writer, 8);
    opset.add_int64(2, opset_);
    opset.commit();
    return out + functions_;
  }

  Graph read(const ImportOptions& options = {}) const {
    return read_onnx_text(text(), "model.onnx", options);
  }

 private:
  std::int64_t opset_;
  std::string producer_;
  std::string graph_;
  std::string functions_;
};

}  // namespace strata::onnx::test
