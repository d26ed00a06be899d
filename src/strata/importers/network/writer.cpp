// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/graph/builder.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/importers/network/fields.hpp"
#include "strata/importers/network/network.hpp"
#include "strata/importers/network/words.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>
#include <unordered_set>
#include <vector>

namespace strata {
namespace {

using network::word_for;
using network::written_fields;
using network::written_shape;
using Json = nlohmann::ordered_json;

/// Writes a graph by building it a second time, and puts down only what building it would not bring
/// about by itself: that a node takes something else than what comes before it, that its weight has
/// a name or a type of its own.
class NetworkWriter {
 public:
  explicit NetworkWriter(const Graph& graph)
      : graph_(graph), replay_(graph.name), replayed_(graph.tensors.size(), not_replayed) {
    replay_.symbols() = graph.symbols;
  }

  std::string text() {
    check_names();
    Json header = written_header();
    const std::vector<Json> layers = written_layers();
    Json outputs = Json::array();
    for (const TensorId output : graph_.outputs) outputs.push_back(graph_.tensors[output].name);

    std::string text = "{\n";
    for (const auto& [key, value] : header.items()) add_line(text, key, value);
    text += "  \"layers\": [\n";
    for (std::size_t i = 0; i < layers.size(); ++i) {
      text += fmt::format("    {}{}\n", one_line(layers[i]), i + 1 < layers.size() ? "," : "");
    }
    text += fmt::format("  ],\n  \"outputs\": {}", one_line(outputs));
    if (!graph_.warnings.empty()) text += written_warnings();
    return text + "\n}\n";
  }

 private:
  static constexpr TensorId not_replayed = ~TensorId{0};

  // Names from other formats may be any bytes; what could not be read again is not written.
  static std::string one_line(const Json& json) {
    check_texts(json);
    return printable_json(spaced(json.dump()));
  }

  static void check_texts(const Json& json) {
    if (json.is_string()) network::check_text(json.get_ref<const std::string&>());
    if (json.is_structured()) {
      for (const Json& part : json) check_texts(part);
    }
  }

  // {"op":"relu","inputs":["a"]} → {"op": "relu", "inputs": ["a"]}
  static std::string spaced(std::string_view compact) {
    std::string text;
    bool is_in_text = false;
    for (std::size_t i = 0; i < compact.size(); ++i) {
      const char c = compact[i];
      text += c;
      if (is_in_text && c == '\\') text += compact[++i];
      if (c == '"') is_in_text = !is_in_text;
      if (!is_in_text && (c == ',' || c == ':')) text += ' ';
    }
    return text;
  }

  static void add_line(std::string& text, const std::string& key, const Json& value) {
    text += fmt::format("  {}: {},\n", one_line(key), one_line(value));
  }

  void check_names() const {
    std::unordered_set<std::string_view> names;
    names.reserve(graph_.tensors.size());
    for (const Tensor& tensor : graph_.tensors) {
      if (tensor.name.empty()) fail(ErrorKind::unsupported, "a tensor without a name");
      if (!names.insert(tensor.name).second) {
        fail(ErrorKind::unsupported, "two tensors are named '{}'", tensor.name);
      }
    }
    for (const Parameter& parameter : graph_.symbols.parameters()) {
      if (network::is_dim_name(parameter.name)) continue;
      fail(ErrorKind::unsupported, "dimension '{}': its name is not a word", parameter.name);
    }
  }

  std::string written_warnings() const {
    std::string text = ",\n  \"warnings\": [\n";
    for (const Warning& warning : graph_.warnings) {
      Json entry;
      entry["code"] = name_of(warning.code);
      entry["message"] = warning.message;
      const bool is_last = &warning == &graph_.warnings.back();
      text += fmt::format("    {}{}\n", one_line(entry), is_last ? "" : ",");
    }
    return text + "  ]";
  }

  Json written_header() {
    Json header;
    header["strata_network"] = network_format_version;
    header["name"] = graph_.name;
    if (graph_.title != graph_.name) header["title"] = graph_.title;
    header["source"] = graph_.source;
    if (graph_.recurrent_order != RecurrentOrder::layer_major) {
      header["recurrent_order"] = word_for(graph_.recurrent_order);
    }
    Json dims = Json::object();
    for (const auto& [name, default_value] : graph_.symbols.parameters()) {
      dims[name] = default_value ? Json(*default_value) : Json(network::no_default);
    }
    // The one name that a reader knows anyway is not worth a line.
    const bool is_usual = dims.size() == 1 && dims.begin().value() == network::no_default &&
                          network::is_known_dim(dims.begin().key());
    if (!dims.empty() && !is_usual) header["dims"] = dims;
    header["inputs"] = written_inputs();
    return header;
  }

  // The inputs that come before everything else; those made on the way are entries among the
  // layers, so that tensors keep their order.
  Json written_inputs() {
    Json inputs = Json::object();
    const bool is_ordered = std::is_sorted(graph_.inputs.begin(), graph_.inputs.end());
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (is_ordered && graph_.inputs[i] != i) break;
      const Tensor& tensor = graph_.tensors[graph_.inputs[i]];
      replay_stored(graph_.inputs[i]);
      Json type = written_type(tensor);
      inputs[tensor.name] = type.contains("dtype") ? type : type["shape"];
    }
    return inputs;
  }

  Json written_type(const Tensor& tensor) const {
    Json type;
    type["shape"] = written_shape(tensor.type.shape, graph_.symbols);
    if (tensor.type.dtype != DType::fp32) type["dtype"] = name_of(tensor.type.dtype);
    return type;
  }

  std::vector<Json> written_layers() {
    std::vector<Json> layers;
    TensorId next = 0;
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.nodes[id];
      const bool makes_weights = has_weights_before_outputs(node);
      // What stands before the node in the order of tensors, or is used by it, must be there first.
      const TensorId first_made = makes_weights ? own_of(node).front() : node.outputs.front();
      for (; next < first_made; ++next) add_stored(next, layers);
      add_all_stored(data_of(node), layers);
      if (!makes_weights) add_all_stored(own_of(node), layers);
      const bool is_usual = replay(node, makes_weights);
      if (!is_usual) add_all_stored(own_of(node), layers);
      layers.push_back(written_node(id, is_usual && makes_weights));
    }
    for (; next < graph_.tensors.size(); ++next) add_stored(next, layers);
    return layers;
  }

  static std::span<const TensorId> data_of(const Node& node) {
    return std::span(node.inputs).first(node.first_own);
  }
  static std::span<const TensorId> own_of(const Node& node) {
    return std::span(node.inputs).subspan(node.first_own);
  }

  // The builder makes weights right before outputs: only there can they be its work.
  bool has_weights_before_outputs(const Node& node) const {
    const std::span<const TensorId> own = own_of(node);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i] + own.size() != node.outputs.front() + i || is_replayed(own[i])) return false;
    }
    return !own.empty();
  }

  // Adds the node to the second graph. With `makes_weights` the builder makes them; says whether
  // they came out the same.
  bool replay(const Node& node, bool makes_weights) {
    const NodeId id =
        replay_.add_node(node.name, node.op, replayed(data_of(node)),
                         makes_weights ? std::vector<TensorId>() : replayed(own_of(node)));
    const Node& again = replay_.graph().nodes[id];
    bool is_same = again.inputs.size() == node.inputs.size();
    STRATA_CHECK(again.outputs.size() == node.outputs.size(), "an operator has other outputs");
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const Tensor& output = graph_.tensors[node.outputs[i]];
      if (replay_.type(again.outputs[i]) != output.type) {
        fail(ErrorKind::unsupported, "node '{}': the type of '{}' does not follow from its inputs",
             node.name, output.name);
      }
      replayed_[node.outputs[i]] = again.outputs[i];
    }
    for (std::size_t i = node.first_own; is_same && i < node.inputs.size(); ++i) {
      const Tensor& made = replay_.graph().tensors[again.inputs[i]];
      const Tensor& own = graph_.tensors[node.inputs[i]];
      is_same = made.name == own.name && made.type == own.type && made.kind == own.kind;
    }
    if (is_same && makes_weights) {
      for (std::size_t i = node.first_own; i < node.inputs.size(); ++i) {
        replayed_[node.inputs[i]] = again.inputs[i];
      }
    }
    return is_same;
  }

  std::vector<TensorId> replayed(std::span<const TensorId> tensors) const {
    std::vector<TensorId> found;
    for (const TensorId tensor : tensors) found.push_back(replayed_[tensor]);
    return found;
  }

  bool is_replayed(TensorId id) const { return replayed_[id] != not_replayed; }

  void replay_stored(TensorId id) {
    const Tensor& tensor = graph_.tensors[id];
    replayed_[id] = replay_.stored(tensor.name, tensor.type.shape, tensor.kind, tensor.type.dtype);
  }

  void add_stored(TensorId id, std::vector<Json>& layers) {
    const Tensor& tensor = graph_.tensors[id];
    if (tensor.kind == TensorKind::activation || is_replayed(id)) return;
    Json entry;
    entry["name"] = tensor.name;
    entry["op"] = word_for(tensor.kind);
    entry.update(written_type(tensor));
    layers.push_back(std::move(entry));
    replay_stored(id);
  }

  void add_all_stored(std::span<const TensorId> tensors, std::vector<Json>& layers) {
    for (const TensorId tensor : tensors) add_stored(tensor, layers);
  }

  Json names_of(std::span<const TensorId> tensors) const {
    Json names = Json::array();
    for (const TensorId tensor : tensors) names.push_back(graph_.tensors[tensor].name);
    return names;
  }

  Json written_node(NodeId id, bool makes_weights) {
    const Node& node = graph_.nodes[id];
    Json layer;
    layer["name"] = node.name;
    layer["op"] = name_of(node.op);
    if (!takes_what_comes_before(id)) layer["inputs"] = names_of(data_of(node));
    const Shape shape = node.first_own == 0 ? Shape() : graph_.tensors[node.inputs[0]].type.shape;
    layer.update(written_fields(node.op, graph_.symbols, network::spatial_axes_of(shape)));
    if (!makes_weights && !own_of(node).empty()) layer["weights"] = names_of(own_of(node));
    if (!has_usual_output_names(node)) layer["outputs"] = names_of(node.outputs);
    if (!node.block.empty()) layer["block"] = node.block;
    return layer;
  }

  bool takes_what_comes_before(NodeId id) const {
    const std::span<const TensorId> data = data_of(graph_.nodes[id]);
    if (data.size() != 1) return false;
    if (id == 0) return graph_.inputs.size() == 1 && data.front() == graph_.inputs.front();
    const Node& before = graph_.nodes[id - 1];
    return data.front() == before.outputs.front() && !std::holds_alternative<Split>(before.op);
  }

  bool has_usual_output_names(const Node& node) {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [this](TensorId output) {
      return graph_.tensors[output].name == replay_.graph().tensors[replayed_[output]].name;
    });
  }

  const Graph& graph_;
  GraphBuilder replay_;
  std::vector<TensorId> replayed_;
};

}  // namespace

std::string write_network(const Graph& graph) {
  if (graph.recording != nullptr)
    fail(ErrorKind::unsupported,
         "{}: a recording says what PyTorch ran, not what the network is, and cannot be written as "
         "a network",
         graph.name);
  // Readers of other formats may find only inputs; the own format would not read that again.
  if (graph.nodes.empty())
    fail(ErrorKind::input, "the network has no layers that compute anything");
  return NetworkWriter(graph).text();
}

}  // namespace strata
