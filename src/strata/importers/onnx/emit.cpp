// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/emit.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/graph/builder.hpp"
#include "strata/graph/name_hashes.hpp"
#include "strata/importers/onnx/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

namespace strata::onnx {
namespace {

constexpr TensorId not_emitted = ~TensorId{0};

class Emitter {
 public:
  Emitter(Session& session, const std::string& name)
      : session_(session),
        draft_(session.draft),
        names_(session.flat, session.draft),
        builder_(name),
        emitted_(draft_.tensors.size(), not_emitted) {
    builder_.symbols() = std::move(draft_.symbols);
    session_.forget_values();
    builder_.reserve(draft_.nodes.size(), tensors_to_emit());
  }

  Graph emit() {
    emit_inputs();
    for (DraftNode& node : draft_.nodes) {
      emit_node(node);
      node = DraftNode();  // what is in the graph is not needed twice
    }
    emit_outputs();
    Graph& graph = builder_.graph();
    graph.warnings = std::move(session_.warnings);
    return std::move(builder_).finish();
  }

 private:
  std::size_t tensors_to_emit() const {
    std::vector<bool> is_seen(draft_.tensors.size(), false);
    std::size_t count = 0;
    const auto see = [&](DraftId id) {
      if (!is_seen[id]) ++count;
      is_seen[id] = true;
    };
    for (const DraftNode& node : draft_.nodes) {
      std::for_each(node.inputs.begin(), node.inputs.end(), see);
      std::for_each(node.outputs.begin(), node.outputs.end(), see);
    }
    return count;
  }

  void emit_inputs() {
    std::vector<bool> is_read(draft_.tensors.size(), false);
    for (const DraftNode& node : draft_.nodes) {
      for (const DraftId input : node.inputs) is_read[input] = true;
    }
    for (const DraftId id : draft_.inputs) {
      const DraftTensor& tensor = draft_.tensors[id];
      if (!is_read[id]) {
        session_.warn(
            WarningCode::part_ignored,
            fmt::format("input {} has no bearing on any layer's cost", quoted(tensor.name)));
        continue;
      }
      emitted_[id] =
          builder_.input(unique(short_name(tensor.name)), tensor.type.shape, tensor.type.dtype);
    }
  }

  void emit_node(const DraftNode& node) {
    NodeName name = name_of(node);
    std::vector<TensorId> inputs;
    inputs.reserve(node.inputs.size());
    for (const DraftId id : node.inputs) inputs.push_back(tensor(id, name.name));
    const std::span<const TensorId> all = inputs;
    const NodeId id = builder_.add_node(unique(name.name), *node.op, all.first(node.first_own),
                                        all.subspan(node.first_own));
    shorten(name.block);
    name_bytes_ += name.block.size();
    builder_.graph().nodes[id].block = std::move(name.block);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      emitted_[node.outputs[i]] = builder_.output_of(id, i);
    }
  }

  // 'conv1.weight' belongs to the layer 'conv1', whatever the node is called. Vectors do not say
  // it: exporters store equal ones once, under the first name.
  NodeName name_of(const DraftNode& node) const {
    NodeName name = names_.name_of(node.origin);
    const bool has_path = !session_.flat.nodes[node.origin].def->scopes.empty();
    constexpr std::string_view ending = ".weight";
    if (has_path && node.first_own < node.inputs.size()) {
      const DraftTensor& own = draft_.tensors[node.inputs[node.first_own]];
      const std::string_view weight = own.name;
      if (weight.ends_with(ending) && !is_vector(own.type.shape)) {
        name.name = short_name(weight.substr(0, weight.size() - ending.size()));
        const std::size_t dot = name.name.rfind('.');
        name.block = dot == std::string::npos ? std::string() : name.name.substr(0, dot);
      }
    }
    if (*node.suffix != '\0') name.name += fmt::format(".{}", node.suffix);
    return name;
  }

  TensorId tensor(DraftId id, const std::string& reader) {
    if (emitted_[id] != not_emitted) return emitted_[id];
    const DraftTensor& stored = draft_.tensors[id];
    STRATA_CHECK(draft_.is_stored(id), "a tensor is read before it is made");
    std::string name = short_name(stored.name);
    if (name.empty() || !take(name)) name = unique(fmt::format("{}.{}", reader, stored.role));
    emitted_[id] = builder_.stored(name, stored.type.shape, stored.kind, stored.type.dtype);
    return emitted_[id];
  }

  void emit_outputs() {
    const std::vector<ValueDef>& declared = session_.model.graph->outputs;
    std::unordered_set<TensorId> listed;
    for (std::size_t i = 0; i < draft_.outputs.size(); ++i) {
      // Passes may have found that all layers in between cancel.
      if (draft_.tensors[draft_.outputs[i]].kind != TensorKind::activation) {
        warn_of_idle_output(session_, session_.output_names[i]);
        continue;
      }
      const TensorId id = emitted_[draft_.outputs[i]];
      if (listed.insert(id).second) builder_.output(id);
    }
    if (listed.empty()) {
      fail(ErrorKind::unsupported, "none of its {} outputs depends on a layer", declared.size());
    }
  }

  // Names of functions are written once and repeated at every call.
  void shorten(std::string& name) const {
    if (name_bytes_ > most_name_bytes && name.size() > longest_name_beyond) {
      name = printable(name.substr(0, longest_name_beyond));
    }
  }

  // Tensors are named after their nodes, so all names together must differ.
  std::string unique(std::string name) {
    shorten(name);
    if (take(name)) return name;
    std::uint32_t& count = repeats_[name];
    std::string next;
    do {
      next = fmt::format("{}_{}", name, ++count + 1);
    } while (!take(next));
    return next;
  }

  // False when another has the name.
  bool take(const std::string& name) {
    if (!taken_.insert(name)) return false;
    name_bytes_ += name.size();
    return true;
  }

  Session& session_;
  Draft& draft_;
  NodeNames names_;
  GraphBuilder builder_;
  std::vector<TensorId> emitted_;
  NameHashes taken_;
  std::unordered_map<std::string, std::uint32_t> repeats_;
  std::size_t name_bytes_ = 0;
};

}  // namespace

void warn_of_idle_output(Session& session, std::string_view name) {
  session.warn(WarningCode::part_ignored,
               fmt::format("output {} depends on no layer", quoted(name)));
}

Graph emit(Session& session, const std::string& name) { return Emitter(session, name).emit(); }

}  // namespace strata::onnx
