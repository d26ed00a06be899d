// SPDX-License-Identifier: Apache-2.0
#include "strata/report/model_summary.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/graph/recording.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace strata {
namespace {

void add_to(std::int64_t& sum, std::int64_t value) { sum = checked_add(sum, value); }

PassCounts counts_of(const PassCost& pass) {
  return {pass.mac, pass.flop, pass.read_bytes(), pass.write_bytes()};
}

void add_to(PassCounts& sum, const PassCounts& pass) {
  add_to(sum.mac, pass.mac);
  add_to(sum.flop, pass.flop);
  add_to(sum.read_bytes, pass.read_bytes);
  add_to(sum.write_bytes, pass.write_bytes);
}

/// Goes through the nodes once, remembering what may count only once: shared weights, kept tensors,
/// other names of a tensor.
class Summarizer {
 public:
  Summarizer(const BoundGraph& bound, Mode mode)
      : bound_(bound),
        graph_(*bound.graph),
        mode_(mode),
        is_claimed_(graph_.tensors.size(), false),
        is_kept_(graph_.tensors.size(), false),
        storage_(graph_.tensors.size()) {
    for (TensorId id = 0; id < storage_.size(); ++id) storage_[id] = id;
  }

  ModelSummary summarize() {
    describe_network();
    const std::vector<NodeCost> costs = costs_of(bound_, mode_);
    summary_.layers.reserve(graph_.nodes.size());
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) add_layer(node, costs[node]);
    count_stored_tensors();
    group_layers();
    count_operations();
    return std::move(summary_);
  }

 private:
  void describe_network() {
    summary_.name = graph_.name;
    summary_.title = graph_.title.empty() ? graph_.name : graph_.title;
    summary_.source = graph_.source;
    summary_.mode = mode_;
    summary_.warnings = graph_.warnings;
    for (const Parameter& parameter : graph_.symbols.parameters()) {
      const auto value = bound_.binding.find(parameter.name);
      STRATA_CHECK(value != bound_.binding.end(),
                   "a bound graph knows the value of every dimension");
      summary_.dims.push_back({parameter.name, value->second});
    }
    summary_.dtype = floating_dtype();
    name_inputs();
  }

  // An input that is called like a layer would be taken for it.
  void name_inputs() {
    std::unordered_map<std::string_view, TensorId> ids;
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      const Tensor& tensor = graph_.tensors[id];
      if (tensor.kind != TensorKind::input) continue;
      input_names_.emplace(id, tensor.name);
      ids.emplace(tensor.name, id);
    }
    for (const Node& node : graph_.nodes) {
      const auto same_name = ids.find(node.name);
      if (same_name != ids.end()) input_names_[same_name->second] = node.name + " (input)";
    }
  }

  // Integers (token ids, masks) say nothing about the precision of the network.
  std::string floating_dtype() const {
    std::optional<DType> common;
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      if (!is_floating(graph_.tensors[id].type.dtype)) continue;
      const DType dtype = bound_.tensors[id].dtype;
      if (common && *common != dtype) return "mixed";
      common = dtype;
    }
    return common ? std::string(name_of(*common)) : "none";
  }

  void add_layer(NodeId id, const NodeCost& cost) {
    const Node& node = graph_.nodes[id];
    LayerSummary layer;
    layer.name = node.name;
    layer.block = node.block;
    layer.op = operator_word(graph_, node);
    layer.inputs = names_of_inputs(node);
    layer.counts.nodes = 1;
    layer.counts.uncounted = cost.is_counted ? 0 : 1;
    layer.counts.forward = counts_of(cost.forward);
    layer.counts.backward_input = counts_of(cost.backward_input);
    layer.counts.backward_weight = counts_of(cost.backward_weight);
    if (!node.outputs.empty()) {
      const BoundTensor& output = bound_.tensors[node.outputs.front()];
      layer.output_shape.assign(output.shape.begin(), output.shape.end());
      layer.dtype = output.dtype;
    }
    claim_stored_tensors(node, layer.counts);
    follow_aliases(node, cost.forward);
    for (const TensorId output : node.outputs) {
      if (storage_[output] == output)
        add_to(layer.counts.activation_bytes, bound_.tensors[output].bytes);
    }
    keep_for_backward(id, cost, layer);
    summary_.totals += layer.counts;
    summary_.layers.push_back(std::move(layer));
  }

  std::vector<std::string> names_of_inputs(const Node& node) const {
    std::vector<std::string> names;
    for (const TensorId input : node.inputs) {
      const Tensor& tensor = graph_.tensors[input];
      if (tensor.kind == TensorKind::input) names.push_back(input_names_.at(input));
      if (tensor.kind == TensorKind::activation)
        names.push_back(graph_.nodes[tensor.producer].name);
    }
    return names;
  }

  void claim_stored_tensors(const Node& node, LayerCounts& counts) {
    for (const TensorId input : node.inputs) {
      if (is_claimed_[input]) continue;
      is_claimed_[input] = true;
      const TensorKind kind = graph_.tensors[input].kind;
      if (kind == TensorKind::parameter) add_to(counts.parameters, bound_.tensors[input].elements);
      if (kind == TensorKind::buffer) add_to(counts.buffers, bound_.tensors[input].elements);
    }
  }

  void follow_aliases(const Node& node, const PassCost& forward) {
    for (const Access& access : forward.accesses) {
      const bool is_alias = access.operand == Operand::output && access.mode == AccessMode::alias;
      if (is_alias) storage_[node.outputs[access.index]] = storage_[node.inputs.front()];
    }
  }

  void keep_for_backward(NodeId id, const NodeCost& cost, LayerSummary& layer) {
    if (mode_ == Mode::inference) {
      layer.kept = "nothing";
      return;
    }
    const Kept kept = kept_for_backward(bound_, id, cost);
    layer.kept = kept.text;
    layer.kept_bytes = kept.bytes;
    const Node& node = graph_.nodes[id];
    for (const PassCost* pass : {&cost.backward_input, &cost.backward_weight}) {
      for (const Access& access : pass->accesses) {
        if (access.mode != AccessMode::read) continue;
        if (access.operand == Operand::input) keep(node.inputs[access.index]);
        if (access.operand == Operand::output) keep(node.outputs[access.index]);
      }
    }
    for (const Saved& saved : cost.saved) add_to(summary_.kept_bytes, saved.bytes);
  }

  void keep(TensorId tensor) {
    const TensorKind kind = graph_.tensors[tensor].kind;
    if (kind != TensorKind::input && kind != TensorKind::activation)
      return;  // stored tensors stay anyway
    const TensorId storage = storage_[tensor];
    if (is_kept_[storage]) return;
    is_kept_[storage] = true;
    add_to(summary_.kept_bytes, bound_.tensors[storage].bytes);
  }

  // Over tensors, not layers: a stored tensor that no layer reads is still stored.
  void count_stored_tensors() {
    summary_.totals.parameters = 0;
    summary_.totals.buffers = 0;
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      const BoundTensor& tensor = bound_.tensors[id];
      switch (graph_.tensors[id].kind) {
        case TensorKind::parameter:
          add_to(summary_.totals.parameters, tensor.elements);
          add_to(summary_.parameter_bytes, tensor.bytes);
          break;
        case TensorKind::buffer:
          add_to(summary_.totals.buffers, tensor.elements);
          add_to(summary_.buffer_bytes, tensor.bytes);
          break;
        case TensorKind::input: add_to(summary_.input_bytes, tensor.bytes); break;
        case TensorKind::activation:
        case TensorKind::constant: break;
      }
    }
  }

  void count_operations() {
    if (graph_.recording == nullptr) return;
    summary_.dims.push_back({"batch", graph_.recording->samples});
    std::unordered_map<std::string_view, std::size_t> places;
    for (const RecordedOperation& operation : graph_.recording->operations) {
      const auto [place, is_new] = places.try_emplace(operation.name, summary_.operations.size());
      if (is_new)
        summary_.operations.push_back(
            {operation.name, 0, 0, operation.launches, operation.is_known});
      OperationCount& count = summary_.operations[place->second];
      ++count.count;
      add_to(count.flop, operation.flop);
    }
    std::stable_sort(summary_.operations.begin(), summary_.operations.end(),
                     [](const OperationCount& a, const OperationCount& b) {
                       return std::pair(a.launches, a.count) > std::pair(b.launches, b.count);
                     });
  }

  void group_layers() {
    summary_.types = grouped_by([](const LayerSummary& layer) { return layer.op; });
    std::stable_sort(summary_.types.begin(), summary_.types.end(),
                     [](const GroupSummary& a, const GroupSummary& b) {
                       return a.counts.flop() > b.counts.flop();
                     });
    summary_.blocks = grouped_by(
        [](const LayerSummary& layer) { return layer.block.empty() ? layer.name : layer.block; });
  }

  std::vector<GroupSummary> grouped_by(auto name_of_group) const {
    std::vector<GroupSummary> groups;
    std::unordered_map<std::string, std::size_t> places;
    for (const LayerSummary& layer : summary_.layers) {
      const auto [place, is_new] = places.try_emplace(name_of_group(layer), groups.size());
      if (is_new) groups.push_back({place->first, {}});
      groups[place->second].counts += layer.counts;
    }
    return groups;
  }

  const BoundGraph& bound_;
  const Graph& graph_;
  Mode mode_;
  std::vector<bool> is_claimed_;   // stored tensors that a layer has been given
  std::vector<bool> is_kept_;      // tensors that backward needs
  std::vector<TensorId> storage_;  // the tensor whose memory this one is
  std::unordered_map<TensorId, std::string> input_names_;
  ModelSummary summary_;
};

}  // namespace

LayerCounts& LayerCounts::operator+=(const LayerCounts& other) {
  add_to(nodes, other.nodes);
  add_to(parameters, other.parameters);
  add_to(buffers, other.buffers);
  add_to(forward, other.forward);
  add_to(backward_input, other.backward_input);
  add_to(backward_weight, other.backward_weight);
  add_to(activation_bytes, other.activation_bytes);
  add_to(uncounted, other.uncounted);
  return *this;
}

std::optional<std::int64_t> ModelSummary::dim(std::string_view dim_name) const {
  for (const Dimension& dimension : dims) {
    if (dimension.name == dim_name) return dimension.value;
  }
  return std::nullopt;
}

ModelSummary summarize(const BoundGraph& bound, Mode mode) {
  return Summarizer(bound, mode).summarize();
}

}  // namespace strata
