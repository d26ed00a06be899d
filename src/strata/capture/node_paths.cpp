// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/node_paths.hpp"

#include "strata/base/text.hpp"

#include <unordered_map>

namespace strata {
namespace {

std::string_view parent_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == path.npos ? std::string_view() : path.substr(0, dot);
}

/// "relu" of "relu_2": the second call of a module.
std::string_view without_number(std::string_view path) {
  const std::size_t last = path.find_last_not_of("0123456789");
  const bool has_number = last != path.npos && last > 0 && last + 1 < path.size();
  return has_number && path[last] == '_' ? path.substr(0, last) : path;
}

void add_path(std::vector<NodePath>& paths, std::string_view path, FoundBy by) {
  if (path.empty()) return;
  paths.push_back({std::string(path), by});
  const std::string_view plain = without_number(path);
  if (plain != path) paths.push_back({std::string(plain), by});
}

/// Names of modules, by what nodes call them.
using RecordedNames = std::unordered_map<std::string_view, const std::string*>;

enum class Root : std::uint8_t { same, of_node, of_recording };

std::vector<std::optional<FoundModule>> found_modules(const Graph& graph,
                                                      const std::vector<std::string>& recorded,
                                                      Root root) {
  RecordedNames names;
  for (const std::string& name : recorded)
    names.emplace(root == Root::of_recording ? without_root(name) : name, &name);
  std::vector<std::optional<FoundModule>> modules(graph.nodes.size());
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    for (const NodePath& path : paths_of_node(graph, node)) {
      const std::string_view key = root == Root::of_node ? without_root(path.path) : path.path;
      const auto found = names.find(key);
      if (key.empty() || found == names.end()) continue;
      modules[node] = FoundModule{*found->second, path.by};
      break;
    }
  }
  return modules;
}

/// Whether all that have a part before a dot have the same one.
template <class Names, class NameOf>
bool have_one_root(const Names& names, const NameOf& name_of) {
  std::string root;
  for (const auto& one : names) {
    const std::string name = name_of(one);
    const std::size_t dot = name.find('.');
    if (dot == name.npos) continue;
    if (root.empty()) root = name.substr(0, dot);
    if (name.compare(0, dot, root) != 0) return false;
  }
  return !root.empty();
}

bool is_found_itself(const std::vector<std::optional<FoundModule>>& modules) {
  for (const std::optional<FoundModule>& module : modules) {
    if (module && module->by != FoundBy::ancestor) return true;
  }
  return false;
}

}  // namespace

std::string dotted_path(std::string_view name) {
  std::string before;
  std::string_view last;
  for (const std::string_view part : split(name, '/')) {
    if (part.empty()) continue;
    const bool repeats = !last.empty() && part.size() > last.size() && part.starts_with(last) &&
                         part[last.size()] == '.';
    if (!repeats && !last.empty()) before.append(last).push_back('.');
    last = part;
  }
  return before.append(last);
}

std::string_view without_root(std::string_view path) {
  const std::size_t dot = path.find('.');
  return dot == path.npos ? std::string_view() : path.substr(dot + 1);
}

std::vector<NodePath> paths_of_node(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  std::vector<NodePath> paths;
  for (const TensorId input : node.inputs) {
    const Tensor& tensor = graph.tensor(input);
    const bool is_stored =
        tensor.kind == TensorKind::parameter || tensor.kind == TensorKind::buffer;
    if (is_stored && !parent_of(tensor.name).empty())
      paths.push_back({std::string(parent_of(tensor.name)), FoundBy::parameter});
  }
  const std::string own = dotted_path(node.name);
  add_path(paths, own, FoundBy::name);
  // PyTorch's exporters put the operator behind the module: that is still the module itself.
  const bool has_operator = node.name.starts_with('/');
  bool is_itself = has_operator;
  for (std::string_view path = parent_of(own); !path.empty(); path = parent_of(path)) {
    add_path(paths, path, is_itself ? FoundBy::name : FoundBy::ancestor);
    is_itself = false;
  }
  return paths;
}

std::vector<std::optional<FoundModule>> modules_of_nodes(const Graph& graph,
                                                         const std::vector<std::string>& recorded) {
  const bool nodes_have_root =
      have_one_root(graph.nodes, [](const Node& node) { return dotted_path(node.name); });
  const bool recording_has_root =
      have_one_root(recorded, [](const std::string& name) { return name; });
  for (const Root root : {Root::same, Root::of_node, Root::of_recording}) {
    // Leaving out parts that differ would make names equal that are not.
    if (root == Root::of_node && !nodes_have_root) continue;
    if (root == Root::of_recording && !recording_has_root) continue;
    std::vector<std::optional<FoundModule>> modules = found_modules(graph, recorded, root);
    if (is_found_itself(modules)) return modules;
  }
  // Nothing but parts of the network were marked: "layer1", "encoder".
  return found_modules(graph, recorded, Root::same);
}

}  // namespace strata
