// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/calibration/cases.hpp"

#include "strata/framework/operations.hpp"
#include "strata/training/step_names.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace strata {
namespace {

struct CaseProgram {
  explicit CaseProgram(const CalibrationCase& one)
      : graph(one.make()), bound(bind_graph(graph, {})) {
    program = make_program(bound, {.optimizer = one.optimizer,
                                   .loss = Loss::none,
                                   .separate_backward = true,
                                   .unroll_recurrent = false});
    operations = operations_of(program, framework_named("strata"), {}, one.optimizer);
  }
  bool is_measured(StepId step) const {
    return layer_of(program, step).starts_with(measured_layer) &&
           program.steps[step].pass != Pass::update;
  }

  Graph graph;
  BoundGraph bound;
  Program program;
  FrameworkOperations operations;
};

TEST(CalibrationCases, have_names_of_their_own) {
  std::set<std::string> names;
  for (const CalibrationCase& one : calibration_cases({})) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_EQ(one.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789 ,"), one.name.npos)
        << one.name;
  }
}

TEST(CalibrationCases, give_one_sample_per_step) {
  for (const CalibrationCase& one : calibration_cases({})) {
    const CaseProgram made(one);
    EXPECT_TRUE(made.operations.unknown.empty()) << one.name;
    std::map<StepId, int> per_step;
    for (const FrameworkOperation& operation : made.operations.operations) {
      if (!made.is_measured(operation.step)) continue;
      EXPECT_EQ(++per_step[operation.step], 1) << one.name;
    }
    EXPECT_TRUE(one.optimizer != Optimizer::none || per_step.size() >= 4) << one.name;
  }
}

TEST(CalibrationCases, have_every_class_that_the_rules_of_the_engine_name) {
  std::map<std::string, int> samples;
  for (const CalibrationCase& one : calibration_cases({})) {
    const CaseProgram made(one);
    for (const FrameworkOperation& operation : made.operations.operations) {
      const bool is_update = made.program.steps[operation.step].pass == Pass::update;
      if (is_update ? one.optimizer != Optimizer::none : made.is_measured(operation.step))
        ++samples[std::string(name_of(operation.kernel_class))];
    }
  }
  for (const auto& [name, rule] : framework_named("strata").operators) {
    for (const auto* list :
         {&rule.forward, &rule.backward, &rule.backward_input, &rule.backward_weight}) {
      for (const LaunchRule& launch : *list) {
        const std::string kernel_class(name_of(launch.kernel_class));
        // A network in one data type has no casts.
        EXPECT_TRUE(kernel_class == "stream.cast" || samples[kernel_class] >= 2) << kernel_class;
      }
    }
  }
  for (const char* kind : {"first", "depthwise", "grouped"})
    EXPECT_GE(samples[std::string(kind) + ".backward_weight"], 4) << kind;
  for (const char* update : {"update.sgd", "update.momentum", "update.adam"})
    EXPECT_GE(samples[update], 4) << update;
}

TEST(CalibrationCases, leave_the_cache_before_and_behind_what_is_measured) {
  const Graph graph = calibration_cases({.cache_bytes = 64e6}).front().make();
  const BoundGraph bound = bind_graph(graph, {});
  for (const NodeId node : {NodeId{0}, static_cast<NodeId>(graph.nodes.size() - 1)}) {
    EXPECT_GE(bound.tensors[graph.nodes[node].outputs.front()].bytes, 64'000'000);
    EXPECT_FALSE(bound.tensors[graph.nodes[node].outputs.front()].wants_gradient);
  }
}

TEST(CalibrationCases, are_as_many_times_larger_as_the_device_wants) {
  const CaseProgram small(calibration_cases({}).front());
  const CaseProgram large(calibration_cases({.samples = 8}).front());
  ASSERT_EQ(small.operations.operations.size(), large.operations.operations.size());
  for (std::size_t i = 0; i < small.operations.operations.size(); ++i) {
    if (!small.is_measured(small.operations.operations[i].step)) continue;
    EXPECT_EQ(8 * small.operations.operations[i].dims[0], large.operations.operations[i].dims[0]);
  }
}

}  // namespace
}  // namespace strata
