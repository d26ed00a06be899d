// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/left_out.hpp"

#include "strata/base/text.hpp"
#include "strata/importers/onnx/passes/batch_norms.hpp"
#include "strata/importers/onnx/passes/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

namespace strata::onnx {
namespace {

std::int64_t outputs_of(const Operator& op) {
  if (const auto* linear = std::get_if<Linear>(&op)) return linear->features;
  if (const auto* convolution = std::get_if<Convolution>(&op)) return convolution->channels;
  return 0;
}

bool has_bias(const Operator& op) {
  if (const auto* linear = std::get_if<Linear>(&op)) return linear->bias;
  return std::get<Convolution>(op).bias;
}

/// 'classifier.1.weight' is the weight of module 1 of the list 'classifier'.
struct Place {
  std::string_view list;
  int index = 0;
};

std::optional<Place> place_of(std::string_view weight) {
  constexpr std::string_view ending = ".weight";
  if (!weight.ends_with(ending)) return std::nullopt;
  const std::string_view module = weight.substr(0, weight.size() - ending.size());
  const std::size_t dot = module.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  Place place{module.substr(0, dot)};
  const std::string_view digits = module.substr(dot + 1);
  const auto [end, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), place.index);
  if (problem != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return place;
}

// The module by its path in names of nodes, in PyTorch's list of scopes, or before its tensors.
bool mentions(const FlatGraph& flat, const std::string& module) {
  const std::string in_name = fmt::format("/{}/", module);
  const std::string in_scopes = fmt::format("'{}'", module);
  const std::string in_tensor = module + '.';
  const bool has_node =
      std::any_of(flat.nodes.begin(), flat.nodes.end(), [&](const FlatNode& node) {
        return has_part(node.def->name, in_name) || has_part(node.def->scopes, in_scopes);
      });
  return has_node ||
         std::any_of(flat.value_names.begin(), flat.value_names.end(),
                     [&](std::string_view name) { return name.starts_with(in_tensor); });
}

}  // namespace

namespace {

// The bias of a layer without one, if the signature names it and the file does not store it.
std::string_view left_out_bias(const Session& session, const DraftNode& node,
                               const std::unordered_set<std::string_view>& stored) {
  constexpr std::string_view ending = "weight";
  if (outputs_of(*node.op) == 0 || has_bias(*node.op)) return {};
  const std::string_view weight = session.draft.tensors[node.inputs[node.first_own]].name;
  if (!weight.ends_with(ending)) return {};
  const std::string bias =
      std::string(weight.substr(0, weight.size() - ending.size())).append("bias");
  if (!session.signature.is_learnt(bias).value_or(false) || stored.contains(bias)) return {};
  return session.signature.name_in_file(bias);
}

std::string left_out_text(std::size_t layers, std::int64_t numbers) {
  return fmt::format("the export left out the {} of {} layer{}, {} parameters that were zero",
                     layers == 1 ? "bias" : "biases", layers, layers == 1 ? "" : "s", numbers);
}

}  // namespace

void restore_left_out_biases(Session& session) {
  Draft& draft = session.draft;
  if (session.signature.is_empty()) return;
  std::unordered_set<std::string_view> stored;
  for (const TensorDef& tensor : session.model.graph->initializers) stored.insert(tensor.name);
  // A layer that is applied twice has one bias.
  std::unordered_map<std::string_view, DraftId> biases;
  Rewriter rewriter(draft);
  std::size_t layers = 0;
  std::int64_t numbers = 0;
  for (NodeId id = 0; id < draft.nodes.size(); ++id) {
    const DraftNode& node = draft.nodes[id];
    const std::string_view name = left_out_bias(session, node, stored);
    if (name.empty()) continue;
    const std::int64_t outputs = outputs_of(*node.op);
    const auto [bias, is_new] = biases.try_emplace(name, no_tensor);
    if (is_new) {
      bias->second = draft.add_tensor({.type = {{outputs}, draft.type(node.outputs[0]).dtype},
                                       .name = name,
                                       .role = "bias",
                                       .kind = TensorKind::parameter});
      ++layers;
      numbers += outputs;
    }
    const std::array own = {node.inputs[node.first_own], bias->second};
    rewriter.place_before(id);
    rewriter.replace(node.outputs[0],
                     rewriter.add(with_bias(*node.op), std::span(node.inputs).first(node.first_own),
                                  own, node.origin, node.suffix));
  }
  if (!rewriter.has_changes()) return;
  rewriter.apply();
  session.warn(WarningCode::value_assumed,
               fmt::format("{}; put back, as the file names {}", left_out_text(layers, numbers),
                           layers == 1 ? "it" : "them"));
}

// A convolution whose normalisation was folded had no bias of its own. Where there is a signature,
// it says which layers had one: the exporter gives all of them zeros first.
void warn_of_left_out_biases(Session& session) {
  const Draft& draft = session.draft;
  if (!session.signature.is_empty()) return;
  const std::vector<NodeId> folded = named_folded(session);
  const std::unordered_set<NodeId> are_folded(folded.begin(), folded.end());
  std::size_t layers = 0;
  std::int64_t numbers = 0;
  for (NodeId id = 0; id < draft.nodes.size(); ++id) {
    const DraftNode& node = draft.nodes[id];
    const NodeDef& def = *session.flat.nodes[node.origin].def;
    if (!def.rewrite.starts_with("RemoveOptionalBias") || are_folded.contains(id)) continue;
    const std::int64_t outputs = outputs_of(*node.op);
    if (outputs == 0) continue;
    ++layers;
    numbers += outputs;
  }
  if (layers == 0) return;
  session.warn(
      WarningCode::part_ignored,
      left_out_text(layers, numbers) + " (RemoveOptionalBias in the file); training has them");
}

bool lacks_module_before_head(const Session& session) {
  const Draft& draft = session.draft;
  const auto head = std::find_if(draft.nodes.rbegin(), draft.nodes.rend(),
                                 [](const DraftNode& node) { return outputs_of(*node.op) > 0; });
  if (head == draft.nodes.rend()) return false;
  const std::optional<Place> place = place_of(draft.tensors[head->inputs[head->first_own]].name);
  if (!place || place->index < 1) return false;
  const auto module = [&](int index) { return fmt::format("{}.{}", place->list, index); };
  const NodeDef& def = *session.flat.nodes[head->origin].def;
  const bool has_paths = has_part(def.name, fmt::format("/{}/", module(place->index))) ||
                         has_part(def.scopes, fmt::format("'{}'", module(place->index)));
  return has_paths && !mentions(session.flat, module(place->index - 1));
}

}  // namespace strata::onnx
