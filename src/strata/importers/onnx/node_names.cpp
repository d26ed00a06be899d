// SPDX-License-Identifier: Apache-2.0
#include "strata/base/text.hpp"
#include "strata/importers/onnx/emit.hpp"
#include "strata/importers/onnx/limits.hpp"

#include <algorithm>

namespace strata::onnx {
namespace {

/// "['', 'layer1', 'layer1.0', 'layer1.0.conv1', 'conv2d_3']": modules from the outermost to the
/// one that the node is in, then the function.
struct Scopes {
  std::string_view block;
  std::string_view module;
  std::string_view function;
};

Scopes scopes_of(std::string_view text) {
  Scopes scopes;
  while (true) {
    const std::size_t open = text.find('\'');
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('\'', open + 1);
    if (close == std::string_view::npos) break;
    scopes = {scopes.module, scopes.function, text.substr(open + 1, close - open - 1)};
    text.remove_prefix(close + 1);
  }
  return scopes;
}

// "/layer1/layer1.0/conv1/Conv" is in layer1.0; "inception_3a/1x1" is in inception_3a. A part that
// repeats the one before it, as PyTorch's do, stands for both.
std::string block_of_path(std::string_view name) {
  const bool is_from_torch = name.starts_with('/');
  std::vector<std::string_view> parts;
  for (const std::string_view part : split(name, '/')) {
    if (!part.empty()) parts.push_back(part);
  }
  const std::size_t tail = is_from_torch ? 2 : 1;
  if (parts.size() <= tail) return {};
  parts.resize(parts.size() - tail);
  std::string block;
  for (const std::string_view part : parts) {
    const bool repeats = !block.empty() && part.starts_with(block) && part.size() > block.size() &&
                         part[block.size()] == '.';
    if (repeats) {
      block = part;
    } else {
      if (!block.empty()) block += '.';
      block += part;
    }
  }
  return block;
}

std::string_view own_name(const NodeDef& def) {
  if (!def.name.empty()) return def.name;
  const auto named = std::find_if(def.outputs.begin(), def.outputs.end(),
                                  [](std::string_view output) { return !output.empty(); });
  return named == def.outputs.end() ? def.op : *named;
}

}  // namespace

NodeNames::NodeNames(const FlatGraph& flat, const Draft& draft) : flat_(flat) {
  std::vector<bool> is_counted(flat.nodes.size(), false);
  for (const DraftNode& node : draft.nodes) {
    if (is_counted[node.origin]) continue;
    is_counted[node.origin] = true;
    const std::string_view scopes = flat.nodes[node.origin].def->scopes;
    if (!scopes.empty()) ++nodes_per_module_[scopes_of(scopes).module];
  }
}

NodeName NodeNames::from_scopes(const NodeDef& def) const {
  const Scopes scopes = scopes_of(def.scopes);
  if (scopes.module.empty()) return {short_name(own_name(def)), {}};
  std::string name = short_name(scopes.module);
  const auto count = nodes_per_module_.find(scopes.module);
  const bool is_alone = count != nodes_per_module_.end() && count->second == 1;
  if (!is_alone && !scopes.function.empty()) name += '.' + short_name(scopes.function);
  return {name, short_name(scopes.block)};
}

NodeName NodeNames::name_of(std::uint32_t index) const {
  const FlatNode& node = flat_.nodes[index];
  if (node.frame == 0 && !node.def->scopes.empty()) return from_scopes(*node.def);
  const std::string own = short_name(own_name(*node.def));
  if (node.frame == 0) return {own, block_of_path(own)};
  // Inside functions: the call's name, then its own.
  std::string path;
  for (std::uint32_t frame = node.frame; frame != 0 && path.size() < longest_name;
       frame = flat_.frames[frame].caller) {
    const std::string call = short_name(own_name(*flat_.frames[frame].call));
    path = path.empty() ? call : call + '.' + path;
  }
  return {path + '.' + own, path};
}

}  // namespace strata::onnx
