// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/model_profile.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/capture/collectives.hpp"
#include "strata/capture/kernel_arithmetic.hpp"
#include "strata/capture/kernel_class.hpp"
#include "strata/capture/recorded_step.hpp"
#include "strata/capture/trace_builder.hpp"
#include "strata/graph/operator_names.hpp"

#include <algorithm>
#include <map>

namespace strata {
namespace {

/// FLOP and bytes of what a row is of.
struct RowCost {
  std::int64_t flop = 0;
  std::int64_t in_bytes = 0;
  std::int64_t out_bytes = 0;

  void add(const PassCost& cost) {
    flop = checked_add(flop, cost.flop);
    in_bytes = checked_add(in_bytes, cost.read_bytes());
    out_bytes = checked_add(out_bytes, cost.write_bytes());
  }
};

class CostSheet {
 public:
  explicit CostSheet(const ModelLayers& model) : model_(model) {}

  RowCost of(const LayerGroup& group, std::string_view pass) const {
    RowCost cost;
    switch (group.kind) {
      case GroupKind::nodes:
        for (const NodeId node : group.nodes) add_node(model_.costs[node], pass, cost);
        break;
      case GroupKind::gradient_sum:
        add_steps(cost, [&](const Step& step) {
          return step.is_gradient_sum && step.node == group.nodes.front();
        });
        break;
      case GroupKind::loss:
        add_steps(cost, [&](const Step& step) {
          const bool is_backward = step.pass != Pass::forward;
          return step.node == no_node && !step.is_gradient_sum && step.pass != Pass::update &&
                 is_backward == group.is_backward;
        });
        break;
      case GroupKind::optimizer:
        add_steps(cost, [](const Step& step) { return step.pass == Pass::update; });
        break;
    }
    return cost;
  }

 private:
  static void add_node(const NodeCost& node, std::string_view pass, RowCost& cost) {
    if (pass == "forward") cost.add(node.forward);
    if (pass == "backward" || pass == "backward_input") cost.add(node.backward_input);
    if (pass == "backward" || pass == "backward_weight") cost.add(node.backward_weight);
  }

  template <class Wanted>
  void add_steps(RowCost& cost, const Wanted& is_wanted) const {
    const Program& program = model_.program;
    for (StepId id = 0; id < program.steps.size(); ++id) {
      if (!is_wanted(program.steps[id])) continue;
      cost.flop = checked_add(cost.flop, program.steps[id].flop);
      for (const Use& use : program.uses_of(id)) {
        const std::int64_t bytes = program.values[use.value].bytes;
        if (use.reads) cost.in_bytes = checked_add(cost.in_bytes, bytes);
        if (use.writes) cost.out_bytes = checked_add(cost.out_bytes, bytes);
      }
    }
  }

  const ModelLayers& model_;
};

/// In which type the sums of products of a row are computed, if all their kernels say the same.
struct RowArithmetic {
  std::optional<TypedFlop> agreed = {};
  bool differs = false;

  void add(const KernelClass& kernel_class, std::string_view name) {
    if (kernel_class.name != "convolution" && kernel_class.name != "gemm") return;
    const std::optional<TypedFlop> one = arithmetic_in_name(name);
    // Kernels that prepare a convolution (offsets, transforms) are of its class and say nothing.
    if (!one) return;
    if (!agreed) agreed = one;
    differs = differs || *agreed != *one;
  }
};

class ModelRows {
 public:
  ModelRows(const Recording& recording, const KernelOrigins& origins,
            const std::vector<KernelClass>& classes, const ModelLayers& model,
            const LayerMatch& match)
      : recording_(recording),
        origins_(origins),
        classes_(classes),
        model_(model),
        match_(match),
        sheet_(model),
        is_split_(match.groups.size(), true) {}

  std::vector<ProfileRow> of(const std::vector<std::size_t>& kernels) {
    for (const std::size_t kernel : kernels) {
      const std::size_t group = match_.group_of_kernel[kernel];
      if (group == no_index || !match_.groups[group].is_backward) continue;
      const std::string& pass = class_of(kernel).pass;
      if (pass != "backward_input" && pass != "backward_weight") is_split_[group] = false;
    }
    for (const std::size_t kernel : kernels) add(kernel);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::optional<TypedFlop>& one = arithmetic_[i].agreed;
      if (!one || arithmetic_[i].differs || rows_[i].totals.flop == 0) continue;
      rows_[i].arithmetic = {{one->dtype, one->is_matrix, rows_[i].totals.flop}};
    }
    return std::move(rows_);
  }
  std::vector<RowKernel> row_kernels() && { return std::move(row_kernels_); }

 private:
  const KernelClass& class_of(std::size_t kernel) const {
    return classes_[recording_.kernels[kernel].name];
  }

  std::string pass_of_group(std::size_t group, std::size_t kernel) const {
    const LayerGroup& of = match_.groups[group];
    if (of.kind == GroupKind::optimizer) return "update";
    if (!of.is_backward) return "forward";
    return is_split_[group] ? class_of(kernel).pass : "backward";
  }

  void add(std::size_t kernel) {
    const std::size_t group = match_.group_of_kernel[kernel];
    const std::string pass = group == no_index
                                 ? pass_of(origins_.of_kernel[kernel], class_of(kernel))
                                 : pass_of_group(group, kernel);
    const std::string own = group == no_index ? own_layer(kernel) : std::string();
    const auto [at, is_new] = index_.emplace(std::tuple(group, own, pass), rows_.size());
    if (is_new) {
      rows_.push_back(group == no_index ? unmatched_row(kernel, own)
                                        : described(match_.groups[group], pass));
      rows_.back().pass = pass;
      arithmetic_.emplace_back();
    }
    arithmetic_[at->second].add(class_of(kernel),
                                recording_.names.text(recording_.kernels[kernel].name));
    row_kernels_.push_back({kernel, at->second});
    ProfileRow& row = rows_[at->second];
    add_implementation(row.implementation, class_of(kernel).algorithm);
    Totals one;
    one.launches = 1;
    one.steps = is_new ? 1 : 0;
    one.time_s = 1e-9 * static_cast<double>(recording_.kernels[kernel].time.length_ns());
    // What has no layer has no FLOP that are known; that is not the same as doing none.
    const bool moves_only =
        group != no_index &&
        (row.totals.flop == 0 ||
         is_zero_flop_kernel(recording_.names.text(recording_.kernels[kernel].name)));
    if (moves_only) {
      one.zero_flop_launches = 1;
      one.zero_flop_s = one.time_s;
    }
    row.totals += one;
  }

  std::string own_layer(std::size_t kernel) const {
    const KernelOrigin& origin = origins_.of_kernel[kernel];
    if (is_collective(class_of(kernel)))
      return std::string(
          collective_in_name(recording_.names.text(recording_.kernels[kernel].name)));
    return printable(origin.layer == 0
                         ? short_kernel_name(recording_.names.text(recording_.kernels[kernel].name))
                         : std::string(origins_.layers.text(origin.layer)));
  }

  ProfileRow unmatched_row(std::size_t kernel, const std::string& layer) const {
    ProfileRow row;
    row.layer = row.block = layer;
    row.op = class_of(kernel).name;
    row.layer_class = is_collective(class_of(kernel)) ? std::string(communication_class)
                                                      : name_of(LayerClass::other);
    return row;
  }

  ProfileRow described(const LayerGroup& group, const std::string& pass) const {
    ProfileRow row;
    const RowCost cost = sheet_.of(group, pass);
    row.totals.flop = cost.flop;
    row.totals.in_bytes = cost.in_bytes;
    row.totals.out_bytes = cost.out_bytes;
    row.layer_class = name_of(LayerClass::pointwise);
    switch (group.kind) {
      case GroupKind::loss: row.layer = row.block = row.op = "loss"; break;
      case GroupKind::optimizer:
        row.layer = row.block = "optimizer";
        row.op = "update";
        break;
      case GroupKind::gradient_sum:
        name_after(group, row);
        row.op = "gradient_sum";
        break;
      case GroupKind::nodes: {
        name_after(group, row);
        const Node& largest = model_.graph().nodes[largest_of(group.nodes)];
        row.op = name_of(largest.op);
        row.layer_class = name_of(class_of_op(largest));
        break;
      }
    }
    return row;
  }

  static LayerClass class_of_op(const Node& node) { return strata::class_of(node.op); }

  NodeId largest_of(const std::vector<NodeId>& nodes) const {
    return *std::max_element(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
      return model_.costs[a].forward.flop < model_.costs[b].forward.flop;
    });
  }

  /// Several nodes of one module are a row of the module's name.
  void name_after(const LayerGroup& group, ProfileRow& row) const {
    const Node& first = model_.graph().nodes[group.nodes.front()];
    row.layer = group.nodes.size() == 1 ? first.name : printable(group.module);
    const bool is_one_block = std::all_of(group.nodes.begin(), group.nodes.end(), [&](NodeId node) {
      return model_.graph().nodes[node].block == first.block;
    });
    row.block = is_one_block && !first.block.empty() ? first.block : row.layer;
  }

  const Recording& recording_;
  const KernelOrigins& origins_;
  const std::vector<KernelClass>& classes_;
  const ModelLayers& model_;
  const LayerMatch& match_;
  CostSheet sheet_;
  std::vector<bool> is_split_;
  std::map<std::tuple<std::size_t, std::string, std::string>, std::size_t> index_;
  std::vector<ProfileRow> rows_;
  std::vector<RowKernel> row_kernels_;
  std::vector<RowArithmetic> arithmetic_;  ///< one per row
};

DType most_common_dtype(const BoundGraph& bound) {
  std::map<DType, std::int64_t> elements;
  for (const BoundTensor& tensor : bound.tensors) elements[tensor.dtype] += tensor.elements;
  const auto most =
      std::max_element(elements.begin(), elements.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == elements.end() ? DType::fp32 : most->first;
}

}  // namespace

ModelProfile model_profile_of(const Recording& recording, const BoundGraph& bound,
                              TrainingOptions options) {
  if (recording.kernels.empty())
    fail(ErrorKind::input, "no kernel is recorded, so there is no profile of a device");
  const LaunchCalls calls(recording);
  const KernelOrigins origins = origins_of_kernels(recording, calls);
  const std::vector<KernelClass> classes = classes_of_names(recording);
  const ProfileKernels of_profile = kernels_of_profile(recording, origins);
  const std::vector<std::size_t>& kernels = of_profile.kernels;
  const StepWork work = step_work(recording, origins, classes, kernels);
  const bool drops = std::any_of(kernels.begin(), kernels.end(), [&](std::size_t kernel) {
    return recording.names.text(recording.kernels[kernel].name).find("dropout") !=
           std::string_view::npos;
  });
  const bool is_forward_only = !options.inference && work.backward.empty() && drops;
  options.inference = options.inference || (work.backward.empty() && !is_forward_only);
  options.unroll_recurrent = false;
  const ModelLayers model(bound, options);
  ModelProfile made;
  made.is_inference = options.inference;
  made.is_forward_only = is_forward_only;
  made.match = match_layers(recording, origins, classes, work, model);
  made.profile.evidence = Evidence::measured;
  ModelRows rows(recording, origins, classes, model, made.match);
  made.profile.rows = rows.of(kernels);
  made.kernels = std::move(rows).row_kernels();
  set_recorded_step(recording, origins, made.kernels, of_profile.is_step, made.profile);
  made.profile.subject.network = bound.graph->name;
  made.profile.subject.title = bound.graph->title.empty() ? bound.graph->name : bound.graph->title;
  made.profile.subject.dtype = name_of(most_common_dtype(bound));
  if (const RecordedDevice* device = device_of(recording.process, recording.kernels.front().device))
    made.profile.subject.machine_title = device->name;
  return made;
}

}  // namespace strata
