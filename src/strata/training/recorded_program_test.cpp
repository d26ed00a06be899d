// SPDX-License-Identifier: Apache-2.0
#include "strata/training/recorded_program.hpp"

#include "strata/graph/builder.hpp"
#include "strata/graph/recording.hpp"

#include <gtest/gtest.h>

#include <map>

namespace strata {
namespace {

/// y = f(x), dx = g(dy, y), and an update of two weights by two operations on lists.
struct Recorded {
  Graph graph;
  BoundGraph bound;
  Program program;

  explicit Recorded(RecordedOperations recording) {
    GraphBuilder builder("small");
    for (RecordedStorage& storage : recording.storages) {
      if (storage.kind == RecordedStorage::Kind::parameter)
        storage.tensor = builder.stored(storage.name, {Dim(storage.bytes / 4)});
      if (storage.kind == RecordedStorage::Kind::input)
        storage.tensor = builder.input(storage.name, {Dim(storage.bytes / 4)});
    }
    for (const RecordedLayer& layer : recording.layers)
      builder.add_node(layer.name, Opaque{layer.type, {Shape{Dim(2)}}}, {});
    graph = std::move(builder).finish();
    graph.recording = std::make_shared<const RecordedOperations>(std::move(recording));
    bound = bind_graph(graph, {});
    program = recorded_program(bound);
  }
};

using Kind = RecordedStorage::Kind;

RecordedOperations step() {
  RecordedOperations recording;
  recording.layers = {{"a", "A"}, {"optimizer", "optimizer"}};
  recording.samples = 5;
  const auto add = [&](std::int64_t numbers, Kind kind, std::string name) {
    const auto id = static_cast<std::uint32_t>(recording.storages.size());
    recording.storages.push_back({.bytes = 4 * numbers, .kind = kind, .name = std::move(name)});
    recording.tensors.push_back(
        {.shape = {numbers}, .stride = {1}, .storage = id, .elements = numbers});
    return id;
  };
  const auto x = add(8, Kind::input, "x"), w = add(4, Kind::parameter, "a.weight"),
             b = add(2, Kind::parameter, "a.bias");
  const auto y = add(8, Kind::made, ""), dw = add(4, Kind::gradient, "a.weight"),
             db = add(2, Kind::gradient, "a.bias");
  const auto m = add(4, Kind::state, "a.weight.momentum_buffer"),
             n = add(2, Kind::state, "a.bias.momentum_buffer");
  const auto operation =
      [&](std::string name, RecordedPass pass, std::vector<RecordedOperation::Tensors> inputs,
          RecordedOperation::Tensors outputs, RecordedOperation::Tensors mutates = {}) {
        RecordedOperation one{.name = std::move(name), .pass = pass};
        one.layer = pass == RecordedPass::update ? 1 : 0;
        one.inputs = std::move(inputs);
        one.outputs = std::move(outputs);
        one.mutates = std::move(mutates);
        one.flop = 12;
        recording.operations.push_back(std::move(one));
      };
  operation("aten::f", RecordedPass::forward, {{x}, {w}, {b}}, {y});
  operation("aten::g", RecordedPass::backward, {{y}}, {dw, db});
  operation("aten::_foreach_add_", RecordedPass::update, {{m, n}, {dw, db}}, {}, {m, n});
  operation("aten::_foreach_add_", RecordedPass::update, {{w, b}, {m, n}}, {}, {w, b});
  return recording;
}

TEST(RecordedProgram, is_well_formed_and_has_the_arithmetic) {
  const Recorded recorded(step());
  EXPECT_TRUE(problems_of(recorded.program).empty());
  std::int64_t flop = 0;
  for (const Step& one : recorded.program.steps) flop += one.flop;
  EXPECT_EQ(flop, 4 * 12);
  EXPECT_EQ(recorded.program.samples, 5);
}

TEST(RecordedProgram, updates_each_weight_in_one_step) {
  const Recorded recorded(step());
  ASSERT_EQ(recorded.program.steps.size(), 4U);  // forward, backward, two weights
  for (StepId id = 2; id < 4; ++id) {
    EXPECT_EQ(recorded.program.steps[id].pass, Pass::update);
    EXPECT_EQ(recorded.program.steps[id].node, 0U);      // the layer whose weight it is
    EXPECT_EQ(recorded.program.uses_of(id).size(), 3U);  // weight, gradient, state
  }
  EXPECT_EQ(recorded.program.read_bytes(2) + recorded.program.write_bytes(2), (3 + 2) * 16);
  EXPECT_EQ(recorded.program.operation_steps, (std::vector<StepId>{0, 1, 2, 2}));
}

TEST(RecordedProgram, knows_what_blocks_of_memory_are) {
  const Recorded recorded(step());
  std::map<ValueKind, int> kinds;
  for (const Value& value : recorded.program.values) {
    ++kinds[value.kind];
    const bool stays = value.kind == ValueKind::weight || value.kind == ValueKind::state;
    EXPECT_EQ(value.is_given, stays || value.kind == ValueKind::input);
    EXPECT_EQ(value.is_result, stays);
  }
  EXPECT_EQ(kinds[ValueKind::weight], 2);
  EXPECT_EQ(kinds[ValueKind::weight_gradient], 2);
  EXPECT_EQ(kinds[ValueKind::state], 2);
  EXPECT_EQ(kinds[ValueKind::feature], 1);
  EXPECT_EQ(kinds[ValueKind::input], 1);
}

TEST(RecordedProgram, reads_no_table_that_rows_are_looked_up_in) {
  RecordedOperations recording = step();
  recording.operations[0].gathers = true;
  const Recorded recorded(recording);
  EXPECT_EQ(recorded.program.read_bytes(0), 4 * (4 + 2));
}

}  // namespace
}  // namespace strata
