// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program_builder.hpp"

#include <unordered_map>
#include <vector>

namespace strata {

/// Writes the steps of a node from its cost sheet: the tensors that a pass touches become the uses
/// of a step. A node that is an alias (a reshape) makes no step.
class NodeSteps {
 public:
  explicit NodeSteps(ProgramBuilder& builder);

  void forward(const Instance& instance, bool is_recomputed);
  void backward(const Instance& instance);

  /// What the node costs under the options.
  NodeCost cost(NodeId node) const;

 private:
  struct Part;  // the node, and which share of it a step is
  void forward_access(const Part& part, const NodeCost& cost, const Access& access,
                      bool is_recomputed);
  void backward_step(const Part& part, const NodeCost& cost, Pass pass,
                     std::initializer_list<const PassCost*> passes);
  void backward_access(const Part& part, const NodeCost& cost, const Access& access);
  void read_output_gradient(const Part& part, std::uint32_t output);
  void write_input_gradient(const Part& part, std::uint32_t input);
  void alias_gradients(const Part& part, const PassCost& pass);
  void copy_gradient(const Part& part, const ValueIds& from, std::uint32_t input);
  bool has_output_gradient(const Part& part) const;
  void end_open_contributions(const Part& part);

  ValueIds input_values(const Part& part, std::uint32_t input) const;
  ValueIds output_values(const Part& part, std::uint32_t output) const;
  ValueId saved_value(const Part& part, const NodeCost& cost, std::uint32_t index);
  std::int64_t rows_of(const Node& node) const;
  void make_saved(const Part& part, const NodeCost& cost);
  Step step_of(const Part& part, Pass pass) const;

  ProgramBuilder& builder_;
  std::vector<ValueId> first_saved_;  // of every node
  // Gradients to which every time step of a node adds, by node and forward value: complete after
  // the last.
  std::unordered_map<std::uint64_t, ValueId> open_;
};

}  // namespace strata
