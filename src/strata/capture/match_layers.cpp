// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/match_layers.hpp"

#include "strata/capture/match_between_calls.hpp"
#include "strata/capture/match_by_operators.hpp"
#include "strata/capture/node_paths.hpp"
#include "strata/capture/order_match.hpp"
#include "strata/capture/trace_builder.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace strata {
namespace {

/// What the network has of one module.
struct ModuleNodes {
  std::vector<NodeId> nodes;   ///< in the order of the network
  std::vector<NodeId> inside;  ///< those of them that have the module around them, not its name
  FoundBy by = FoundBy::ancestor;
};

class Matcher {
 public:
  Matcher(const Recording& recording, const KernelOrigins& origins,
          const std::vector<KernelClass>& classes, const StepWork& work, const ModelLayers& model)
      : recording_(recording), origins_(origins), classes_(classes), work_(work), model_(model) {
    match_.group_of_kernel.assign(recording.kernels.size(), no_index);
  }

  LayerMatch matched() {
    forward_.assign(work_.forward.size(), {});
    backward_.assign(work_.backward.size(), {});
    find_modules();
    match_forward_by_name();
    // Where few of many names are equal, that is chance, unless the names are those of weights.
    const std::int64_t by_name = match_.by_parameter + match_.by_name;
    if (by_name == 0 && match_by_operators()) {
      match_updates();
      count();
      return std::move(match_);
    }
    if (2 * by_name < named_calls() || modules_.empty()) {
      forget_names();
      match_forward_by_order();
      if (match_.by_order == 0) keep_names_of_weights();
    } else if (by_name < named_calls()) {
      match_forward_by_order();
    }
    match_backward();
    for (std::size_t i = 0; i < work_.forward.size(); ++i)
      assign_call(work_.forward[i], forward_[i], false);
    for (std::size_t i = 0; i < work_.backward.size(); ++i)
      assign_call(work_.backward[i], backward_[i], true);
    if (!forward_names_.empty() || !backward_names_.empty()) match_gaps();
    match_updates();
    count();
    return std::move(match_);
  }

 private:
  void match_updates() {
    const bool has_updates =
        std::any_of(model_.program.steps.begin(), model_.program.steps.end(),
                    [](const Step& step) { return step.pass == Pass::update; });
    if (!has_updates) return;
    for (const std::size_t kernel : work_.updates)
      assign_group(kernel,
                   {.kind = GroupKind::optimizer, .is_backward = false, .nodes = {}, .module = ""});
  }

  /// By operators of the framework, else by kernels alone where nothing else is recorded.
  bool match_by_operators() {
    const OperatorMatchInput input{recording_, origins_, classes_, work_, model_, nodes_in_order()};
    OperatorLayers found = layers_by_operators(input);
    match_.operator_reason = found.reason;
    if (found.kernels.empty() && work_.backward.empty() && named_calls() == 0) {
      found = layers_by_kernels(input);
      if (!found.reason.empty()) match_.operator_reason = found.reason;
    }
    if (found.kernels.empty()) return false;
    match_.operators = found.operators;
    match_.by_operator = found.by_operator;
    match_.has_operator_sizes = found.has_sizes;
    match_.by_kernel = found.by_kernel;
    for (MatchedKernel& one : found.kernels) assign_group(one.kernel, std::move(one.group));
    return true;
  }

  std::string layer_text(NameId id) const { return std::string(origins_.layers.text(id)); }

  void find_modules() {
    std::set<NameId> names;
    for (const std::vector<WorkCall>* calls : {&work_.forward, &work_.backward}) {
      for (const WorkCall& call : *calls) {
        if (call.layer != 0) names.insert(call.layer);
        if (call.around != 0) names.insert(call.around);
      }
    }
    std::vector<std::string> recorded;
    for (const NameId name : names) recorded.push_back(layer_text(name));
    const std::vector<std::optional<FoundModule>> found =
        modules_of_nodes(model_.graph(), recorded);
    for (NodeId node = 0; node < found.size(); ++node) {
      if (!found[node] || !model_.works[node]) continue;
      ModuleNodes& module = modules_[found[node]->path];
      module.nodes.push_back(node);
      if (found[node]->by == FoundBy::ancestor) module.inside.push_back(node);
      module.by = std::min(module.by, found[node]->by);
    }
  }

  std::unordered_map<NameId, std::vector<std::size_t>> by_layer(
      const std::vector<WorkCall>& calls) const {
    std::unordered_map<NameId, std::vector<std::size_t>> of_layer;
    for (std::size_t i = 0; i < calls.size(); ++i)
      if (!calls[i].is_loose()) of_layer[calls[i].layer].push_back(i);
    return of_layer;
  }

  void match_forward_by_name() {
    for (const auto& [layer, calls] : by_layer(work_.forward)) {
      const auto module = modules_.find(layer_text(layer));
      if (module == modules_.end()) continue;
      if (!agrees(calls, module->second.nodes)) continue;
      const std::vector<NodeId> nodes = without_strangers(calls, module->second);
      const bool is_even = nodes.size() % calls.size() == 0;
      const std::size_t each = is_even ? nodes.size() / calls.size() : nodes.size();
      for (std::size_t i = 0; i < calls.size(); ++i) {
        // A module that is called again has its nodes again, in order.
        const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(is_even ? i * each : 0);
        forward_[calls[i]].assign(first, first + static_cast<std::ptrdiff_t>(each));
        ++(module->second.by == FoundBy::parameter ? match_.by_parameter : match_.by_name);
      }
    }
  }

  /// Nodes that only stand in a module which has nodes of its own name are none of it where its
  /// kernels do something else: "conv1.bn" may be what another module of the recording does.
  std::vector<NodeId> without_strangers(const std::vector<std::size_t>& calls,
                                        const ModuleNodes& module) const {
    std::vector<NodeId> nodes = module.nodes;
    if (module.inside.size() == nodes.size()) return nodes;
    std::set<std::string> classes;
    for (const std::size_t call : calls) classes.merge(classes_of(work_.forward[call]));
    std::erase_if(nodes, [&](NodeId node) {
      return std::find(module.inside.begin(), module.inside.end(), node) != module.inside.end() &&
             !can_be(model_.graph().nodes[node].op, classes);
    });
    return nodes;
  }

  void forget_names() {
    forward_.assign(work_.forward.size(), {});
    match_.by_parameter = match_.by_name = 0;
  }

  void keep_names_of_weights() {
    std::erase_if(modules_,
                  [](const auto& module) { return module.second.by != FoundBy::parameter; });
    match_forward_by_name();
  }

  std::set<std::string> classes_of(const WorkCall& call) const {
    std::set<std::string> classes;
    for (const std::size_t kernel : call.kernels)
      classes.insert(classes_[recording_.kernels[kernel].name].name);
    return classes;
  }

  /// A name that is equal by chance has kernels that do something else.
  bool agrees(const std::vector<std::size_t>& calls, const std::vector<NodeId>& nodes) const {
    return std::all_of(calls.begin(), calls.end(), [&](std::size_t call) {
      const std::set<std::string> classes = classes_of(work_.forward[call]);
      const bool is_known = std::any_of(classes.begin(), classes.end(), [](const std::string& one) {
        return one != "other" && one != "copy";
      });
      // Kernels of an unknown class contradict nothing.
      return !is_known || std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
        return can_be(model_.graph().nodes[node].op, classes);
      });
    });
  }

  std::int64_t named_calls() const {
    return std::count_if(work_.forward.begin(), work_.forward.end(),
                         [](const WorkCall& call) { return !call.is_loose(); });
  }

  /// Those that their names did not find.
  void match_forward_by_order() {
    const std::vector<NodeId> ids = nodes_in_order();
    std::vector<std::size_t> place(model_.graph().nodes.size(), no_index);
    std::vector<const Node*> nodes;
    for (const NodeId id : ids) {
      place[id] = nodes.size();
      nodes.push_back(&model_.graph().nodes[id]);
    }
    std::vector<OrderedWork> ordered;
    std::vector<std::vector<std::size_t>> entries;  // of work_.forward
    for (std::size_t i = 0; i < work_.forward.size(); ++i) {
      const WorkCall& call = work_.forward[i];
      const bool goes_on = call.is_loose() && !ordered.empty() && !ordered.back().is_call;
      if (!goes_on) {
        ordered.push_back(
            {.name = layer_text(call.layer), .classes = {}, .is_call = !call.is_loose()});
        entries.emplace_back();
      }
      ordered.back().classes.push_back(classes_of(call));
      for (const NodeId node : forward_[i]) ordered.back().known.push_back(place[node]);
      entries.back().push_back(i);
    }
    const OrderMatch match = match_by_order(ordered, nodes);
    match_.reason = match.refusal;
    if (!match.refusal.empty()) return;
    if (match_.by_parameter + match_.by_name == 0) modules_.clear();
    for (std::size_t i = 0; i < ordered.size(); ++i) {
      const std::vector<std::size_t>& found = match.nodes[i];
      if (!ordered[i].known.empty()) continue;
      if (ordered[i].is_call) {
        ++match_.by_order;
        forward_[entries[i].front()] = {ids[found.front()]};
      } else if (found.size() == entries[i].size() || found.size() == 1) {
        for (std::size_t k = 0; k < entries[i].size(); ++k) {
          forward_[entries[i][k]] = {ids[found[found.size() == 1 ? 0 : k]]};
        }
      }
    }
  }

  /// As the program runs them.
  std::vector<NodeId> nodes_in_order() const {
    std::vector<NodeId> ids;
    std::vector<bool> is_listed(model_.graph().nodes.size(), false);
    for (const Step& step : model_.program.steps) {
      if (step.pass != Pass::forward || step.node == no_node || is_listed[step.node]) continue;
      is_listed[step.node] = true;
      if (model_.works[step.node]) ids.push_back(step.node);
    }
    return ids;
  }

  void match_backward() {
    const auto forward = by_layer(work_.forward);
    for (const auto& [layer, calls] : by_layer(work_.backward)) {
      const auto made = forward.find(layer);
      if (made == forward.end()) {
        const auto module = modules_.find(layer_text(layer));
        if (module == modules_.end()) continue;
        for (const std::size_t call : calls) backward_[call] = module->second.nodes;
        continue;
      }
      // The calls of a module run backward in reverse, each with as many functions.
      const std::size_t times = made->second.size();
      const bool is_even = calls.size() % times == 0;
      const std::size_t each = is_even ? calls.size() / times : 1;
      for (std::size_t i = 0; i < calls.size(); ++i) {
        std::vector<NodeId>& nodes = backward_[calls[i]];
        if (is_even) {
          nodes = forward_[made->second[times - 1 - i / each]];
          continue;
        }
        for (const std::size_t call : made->second)
          nodes.insert(nodes.end(), forward_[call].begin(), forward_[call].end());
        std::sort(nodes.begin(), nodes.end());
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      }
    }
  }

  void assign_call(const WorkCall& call, const std::vector<NodeId>& nodes, bool is_backward) {
    if (!call.is_loose()) ++(is_backward ? backward_names_ : forward_names_)[call.layer];
    if (nodes.empty()) return;
    for (const std::size_t kernel : call.kernels)
      assign_group(kernel, {.kind = GroupKind::nodes,
                            .is_backward = is_backward,
                            .nodes = nodes,
                            .module = layer_text(call.layer)});
  }

  void match_gaps() {
    const MatchInput input{recording_, classes_, model_, work_, forward_, backward_};
    for (MatchedKernel& found : kernels_between_calls(input))
      assign_group(found.kernel, std::move(found.group));
    match_in_enclosing();
  }

  /// What is left outside of calls belongs to the module around it, with all the nodes there that
  /// have no kernel yet.
  void match_in_enclosing() {
    std::set<NodeId> done;
    for (const LayerGroup& group : match_.groups)
      if (!group.is_backward) done.insert(group.nodes.begin(), group.nodes.end());
    for (const WorkCall& call : work_.forward) {
      if (call.around == 0 || match_.group_of_kernel[call.kernels.front()] != no_index) continue;
      const auto module = modules_.find(layer_text(call.around));
      if (module == modules_.end()) continue;
      LayerGroup group{.module = module->first};
      for (const NodeId node : module->second.nodes)
        if (!done.contains(node)) group.nodes.push_back(node);
      if (!group.nodes.empty()) assign_group(call.kernels.front(), group);
    }
  }

  void assign_group(std::size_t kernel, LayerGroup group) {
    const auto key = std::tuple(group.kind, group.is_backward, group.nodes);
    const auto [at, is_new] = group_index_.emplace(key, match_.groups.size());
    if (is_new) match_.groups.push_back(std::move(group));
    match_.group_of_kernel[kernel] = at->second;
  }

  void count() {
    std::map<std::pair<NameId, std::string>, UnmatchedWork> unmatched;
    const auto look_at = [&](std::size_t kernel, NameId layer, std::string_view pass,
                             bool is_loose) {
      const std::int64_t length = recording_.kernels[kernel].time.length_ns();
      ++match_.kernels;
      match_.time_ns += length;
      if (match_.group_of_kernel[kernel] != no_index) {
        ++match_.matched_kernels;
        match_.matched_ns += length;
        match_.between_calls += is_loose ? 1 : 0;
        return;
      }
      UnmatchedWork& work = unmatched[{layer, std::string(pass)}];
      work.layer = layer_text(layer);
      work.pass = pass;
      ++work.kernels;
      work.time_ns += length;
    };
    for (const WorkCall& call : work_.forward) {
      match_.calls += call.is_loose() ? 0 : 1;
      for (const std::size_t kernel : call.kernels)
        look_at(kernel, call.is_loose() ? call.around : call.layer, "forward", call.is_loose());
    }
    for (const WorkCall& call : work_.backward)
      for (const std::size_t kernel : call.kernels)
        look_at(kernel, call.is_loose() ? call.around : call.layer, "backward", call.is_loose());
    for (const std::size_t kernel : work_.updates)
      look_at(kernel, origins_.of_kernel[kernel].layer, "update", false);
    for (const std::size_t kernel : work_.collectives) {
      ++match_.collectives;
      match_.collectives_ns += recording_.kernels[kernel].time.length_ns();
    }
    for (auto& [key, work] : unmatched) match_.unmatched.push_back(std::move(work));
    std::stable_sort(
        match_.unmatched.begin(), match_.unmatched.end(),
        [](const UnmatchedWork& a, const UnmatchedWork& b) { return a.time_ns > b.time_ns; });
    count_nodes();
  }

  void count_nodes() {
    std::set<NodeId> done;
    for (const LayerGroup& group : match_.groups)
      done.insert(group.nodes.begin(), group.nodes.end());
    for (NodeId node = 0; node < model_.works.size(); ++node) {
      if (!model_.works[node]) continue;
      ++match_.nodes;
      if (!done.contains(node))
        match_.nodes_without_kernel.push_back(model_.graph().nodes[node].name);
    }
  }

  const Recording& recording_;
  const KernelOrigins& origins_;
  const std::vector<KernelClass>& classes_;
  const StepWork& work_;
  const ModelLayers& model_;
  LayerMatch match_;
  std::map<std::string, ModuleNodes> modules_;
  std::vector<std::vector<NodeId>> forward_;   ///< per entry of work_.forward
  std::vector<std::vector<NodeId>> backward_;  ///< per entry of work_.backward
  std::map<NameId, int> forward_names_;
  std::map<NameId, int> backward_names_;
  std::map<std::tuple<GroupKind, bool, std::vector<NodeId>>, std::size_t> group_index_;
};

}  // namespace

ModelLayers::ModelLayers(const BoundGraph& bound_graph, const TrainingOptions& options)
    : bound(bound_graph),
      program(make_program(bound_graph, options)),
      costs(costs_of(bound_graph, options.inference ? Mode::inference : Mode::training)) {
  for (const NodeCost& cost : costs) works.push_back(!cost.forward.only_renames());
}

LayerMatch match_layers(const Recording& recording, const KernelOrigins& origins,
                        const std::vector<KernelClass>& classes, const StepWork& work,
                        const ModelLayers& model) {
  return Matcher(recording, origins, classes, work, model).matched();
}

}  // namespace strata
