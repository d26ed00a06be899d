// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/operations.hpp"

#include "strata/base/error.hpp"
#include "strata/framework/channels_last.hpp"
#include "strata/framework/fusion.hpp"
#include "strata/framework/kernel_dims.hpp"
#include "strata/framework/memory_layouts.hpp"
#include "strata/framework/recorded_operations.hpp"
#include "strata/framework/tensor_types.hpp"
#include "strata/graph/experts.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/operations/multi_tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace strata {
namespace {

OperationClass known_class(std::string_view name) {
  const auto found = operation_class_named(name);
  STRATA_CHECK(found.has_value(), "a class of kernels that is in the table");
  return *found;
}

/// A file may show that attention is written out; a network of torchvision has
/// nn.MultiheadAttention.
AttentionKernels attention_of(const FrameworkOptions& options, const Graph& graph,
                              const Node& node) {
  if (options.attention != AttentionKernels::automatic) return options.attention;
  const auto* attention = std::get_if<Attention>(&node.op);
  if (attention != nullptr && attention->written_out) return AttentionKernels::eager;
  return graph.source.find("torchvision") != std::string::npos ? AttentionKernels::module
                                                               : AttentionKernels::fused;
}

/// The name of a framework's rule for a way to compute attention.
std::string_view rule_name_of(AttentionKernels kernels) {
  switch (kernels) {
    case AttentionKernels::eager: return "attention_eager";
    case AttentionKernels::module: return "attention_module";
    default: return "attention";
  }
}

/// What a file shows or a library is known for is a wish; a framework that has another way takes
/// that. What a person asks for is refused where there is none.
void check_attention(const Framework& framework, AttentionKernels asked, const Graph& graph) {
  constexpr std::array ways = {AttentionKernels::fused, AttentionKernels::eager,
                               AttentionKernels::module};
  const auto has = [&](AttentionKernels way) {
    return framework.find(rule_name_of(way)) != nullptr;
  };
  const bool has_attention = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) {
    return std::holds_alternative<Attention>(n.op);
  });
  if (asked == AttentionKernels::automatic || !has_attention || has(asked)) return;
  std::vector<std::string_view> known;
  for (const AttentionKernels way : ways) {
    if (has(way)) known.push_back(name_of(way));
  }
  fail(ErrorKind::unsupported, "--attention {}: {} has {}", name_of(asked), framework.name,
       fmt::join(known, " and "));
}

/// Whether a product has a matrix as its second operand: a linear layer by another name.
bool is_linear(const Graph& graph, const Node& node) {
  return std::holds_alternative<MatMul>(node.op) && node.inputs.size() == 2 &&
         graph.tensors[node.inputs[1]].type.shape.size() == 2;
}

/// `relayouts`: kernels want the weights of windows in another order.
bool holds(RuleCondition condition, const BoundNode& node, DType computed_in, bool relayouts) {
  switch (condition) {
    case RuleCondition::always: return true;
    case RuleCondition::bias: return node.has_bias();
    case RuleCondition::no_bias: return !node.has_bias();
    case RuleCondition::broadcast: return node.is_broadcast();
    case RuleCondition::no_broadcast: return !node.is_broadcast();
    case RuleCondition::broadcast_rows: return node.is_broadcast_along_rows();
    case RuleCondition::broadcast_other:
      return node.is_broadcast() && !node.is_broadcast_along_rows();
    case RuleCondition::whole: return node.smallest_input() >= node.output().elements;
    case RuleCondition::spread:
      return node.smallest_input() > 1 && node.smallest_input() < node.output().elements;
    case RuleCondition::number: return node.smallest_input() <= 1 && node.output().elements > 1;
    case RuleCondition::in_16_bits: return bytes_per_element(computed_in) == 2;
    case RuleCondition::in_32_bits: return bytes_per_element(computed_in) == 4;
    case RuleCondition::relayout: return relayouts && node.has_window();
  }
  return true;
}

/// Of each node, how many recurrent layers of its size feed one another: the stack that it is in.
std::vector<std::int64_t> recurrent_stacks(const BoundGraph& bound) {
  const Graph& graph = *bound.graph;
  std::vector<std::int64_t> size(graph.nodes.size(), 1);
  std::vector<std::uint32_t> readers(graph.tensors.size(), 0);
  std::vector<NodeId> maker(graph.tensors.size(), no_node);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const TensorId input : graph.nodes[id].inputs) ++readers[input];
    for (const TensorId output : graph.nodes[id].outputs) maker[output] = id;
  }
  std::vector<NodeId> first(graph.nodes.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    first[id] = id;
    const Node& node = graph.nodes[id];
    const auto* layer = std::get_if<Recurrent>(&node.op);
    if (layer == nullptr || node.inputs.empty()) continue;
    const NodeId before = maker[node.inputs[0]];
    if (before == no_node || readers[node.inputs[0]] != 1 || graph.nodes[before].op != node.op)
      continue;
    first[id] = first[before];
    ++size[first[id]];
  }
  for (NodeId id = 0; id < graph.nodes.size(); ++id) size[id] = size[first[id]];
  return size;
}

/// Writes the operations of one program, step by step.
class OperationWriter {
 public:
  OperationWriter(const Program& program, const Framework& framework,
                  const FrameworkOptions& options)
      : program_(program),
        bound_(*program.bound),
        framework_(framework),
        options_(options),
        types_(tensor_types(bound_, framework, options.autocast)),
        layouts_(memory_layouts(bound_, framework)),
        stacks_(recurrent_stacks(bound_)),
        experts_(options.experts == ExpertKernels::grouped ? find_experts(*bound_.graph)
                                                           : ExpertList{}),
        channels_last_(options.channels_last ||
                       (framework.fusion && framework.fusion->lays_channels_last &&
                        prefers_channels_last(bound_))),
        has_input_step_(bound_.graph->nodes.size(), false),
        has_weight_step_(bound_.graph->nodes.size(), false) {
    for (const Step& step : program.steps) {
      is_inference_ &= step.pass == Pass::forward;
      if (step.node == no_node) continue;
      if (step.pass == Pass::backward_input) has_input_step_[step.node] = true;
      if (step.pass == Pass::backward_weight) has_weight_step_[step.node] = true;
    }
    for (const BoundTensor& tensor : bound_.tensors) has_tf32_ |= tensor.dtype == DType::tf32;
  }

  void write(Optimizer optimizer) {
    for (StepId id = 0; id < program_.steps.size(); ++id) {
      const Step& step = program_.steps[id];
      if (step.pass == Pass::update) continue;
      if (step.is_gradient_sum)
        write_gradient_sum(id);
      else if (step.node == no_node)
        write_loss(id);
      else
        write_node(id);
    }
    write_update(optimizer);
  }
  FrameworkOperations take() && { return std::move(result_); }

 private:
  void begin_call(StepId step, bool is_backward, const OperatorRule* rule) {
    result_.calls.push_back({.first = static_cast<std::uint32_t>(result_.operations.size()),
                             .step = step,
                             .is_backward = is_backward,
                             .rule = rule});
  }
  void add(OperationClass kernel_class, DType precision, StepId step, const KernelDims& dims,
           double share = 1) {
    if (dims[0] <= 0) return;
    result_.operations.push_back({kernel_class, precision, step, dims, share});
  }
  void add_elements(OperationClass kernel_class, DType type, StepId step, double elements) {
    add(kernel_class, type, step, {elements});
  }

  const OperatorRule* known_rule(const Node& node) {
    const OperatorRule* rule = rule_of(framework_, options_, *bound_.graph, node);
    const std::string_view name = name_of(node.op);
    if (rule == nullptr &&
        std::find(result_.unknown.begin(), result_.unknown.end(), name) == result_.unknown.end())
      result_.unknown.emplace_back(name);
    return rule;
  }

  /// In which type a node multiplies: that of its output, TF32 where it is allowed.
  DType precision_of(const Node& node) const {
    const DType type = types_[node.outputs.front()];
    return type == DType::fp32 && has_tf32_ ? DType::tf32 : type;
  }

  void write_rules(const std::vector<LaunchRule>& rules, StepId id, const BoundNode& node) {
    // A cast of the weights writes them in the order that is wanted.
    const bool casts_weights =
        options_.autocast.has_value() && program_.steps[id].pass == Pass::forward;
    for (const LaunchRule& rule : rules) {
      const DType type = precision_of(node.node());
      if (!holds(rule.when, node, type, channels_last_ && !casts_weights)) continue;
      const auto& inputs = node.node().inputs;
      const bool channels_last =
          channels_last_ || (!inputs.empty() && layouts_.is_channels_last[inputs.front()]);
      const OperationClass kernel_class = class_for(rule, node, channels_last);
      add(kernel_class, type, id, dims_for(kernel_class, rule.of, node), rule.share);
    }
  }

  /// Layers of a stack each have an equal share of what the whole takes.
  void share_stack(std::size_t first_operation, NodeId node) {
    const std::int64_t layers = stacks_[node];
    for (std::size_t i = first_operation; i < result_.operations.size(); ++i) {
      FrameworkOperation& operation = result_.operations[i];
      if (layers == 1 || form_of(operation.kernel_class) != KernelForm::recurrent) continue;
      operation.dims[4] *= static_cast<double>(layers);
      operation.share /= static_cast<double>(layers);
    }
  }

  /// The experts of a layer get equal numbers of words, so that one call with so many times the
  /// products, rows or elements is all of theirs; each has an equal share of it.
  void share_group(std::size_t first_operation, NodeId node) {
    if (experts_.layers.empty() || !experts_.places[node].is_expert()) return;
    if (std::holds_alternative<Gather>(bound_.graph->nodes[node].op)) return;  // of its own words
    const auto layer = static_cast<std::size_t>(experts_.places[node].layer);
    const auto group = static_cast<double>(experts_.layers[layer].count / options_.expert_ranks);
    for (std::size_t i = first_operation; i < result_.operations.size(); ++i) {
      FrameworkOperation& operation = result_.operations[i];
      operation.dims[0] *= group;
      operation.share /= group;
    }
    result_.calls.back().share = 1 / group;
  }

  void write_node(StepId id) {
    const Step& step = program_.steps[id];
    const BoundNode node{bound_, step.node};
    if (node.node().inputs.empty() || node.node().outputs.empty()) return;
    const OperatorRule* rule = known_rule(node.node());
    if (rule == nullptr) return;
    const bool is_backward = step.pass != Pass::forward;
    const std::size_t before = result_.operations.size();
    begin_call(id, is_backward, rule);
    if (is_backward) {
      write_backward(id, node, *rule);
    } else {
      write_casts(id, node, 0, node.node().inputs.size());
      write_copies(id, node, 0, node.node().first_own);
      write_rules(is_inference_ && rule->inference ? *rule->inference : rule->forward, id, node);
    }
    if (rule->stacks) share_stack(before, step.node);
    share_group(before, step.node);
    // A view launches nothing; its dispatch takes time where the rules say so.
    if (result_.operations.size() == before && rule->host.empty()) result_.calls.pop_back();
  }

  /// In one step, or in two: for the gradients of inputs, and of what the node owns. Either of the
  /// two may be missing, and the other one then has what belongs to neither.
  void write_backward(StepId id, const BoundNode& node, const OperatorRule& rule) {
    const Pass pass = program_.steps[id].pass;
    const std::size_t first_own = node.node().first_own, inputs = node.node().inputs.size();
    const bool is_first = pass != Pass::backward_weight || !has_input_step_[node.id];
    const bool is_last = pass != Pass::backward_input || !has_weight_step_[node.id];
    if (is_first) {
      write_rules(rule.backward, id, node);
      if (node.input().wants_gradient) write_rules(rule.backward_input, id, node);
    }
    if (is_last && learns_what_it_owns(node)) write_rules(rule.backward_weight, id, node);
    write_casts(id, node, is_first ? 0 : first_own, is_last ? inputs : first_own);
    if (is_first) write_copies(id, node, 0, first_own);
  }

  /// False where all that the node owns is fixed: the kernel of a blur has no gradient.
  static bool learns_what_it_owns(const BoundNode& node) {
    const std::size_t first_own = node.node().first_own, inputs = node.node().inputs.size();
    bool learns = first_own == inputs;
    for (std::size_t i = first_own; i < inputs; ++i) learns |= node.input(i).wants_gradient;
    return learns;
  }

  /// Of inputs [first, end) that lie in another order than the operator takes; backward of their
  /// gradients, which go the same way back.
  void write_copies(StepId id, const BoundNode& node, std::size_t first, std::size_t end) {
    const bool is_backward = program_.steps[id].pass != Pass::forward;
    for (std::size_t i = first; i < end; ++i) {
      if (!copies_input(layouts_, node.node(), i)) continue;
      if (is_backward && !node.input(i).wants_gradient) continue;
      const TensorId tensor = node.node().inputs[i];
      add_elements(layouts_.moves_last_axis[tensor] ? transpose_ : copy_, types_[tensor], id,
                   static_cast<double>(node.input(i).elements));
    }
  }

  /// Autocast converts what an operator reads in another type, and backward the gradients again:
  /// of the inputs [first, end).
  void write_casts(StepId id, const BoundNode& node, std::size_t first, std::size_t end) {
    if (!options_.autocast) return;
    const bool is_backward = program_.steps[id].pass != Pass::forward;
    const AutocastKind kind = autocast_kind(framework_.autocast, name_of(node.node().op));
    if (kind == AutocastKind::widest) return;
    const DType wanted = kind == AutocastKind::lower ? *options_.autocast : DType::fp32;
    for (std::size_t i = first; i < end; ++i) {
      const TensorId tensor = node.node().inputs[i];
      if (!is_floating(types_[tensor]) || types_[tensor] == wanted) continue;
      if (is_backward && !node.input(i).wants_gradient) continue;
      // A compiler writes what it computes in the type that the next kernel reads.
      if (framework_.fusion && bound_.graph->tensors[tensor].producer != no_node) continue;
      if (copies_input(layouts_, node.node(), i)) continue;  // which converts, too
      const DType from = is_backward ? wanted : types_[tensor];
      add_elements(cast_, from, id, static_cast<double>(node.input(i).elements));
    }
  }

  void write_gradient_sum(StepId id) {
    const OperatorRule* rule = framework_.find("gradient_sum");
    if (rule == nullptr) return;
    for (const Use& use : program_.uses_of(id)) {
      if (!use.writes) continue;
      const Value& value = program_.values[use.value];
      begin_call(id, true, rule);
      const DType type = types_[value.tensor];
      const double elements = static_cast<double>(bound_.tensors[value.tensor].elements);
      for (const LaunchRule& one : rule->backward)
        add_elements(one.kernel_class, type == DType::tf32 ? DType::fp32 : type, id, elements);
      return;
    }
  }

  /// The loss that training adds to a network without one.
  void write_loss(StepId id) {
    const OperatorRule* rule = framework_.find("softmax_cross_entropy");
    const Graph& graph = *bound_.graph;
    if (rule == nullptr || graph.outputs.empty()) return;
    const Step& step = program_.steps[id];
    const bool is_backward = step.pass != Pass::forward;
    const TensorId output = graph.outputs.front();
    const BoundTensor& logits = bound_.tensors[output];
    // Images have their classes on the second axis, everything else on the last.
    const std::size_t axes = logits.axes();
    const double columns =
        axes == 0 ? 1 : static_cast<double>(axes >= 4 ? logits[1] : logits[axes - 1]);
    const double rows = static_cast<double>(logits.elements) / columns;
    begin_call(id, is_backward, rule);
    if (options_.autocast && types_[output] == *options_.autocast)
      add_elements(cast_, is_backward ? DType::fp32 : types_[output], id, rows * columns);
    for (const LaunchRule& one : is_backward ? rule->backward : rule->forward)
      add(one.kernel_class, DType::fp32, id, {rows, columns});
  }

  /// Frameworks update all weights with a few kernels, after the last gradient.
  void write_update(Optimizer optimizer) {
    std::int64_t tensors = 0;
    double elements = 0;
    StepId first = 0;
    for (StepId id = 0; id < program_.steps.size(); ++id) {
      if (program_.steps[id].pass != Pass::update) continue;
      for (const Use& use : program_.uses_of(id)) {
        const Value& value = program_.values[use.value];
        if (value.kind != ValueKind::weight) continue;
        if (tensors == 0) first = id;
        ++tensors;
        elements += static_cast<double>(bound_.tensors[value.tensor].elements);
      }
    }
    if (tensors == 0) return;
    result_.calls.push_back({.first = static_cast<std::uint32_t>(result_.operations.size()),
                             .step = first,
                             .is_backward = false,
                             .tensors = tensors,
                             .is_update = true});
    add(update_class(framework_, optimizer), DType::fp32, first,
        {static_cast<double>(tensors), elements});
    result_.operations.back().kernels = update_kernels(framework_, optimizer, tensors, elements);
  }

  const Program& program_;
  const BoundGraph& bound_;
  const Framework& framework_;
  const FrameworkOptions& options_;
  std::vector<DType> types_;
  MemoryLayouts layouts_;
  std::vector<std::int64_t> stacks_;
  ExpertList experts_;  // that are grouped
  bool channels_last_ = false;
  std::vector<bool> has_input_step_, has_weight_step_;  // of each node, where the two are apart
  bool has_tf32_ = false;
  bool is_inference_ = true;  // until there is a step back
  OperationClass cast_ = known_class("stream.cast");
  OperationClass copy_ = known_class("heads.permute_contiguous");
  OperationClass transpose_ = known_class("heads.transpose_contiguous");
  FrameworkOperations result_;
};

}  // namespace

std::string_view name_of(AttentionKernels kernels) {
  return attention_names[static_cast<std::size_t>(kernels)];
}

double update_kernels(const Framework& framework, Optimizer optimizer, std::int64_t tensors,
                      double elements) {
  if (!framework.foreach_updates || optimizer == Optimizer::adam || tensors <= 0) return 0;
  // Taken as equally large.
  const std::vector<std::int64_t> sizes(
      static_cast<std::size_t>(tensors),
      std::max<std::int64_t>(1, std::llround(elements / static_cast<double>(tensors))));
  // w -= v, of two lists; with momentum v = µ v, of one, and v += g before it.
  std::int64_t kernels = multi_tensor_launches(sizes, 2);
  if (optimizer == Optimizer::momentum) kernels += kernels + multi_tensor_launches(sizes, 1);
  return static_cast<double>(kernels);
}

OperationClass update_class(const Framework& framework, Optimizer optimizer) {
  if (optimizer == Optimizer::adam) return framework.adam;
  return known_class(optimizer == Optimizer::momentum ? "update.momentum" : "update.sgd");
}

const OperatorRule* rule_of(const Framework& framework, const FrameworkOptions& options,
                            const Graph& graph, const Node& node) {
  std::string_view name = name_of(node.op);
  AttentionKernels attention = AttentionKernels::fused;
  if (std::holds_alternative<Attention>(node.op) || name == "split") {
    const AttentionKernels wanted = attention_of(options, graph, node);
    if (framework.find(rule_name_of(wanted)) != nullptr) attention = wanted;
  }
  if (std::holds_alternative<Attention>(node.op)) name = rule_name_of(attention);
  if (name == "split" && attention == AttentionKernels::module) name = "reshape";
  if (name == "transposed_convolution") name = "convolution";
  if (name == "instance_norm") name = "group_norm";
  if (name == "adaptive_max_pool") name = "max_pool";
  if (is_linear(graph, node)) name = "linear";
  if (const OperatorRule* rule = framework.find(name)) return rule;
  std::string_view family;
  if (std::holds_alternative<Unary>(node.op)) family = "unary";
  if (std::holds_alternative<Elementwise>(node.op)) family = "elementwise";
  if (std::holds_alternative<Reduce>(node.op)) family = "reduce_mean";
  if (std::holds_alternative<Resize>(node.op)) family = "resize_nearest";
  return family.empty() ? nullptr : framework.find(family);
}

namespace {

FrameworkOperations all_operations(const Program& program, const Framework& framework,
                                   const FrameworkOptions& options, Optimizer optimizer) {
  if (program.bound->graph->recording != nullptr) return recorded_operations(program, framework);
  if (options.experts == ExpertKernels::grouped && framework.fusion)
    fail(ErrorKind::unsupported,
         "--experts grouped: {} compiles; its calls are not those of a framework that runs layer "
         "by layer",
         framework.title);
  check_attention(framework, options.attention, *program.bound->graph);
  OperationWriter writer(program, framework, options);
  writer.write(optimizer);
  FrameworkOperations written = std::move(writer).take();
  return framework.fusion ? fuse(program, framework, options, std::move(written)) : written;
}

bool multiplies_16_bits(const FrameworkOperation& operation) {
  const KernelForm form = form_of(operation.kernel_class);
  const bool multiplies = form == KernelForm::product || form == KernelForm::convolution;
  return multiplies && bytes_per_element(operation.precision) == 2;
}

}  // namespace

FrameworkOperations operations_of(const Program& program, const Framework& framework,
                                  const FrameworkOptions& options, Optimizer optimizer) {
  FrameworkOperations all = all_operations(program, framework, options, optimizer);
  all.run.is_inference = std::all_of(program.steps.begin(), program.steps.end(),
                                     [](const Step& step) { return step.pass == Pass::forward; });
  all.run.in_16_bits =
      std::any_of(all.operations.begin(), all.operations.end(), multiplies_16_bits);
  return all;
}

}  // namespace strata
