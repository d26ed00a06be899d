// SPDX-License-Identifier: Apache-2.0
#include "strata/training/recorded_program.hpp"

#include "strata/graph/builder.hpp"
#include "strata/graph/recording.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

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
  recording.operations[0].unread = 1;
  const Recorded recorded(recording);
  EXPECT_EQ(recorded.program.read_bytes(0), 4 * (4 + 2));
}

TEST(RecordedProgram, reads_nothing_of_a_tensor_that_is_asked_for_its_shape) {
  RecordedOperations recording = step();
  const Recorded all(recording);
  recording.operations[0].unread = 2;
  const Recorded recorded(recording);
  EXPECT_LT(recorded.program.read_bytes(0), all.program.read_bytes(0));
}

/// A recording that a test writes operation by operation. Tensors have eight numbers.
class Script {
 public:
  Script() { recording_.layers = {{"a", "A"}, {"optimizer", "optimizer"}}; }

  std::uint32_t tensor(DType dtype, Kind kind = Kind::made, std::string name = {}) {
    const auto storage = static_cast<std::uint32_t>(recording_.storages.size());
    recording_.storages.push_back(
        {.bytes = 8 * bytes_per_element(dtype), .kind = kind, .name = std::move(name)});
    return view(storage, dtype, 8);
  }

  std::uint32_t view(std::uint32_t storage, DType dtype, std::int64_t numbers) {
    recording_.tensors.push_back({.dtype = dtype,
                                  .shape = {numbers},
                                  .stride = {1},
                                  .storage = storage,
                                  .elements = numbers});
    return static_cast<std::uint32_t>(recording_.tensors.size() - 1);
  }

  RecordedOperation& run(std::string name, RecordedOperation::Tensors inputs,
                         RecordedOperation::Tensors outputs,
                         RecordedPass pass = RecordedPass::forward) {
    RecordedOperation one{.name = "aten::" + name, .pass = pass};
    for (const std::uint32_t input : inputs) one.inputs.push_back({input});
    one.outputs = std::move(outputs);
    one.flop = name == "_to_copy" ? 0 : 3;
    recording_.operations.push_back(std::move(one));
    return recording_.operations.back();
  }

  void cast(std::uint32_t from, std::uint32_t to, RecordedPass pass = RecordedPass::forward) {
    run("_to_copy", {from}, {to}, pass);
  }

  /// Two weights and their gradients, by lists.
  void update(RecordedOperation::Tensors weights, RecordedOperation::Tensors gradients) {
    RecordedOperation one{.name = "aten::_foreach_add_", .pass = RecordedPass::update};
    one.layer = 1;
    one.inputs = {weights, std::move(gradients)};
    one.outputs = weights;
    one.mutates = std::move(weights);
    recording_.operations.push_back(std::move(one));
  }

  Recorded program() const { return Recorded(recording_); }

 private:
  RecordedOperations recording_;
};

/// "16>32 32>16": what each step reads and writes, in bytes.
std::string bytes_by_step(const Recorded& recorded) {
  EXPECT_TRUE(problems_of(recorded.program).empty());
  std::string text;
  for (StepId id = 0; id < recorded.program.steps.size(); ++id) {
    text += (id > 0 ? " " : "") + std::to_string(recorded.program.read_bytes(id)) + ">" +
            std::to_string(recorded.program.write_bytes(id));
  }
  return text;
}

TEST(RecordedCasts, a_temporary_that_only_casts_read_is_written_as_they_make_it) {
  Script script;
  const auto x = script.tensor(DType::bf16, Kind::input, "x"), wide = script.tensor(DType::fp32),
             narrow = script.tensor(DType::bf16), again = script.tensor(DType::bf16),
             y = script.tensor(DType::bf16), z = script.tensor(DType::bf16);
  script.run("f", {x}, {wide});
  script.run("h", {x}, {z});
  script.cast(wide, narrow);
  script.cast(wide, again);
  script.run("g", {narrow, again}, {y});
  const Recorded recorded = script.program();
  EXPECT_EQ(bytes_by_step(recorded), "16>16 16>16 16>16");
  EXPECT_EQ(recorded.program.operation_steps, (std::vector<StepId>{0, 1, 0, 0, 2}));
}

TEST(RecordedCasts, what_is_wider_is_read_as_it_was) {
  Script script;
  const auto x = script.tensor(DType::fp32, Kind::input, "x"), narrow = script.tensor(DType::bf16),
             wide = script.tensor(DType::fp32), y = script.tensor(DType::fp32),
             z = script.tensor(DType::bf16);
  script.run("f", {x}, {narrow});
  script.cast(narrow, wide);
  script.run("g", {wide}, {y});
  script.run("h", {narrow, wide}, {z});
  EXPECT_EQ(bytes_by_step(script.program()), "32>16 16>32 16>16");
}

TEST(RecordedCasts, what_is_changed_afterwards_has_memory_of_its_own) {
  Script script;
  const auto x = script.tensor(DType::fp32, Kind::input, "x"), narrow = script.tensor(DType::bf16),
             wide = script.tensor(DType::fp32), y = script.tensor(DType::bf16);
  script.run("f", {x}, {narrow});
  script.run("g", {narrow}, {y});
  script.cast(narrow, wide);
  script.run("add_", {wide, x}, {wide}).mutates = {wide};
  script.run("h", {narrow, wide}, {y});
  // The addition reads the narrow tensor itself, and writes the wide one.
  EXPECT_EQ(bytes_by_step(script.program()), "32>16 16>16 48>32 48>16");
}

TEST(RecordedCasts, a_chain_of_two_is_the_narrowest_of_them) {
  Script script;
  const auto x = script.tensor(DType::fp32, Kind::input, "x"), wide = script.tensor(DType::fp32),
             narrow = script.tensor(DType::bf16), back = script.tensor(DType::fp32),
             y = script.tensor(DType::fp32);
  script.run("f", {x}, {wide});
  script.cast(wide, narrow);
  script.cast(narrow, back);
  script.run("g", {narrow}, {y});
  script.run("h", {back}, {y});
  EXPECT_EQ(bytes_by_step(script.program()), "32>16 16>32 16>32");
}

TEST(RecordedCasts, the_step_that_makes_a_tensor_that_others_read_writes_it_in_both_types) {
  Script script;
  const auto x = script.tensor(DType::fp32, Kind::input, "x"), wide = script.tensor(DType::fp32),
             narrow = script.tensor(DType::bf16), y = script.tensor(DType::bf16);
  script.run("f", {x}, {wide});
  script.cast(wide, narrow);
  script.run("g", {narrow}, {y});
  script.run("h", {narrow}, {y});
  script.run("k", {wide}, {y});
  EXPECT_EQ(bytes_by_step(script.program()), "32>48 16>16 16>16 32>16");
}

TEST(RecordedCasts, the_only_reader_of_a_copy_reads_its_source) {
  Script script;
  const auto x = script.tensor(DType::fp32, Kind::input, "x"), narrow = script.tensor(DType::bf16),
             y = script.tensor(DType::bf16);
  script.cast(x, narrow);
  script.run("f", {narrow}, {y});
  const Recorded recorded = script.program();
  EXPECT_EQ(bytes_by_step(recorded), "32>16");
  EXPECT_EQ(recorded.program.operation_steps, (std::vector<StepId>{0, 0}));
}

TEST(RecordedCasts, the_first_reader_of_a_copy_writes_it_for_the_others) {
  Script script;
  const auto x = script.tensor(DType::fp32, Kind::input, "x"), narrow = script.tensor(DType::bf16),
             y = script.tensor(DType::bf16);
  script.cast(x, narrow);
  script.run("f", {narrow}, {y});
  script.run("g", {narrow}, {y}, RecordedPass::backward);
  EXPECT_EQ(bytes_by_step(script.program()), "32>32 16>16");
}

TEST(RecordedCasts, one_far_from_what_makes_and_what_reads_a_tensor_is_a_step) {
  Script script;
  const auto x = script.tensor(DType::fp32, Kind::input, "x"), narrow = script.tensor(DType::bf16),
             y = script.tensor(DType::bf16);
  script.cast(x, narrow);
  script.run("f", {x}, {y});
  script.run("g", {narrow}, {y});
  EXPECT_EQ(bytes_by_step(script.program()), "32>16 32>16 16>16");
}

TEST(RecordedCasts, one_of_a_part_of_a_tensor_is_a_step) {
  Script script;
  const auto x = script.tensor(DType::fp32, Kind::input, "x"), eight = script.tensor(DType::fp8),
             half = script.view(0, DType::fp32, 4), narrow = script.view(1, DType::bf16, 4),
             y = script.tensor(DType::bf16);
  script.run("f", {x}, {y});
  script.cast(half, narrow);
  script.run("g", {eight}, {y});
  EXPECT_EQ(bytes_by_step(script.program()), "32>16 32>8 8>16");
}

TEST(RecordedCasts, a_parameter_has_one_copy_that_the_update_writes) {
  Script script;
  const auto w = script.tensor(DType::fp32, Kind::parameter, "a.weight"),
             b = script.tensor(DType::fp32, Kind::parameter, "a.bias"),
             x = script.tensor(DType::bf16, Kind::input, "x"), first = script.tensor(DType::bf16),
             second = script.tensor(DType::bf16), y = script.tensor(DType::bf16),
             dw = script.tensor(DType::fp32, Kind::gradient, "a.weight"),
             narrow = script.tensor(DType::bf16),
             db = script.tensor(DType::fp32, Kind::gradient, "a.bias");
  script.cast(w, first);
  script.run("f", {x, first, b}, {y});
  script.cast(w, second);
  script.run("g", {y, first, second}, {narrow, db}, RecordedPass::backward);
  script.cast(narrow, dw, RecordedPass::backward);
  script.update({w, b}, {dw, db});
  const Recorded recorded = script.program();
  // x, the copy and b; y and the copy; the weight and its narrow gradient, then both weights.
  EXPECT_EQ(bytes_by_step(recorded), "64>16 32>48 48>48 64>32");
  std::map<ValueKind, std::int64_t> bytes;
  for (const Value& value : recorded.program.values) {
    bytes[value.kind] += value.bytes;
    if (value.kind == ValueKind::weight) {
      EXPECT_TRUE(value.is_given && value.is_result);
    }
  }
  EXPECT_EQ(bytes[ValueKind::weight], 32 + 16 + 32);
  EXPECT_EQ(bytes[ValueKind::weight_gradient], 16 + 32);
  EXPECT_NE(recorded.program.gradients[0], no_value);
}

TEST(RecordedCasts, a_gradient_that_no_update_reads_stays_as_wide_as_it_is) {
  Script script;
  const auto x = script.tensor(DType::bf16, Kind::input, "x"), narrow = script.tensor(DType::bf16),
             w = script.tensor(DType::fp32, Kind::parameter, "a.weight"),
             dw = script.tensor(DType::fp32, Kind::gradient, "a.weight");
  script.run("f", {x, w}, {narrow}, RecordedPass::backward);
  script.cast(narrow, dw, RecordedPass::backward);
  EXPECT_EQ(bytes_by_step(script.program()), "48>32");
}

}  // namespace
}  // namespace strata
