// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/builder.hpp"
#include "strata/operations/read_recording.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace strata {
namespace {

/// A tensor's extents as those of a graph, which has no empty tensors and few axes.
Shape shape_of(const RecordedTensor& tensor) {
  Shape shape;
  if (tensor.elements == 0) return shape;
  if (tensor.axes() > most_axes) {
    shape.push_back(Dim(tensor.elements));
    return shape;
  }
  for (const std::int64_t extent : tensor.shape) shape.push_back(Dim(extent));
  return shape;
}

TensorKind kind_of(RecordedStorage::Kind kind) {
  using Kind = RecordedStorage::Kind;
  return kind == Kind::parameter ? TensorKind::parameter
         : kind == Kind::buffer  ? TensorKind::buffer
                                 : TensorKind::constant;
}

/// The block is what surrounds a layer: "layer1.0" of "layer1.0.conv1".
std::string block_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? std::string() : name.substr(0, dot);
}

/// Makes a node per layer: what it reads of the network's inputs, of its parameters and of the
/// layers before it, and the largest tensor that it makes in forward.
class GraphMaker {
 public:
  explicit GraphMaker(RecordedNetwork network)
      : network_(std::move(network)),
        recording_(std::make_shared<RecordedOperations>(std::move(network_.recording))),
        builder_(network_.name) {}

  Graph graph() && {
    note_tensors();
    store_tensors();
    note_layers();
    for (std::uint32_t layer = 0; layer < recording_->layers.size(); ++layer) add_node(layer);
    Graph graph = std::move(builder_).finish();
    graph.title = network_.title;
    graph.source = network_.source.empty()
                       ? "recorded with " + recording_->framework
                       : network_.source + ", recorded with " + recording_->framework;
    warn(graph);
    graph.recording = recording_;
    return graph;
  }

 private:
  struct Layer {
    std::uint32_t output = RecordedOperation::no_tensor;  ///< the largest that forward makes
    bool is_computed = false;
    std::set<TensorId> stored;
    std::set<std::uint32_t> sources;  ///< layers
  };

  /// The tensor of every storage that says most of it.
  void note_tensors() {
    largest_.assign(recording_->storages.size(), RecordedOperation::no_tensor);
    for (std::uint32_t i = 0; i < recording_->tensors.size(); ++i) {
      std::uint32_t& known = largest_[recording_->tensors[i].storage];
      if (known == RecordedOperation::no_tensor ||
          recording_->tensors[i].elements > recording_->tensors[known].elements)
        known = i;
    }
  }

  void store_tensors() {
    using Kind = RecordedStorage::Kind;
    for (std::uint32_t i = 0; i < recording_->storages.size(); ++i) {
      RecordedStorage& storage = recording_->storages[i];
      const bool is_stored = storage.kind == Kind::parameter || storage.kind == Kind::buffer;
      if (!is_stored && storage.kind != Kind::input) continue;
      // Of a parameter that nothing reads only the bytes are known.
      Shape shape = {Dim(std::max<std::int64_t>(storage.bytes / 4, 1))};
      DType dtype = DType::fp32;
      if (largest_[i] != RecordedOperation::no_tensor) {
        const RecordedTensor& tensor = recording_->tensors[largest_[i]];
        shape = shape_of(tensor);
        dtype = tensor.dtype;
      }
      const std::string name = storage.name.empty() ? "tensor" : storage.name;
      storage.tensor = is_stored ? builder_.stored(name, shape, kind_of(storage.kind), dtype)
                                 : builder_.input(name, shape, dtype);
    }
  }

  void note_layers() {
    layers_.resize(recording_->layers.size());
    std::map<std::uint32_t, std::uint32_t> made_by;  // storage → layer
    for (const RecordedOperation& operation : recording_->operations) {
      Layer& layer = layers_[operation.layer];
      for (const auto& inputs : operation.inputs) {
        for (const std::uint32_t input : inputs) note_input(layer, operation.layer, input, made_by);
      }
      if (operation.pass != RecordedPass::forward || operation.is_recomputed) continue;
      for (const std::uint32_t output : operation.outputs) {
        note_output(layer, output, operation.launches);
        made_by[recording_->tensors[output].storage] = operation.layer;
      }
    }
  }

  /// What a layer computes goes before views, of which only a reshaping layer has nothing else; a
  /// view of a parameter is no output.
  void note_output(Layer& layer, std::uint32_t output, bool is_computed) const {
    const RecordedTensor& tensor = recording_->tensors[output];
    if (recording_->storages[tensor.storage].tensor != RecordedStorage::no_graph_tensor) return;
    const bool is_first = layer.output == RecordedOperation::no_tensor;
    const bool is_larger =
        !is_first && tensor.elements > recording_->tensors[layer.output].elements;
    if (is_first || (is_computed && !layer.is_computed) ||
        (is_computed == layer.is_computed && is_larger)) {
      layer.output = output;
      layer.is_computed = is_computed;
    }
  }

  void note_input(Layer& layer, std::uint32_t number, std::uint32_t input,
                  const std::map<std::uint32_t, std::uint32_t>& made_by) const {
    const std::uint32_t id = recording_->tensors[input].storage;
    const RecordedStorage& storage = recording_->storages[id];
    if (storage.tensor != RecordedStorage::no_graph_tensor) layer.stored.insert(storage.tensor);
    const auto made = made_by.find(id);
    if (made != made_by.end() && made->second < number) layer.sources.insert(made->second);
  }

  void add_node(std::uint32_t number) {
    const RecordedLayer& layer = recording_->layers[number];
    const Layer& known = layers_[number];
    TensorType type;
    if (known.output != RecordedOperation::no_tensor) {
      type.shape = shape_of(recording_->tensors[known.output]);
      type.dtype = recording_->tensors[known.output].dtype;
    }
    std::vector<TensorId> inputs;
    for (const std::uint32_t source : known.sources) inputs.push_back(builder_.output_of(source));
    // The update reads every parameter; they belong to the layers that compute with them.
    if (layer.type != "optimizer")
      inputs.insert(inputs.end(), known.stored.begin(), known.stored.end());
    const NodeId id = builder_.add_node(layer.name.empty() ? "network" : layer.name,
                                        Opaque{layer.type, {type.shape}}, inputs);
    Graph& graph = builder_.graph();
    graph.nodes[id].block = block_of(layer.name);
    graph.tensors[graph.nodes[id].outputs.front()].type.dtype = type.dtype;
  }

  void warn(Graph& graph) const {
    std::map<std::string, std::int64_t> unknown;
    for (const RecordedOperation& operation : recording_->operations) {
      if (!operation.is_known) ++unknown[operation.name];
    }
    if (!unknown.empty()) {
      std::string names;
      for (const auto& [name, times] : unknown) {
        if (!names.empty()) names += ", ";
        names += fmt::format("{} ({}×)", name, times);
      }
      graph.warnings.push_back(
          {WarningCode::operator_not_counted,
           fmt::format("operations that Strata does not know stream their bytes, and "
                       "their arithmetic is not counted: {}",
                       names)});
    }
    for (const std::string& one : recording_->assumed)
      graph.warnings.push_back({WarningCode::value_assumed, one});
  }

  RecordedNetwork network_;
  std::shared_ptr<RecordedOperations> recording_;
  GraphBuilder builder_;
  std::vector<std::uint32_t> largest_;
  std::vector<Layer> layers_;
};

}  // namespace

Graph recorded_graph(RecordedNetwork network) { return GraphMaker(std::move(network)).graph(); }

}  // namespace strata
