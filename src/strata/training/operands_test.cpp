// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/cost.hpp"
#include "strata/graph/builder.hpp"
#include "strata/training/program.hpp"
#include "strata/training/split.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

// What a step uses, by the operands that its node's cost sheet has.
namespace strata {
namespace {

using OperandKey = std::pair<Operand, std::uint32_t>;
using OperandValues = std::map<OperandKey, ValueId>;

OperandValues operands_of(const Program& program, StepId step) {
  OperandValues values;
  const auto add = [&](StepOperand operand, ValueId value) {
    EXPECT_TRUE(values.try_emplace({operand.operand, operand.index}, value).second)
        << name_of(program, step) << " has an operand twice";
  };
  for (const Use& use : program.uses_of(step)) add(use.is(), use.value);
  for (const SharedOperand& shared : program.shared_operands_of(step)) add(shared.is, shared.value);
  return values;
}

std::set<OperandKey> operands_by_cost(const BoundGraph& bound, const Step& step) {
  const NodeCost cost = cost_of(bound, step.node);
  std::vector<const PassCost*> passes;
  if (step.pass == Pass::forward) passes = {&cost.forward};
  if (step.pass == Pass::backward) passes = {&cost.backward_input, &cost.backward_weight};
  if (step.pass == Pass::backward_input) passes = {&cost.backward_input};
  if (step.pass == Pass::backward_weight) passes = {&cost.backward_weight};
  std::set<OperandKey> operands;
  for (const PassCost* pass : passes) {
    for (const Access& access : pass->accesses) {
      if (access.mode != AccessMode::alias) operands.insert({access.operand, access.index});
    }
  }
  return operands;
}

void expect_tensor(const Program& program, const Step& step, OperandKey operand, ValueId id) {
  const Node& node = program.bound->graph->nodes[step.node];
  const auto [kind, index] = operand;
  if (kind == Operand::output_gradient && id == no_value) return;  // zero
  const Value& value = program.values.at(id);
  switch (kind) {
    case Operand::input: EXPECT_EQ(value.tensor, program.roots[node.inputs[index]]); break;
    case Operand::output: EXPECT_EQ(value.tensor, program.roots[node.outputs[index]]); break;
    case Operand::saved: EXPECT_EQ(value.kind, ValueKind::saved); break;
    case Operand::output_gradient: EXPECT_EQ(value.kind, ValueKind::gradient); break;
    case Operand::input_gradient:
      EXPECT_TRUE(value.kind == ValueKind::gradient || value.kind == ValueKind::weight_gradient);
      EXPECT_EQ(value.tensor, program.roots[node.inputs[index]]);
      break;
    default: ADD_FAILURE() << "no operand of a node";
  }
}

void expect_operands(const Program& program) {
  const StepOperand a{Operand::input, 0}, b{Operand::input, 1}, sum{Operand::output, 0};
  for (StepId id = 0; id < program.steps.size(); ++id) {
    SCOPED_TRACE(name_of(program, id));
    const Step& step = program.steps[id];
    const OperandValues operands = operands_of(program, id);
    if (step.is_gradient_sum) {
      for (const StepOperand operand : {a, b, sum})
        EXPECT_NE(program.value_at(id, operand), no_value);
    } else if (step.pass == Pass::update) {
      EXPECT_EQ(program.values[program.value_at(id, a)].kind, ValueKind::weight);
      const TensorId weight = program.values[program.value_at(id, a)].tensor;
      EXPECT_EQ(program.value_at(id, {Operand::input_gradient, 0}), program.gradients[weight]);
      EXPECT_EQ(program.values[program.value_at(id, {Operand::state, 0})].tensor, weight);
    } else if (step.node != no_node) {
      std::set<OperandKey> named;
      for (const auto& [operand, value] : operands) {
        named.insert(operand);
        expect_tensor(program, step, operand, value);
      }
      EXPECT_EQ(named, operands_by_cost(*program.bound, step));
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Operands, are_those_of_the_cost_sheets) {
  for (const char* name : {"resnet18", "googlenet", "densenet121", "transformer_base", "gnmt"}) {
    SCOPED_TRACE(name);
    const Graph graph = build_network(name);
    const BoundGraph bound = bind_graph(graph, {{"batch", 2}});
    for (const bool is_separate : {false, true}) {
      expect_operands(
          make_program(bound, {.separate_backward = is_separate, .unroll_recurrent = false}));
    }
  }
}

/// x·x, whose gradients are two; y + y, whose gradients are one; two parts with one gradient; a
/// third that has none, because rounding has none.
Graph shared_operands_network() {
  GraphBuilder b("shared");
  const TensorId x = b.add("x", Linear{6}, {b.input("in", {2, 6})});
  const TensorId squared = b.add("squared", Elementwise{ElementwiseKind::multiply}, {x, x});
  const TensorId doubled = b.add("doubled", Elementwise{}, {squared, squared});
  const NodeId parts = b.add_node("parts", Split{.axis = 1, .parts = 3}, std::vector{doubled});
  const TensorId sum = b.add("sum", Elementwise{}, {b.output_of(parts, 0), b.output_of(parts, 1)});
  const TensorId rounded = b.add("rounded", Unary{UnaryKind::round}, {b.output_of(parts, 2)});
  b.output(b.add("last", Elementwise{}, {sum, rounded}));
  return std::move(b).finish();
}

StepId step_named(const Program& program, std::string_view name) {
  for (StepId id = 0; id < program.steps.size(); ++id) {
    if (name_of(program, id) == name) return id;
  }
  ADD_FAILURE() << "no step " << name;
  return 0;
}

TEST(Operands, of_one_value_are_one_use) {
  const Graph graph = shared_operands_network();
  const BoundGraph bound = bind_graph(graph, {});
  const Program program = make_program(bound, {.loss = Loss::none});
  EXPECT_EQ(problems_of(program), std::vector<std::string>{});
  expect_operands(program);

  // The cost sheet reads x once.
  EXPECT_EQ(program.uses_of(step_named(program, "squared forward")).size(), 2U);
  const StepId squared = step_named(program, "squared backward");
  EXPECT_NE(program.value_at(squared, {Operand::input_gradient, 0}),
            program.value_at(squared, {Operand::input_gradient, 1}));

  const StepId sum = step_named(program, "sum for gradient of squared");
  EXPECT_EQ(program.uses_of(sum).size(), 2U);
  EXPECT_EQ(program.value_at(sum, {Operand::input, 0}), program.value_at(sum, {Operand::input, 1}));

  const StepId parts = step_named(program, "parts backward");
  EXPECT_EQ(program.uses_of(parts).size(), 2U);
  EXPECT_EQ(program.value_at(parts, {Operand::output_gradient, 0}),
            program.value_at(parts, {Operand::output_gradient, 1}));
  EXPECT_EQ(operands_of(program, parts).at({Operand::output_gradient, 2}), no_value);
}

TEST(Operands, stay_when_values_are_split) {
  const Graph graph = shared_operands_network();
  const BoundGraph bound = bind_graph(graph, {});
  const Program program = make_program(bound, {.loss = Loss::none});
  const Program cut = split_values(program, 8);
  EXPECT_EQ(problems_of(cut), std::vector<std::string>{});
  for (StepId id = 0; id < program.steps.size(); ++id) {
    EXPECT_EQ(name_of(cut, id), name_of(program, id));
    std::set<OperandKey> before, after;
    for (const Use& use : program.uses_of(id)) before.insert({use.operand, use.index});
    for (const Use& use : cut.uses_of(id)) after.insert({use.operand, use.index});
    EXPECT_EQ(after, before);
    EXPECT_EQ(cut.read_bytes(id), program.read_bytes(id));
    EXPECT_EQ(cut.write_bytes(id), program.write_bytes(id));
  }
}

// An iteration is millions of uses long where recurrent layers are unrolled.
TEST(Operands, take_no_memory_beside_uses_in_unrolled_networks) {
  const Graph graph = build_network("gnmt");
  const Program program = make_program(bind_graph(graph, {{"batch", 2}}));
  EXPECT_LT(program.shared_operands.size(), program.uses.size() / 100);
}

}  // namespace
}  // namespace strata
