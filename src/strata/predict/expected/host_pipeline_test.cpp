// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/host_pipeline.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

constexpr double us = 1e-6;

/// A relu takes the host 10 µs forward and 20 µs backward, a linear layer 30 µs.
Calibration host_calibration() {
  Calibration calibration;
  calibration.host_times["relu"] = {10 * us, 20 * us, 15 * us, 25 * us, 0};
  calibration.host_times["linear"] = {30 * us, 60 * us, 30 * us, 60 * us, 0};
  calibration.host_times["launch"] = {8 * us, 0, 8 * us, 0, 0};
  calibration.host_times["update.sgd"] = {100 * us, 0, 100 * us, 0, 5 * us};
  calibration.host_factor = 1;
  calibration.gap_s = 0;
  return calibration;
}

const OperatorRule relu_rule{.host = "relu"}, linear_rule{.host = "linear"};

/// Calls of one operation each, with these busy times.
struct Calls {
  FrameworkOperations operations;
  std::vector<KernelTime> times;

  void add(const OperatorRule* rule, double busy_s, bool is_backward = false) {
    operations.calls.push_back({.first = static_cast<std::uint32_t>(times.size()),
                                .is_backward = is_backward,
                                .rule = rule});
    launch(busy_s);
  }
  void launch(double busy_s, double kernels = 1) {
    operations.operations.push_back({*operation_class_named("update.sgd")});
    times.push_back({.busy_s = busy_s, .kernels_s = busy_s, .kernels = kernels});
  }
  PipelineTime run(const Calibration& calibration = host_calibration(), bool is_autocast = false,
                   std::int64_t iteration_calls = 0, double slower = 1) const {
    return HostPipeline(operations, times, is_autocast, iteration_calls, calibration).run(slower);
  }
};

TEST(HostPipeline, of_three_calls_is_what_one_draws_by_hand) {
  Calls calls;
  calls.add(&relu_rule, 50 * us);         // dispatched at 10, runs from 10 to 60
  calls.add(&linear_rule, 5 * us);        // dispatched at 40, runs from 60 to 65
  calls.add(&linear_rule, 7 * us, true);  // dispatched at 100, runs from 100 to 107
  const PipelineTime time = calls.run();
  EXPECT_NEAR(time.host_s, 100 * us, 1e-12);
  EXPECT_NEAR(time.time_s, 107 * us, 1e-12);
}

// Compiled code launches backward as it launches forward, whatever the operator, under autocast,
// too.
TEST(HostPipeline, of_compiled_code_takes_its_launches) {
  Calls calls;
  calls.add(&linear_rule, 1 * us);
  calls.add(&linear_rule, 1 * us, true);
  for (HostCall& call : calls.operations.calls) call.compiled_calls = 1.5;
  EXPECT_NEAR(calls.run().host_s, 2 * 15 * us, 1e-12);
  EXPECT_NEAR(calls.run(host_calibration(), true).host_s, 2 * 15 * us, 1e-12);
}

TEST(HostPipeline, that_the_gpu_bounds_takes_the_first_dispatch_and_all_kernels) {
  Calls calls;
  for (int i = 0; i < 20; ++i) calls.add(&relu_rule, 300 * us);
  EXPECT_NEAR(calls.run().time_s, (10 + 20 * 300) * us, 1e-12);
}

TEST(HostPipeline, that_the_host_bounds_takes_all_dispatches_and_the_last_kernel) {
  Calls calls;
  for (int i = 0; i < 20; ++i) calls.add(&relu_rule, 1 * us);
  EXPECT_NEAR(calls.run().time_s, (20 * 10 + 1) * us, 1e-12);
  EXPECT_NEAR(calls.run(host_calibration(), false, 0, 2).time_s, (20 * 20 + 1) * us, 1e-12);
}

TEST(HostPipeline, is_never_shorter_than_host_or_device) {
  std::uint32_t seed = 1;
  const auto next = [&] { return (seed = seed * 1664525U + 1013904223U) >> 8U; };
  for (int round = 0; round < 50; ++round) {
    Calls calls;
    double busy_s = 0;
    for (int i = 0; i < 30; ++i) {
      const double one_s = next() % 100 * us;
      calls.add(next() % 2 == 0 ? &relu_rule : &linear_rule, one_s, next() % 2 == 0);
      busy_s += one_s;
    }
    const PipelineTime time = calls.run();
    EXPECT_GE(time.time_s, time.host_s);
    EXPECT_GE(time.time_s, busy_s);
    EXPECT_LE(time.time_s, time.host_s + busy_s + 1e-12);
  }
}

TEST(HostPipeline, counts_gaps_between_kernels_on_the_device) {
  Calibration calibration = host_calibration();
  calibration.gap_s = 2 * us;
  Calls calls;
  calls.add(&relu_rule, 100 * us);
  calls.times.back().kernels = 3;
  // Three kernels: 6 µs of gaps; and two launches beyond the first at half of 8 µs.
  const PipelineTime time = calls.run(calibration);
  EXPECT_NEAR(time.host_s, (10 + 2 * 4) * us, 1e-12);
  EXPECT_NEAR(time.time_s, (18 + 106) * us, 1e-12);
}

TEST(HostPipeline, pays_for_each_call_of_an_operator_that_is_written_out) {
  const OperatorRule written_out{}, counted{.host = "relu", .calls = 4};
  Calls calls;
  calls.add(&written_out, 1 * us);  // three launches, as many calls of any kind
  calls.launch(1 * us);
  calls.launch(1 * us);
  calls.add(&counted, 1 * us);
  EXPECT_NEAR(calls.run().host_s, (3 + 4) * 10 * us, 1e-12);
}

// Where the calibration has casts by themselves, calls of operators are without them.
TEST(HostPipeline, pays_for_each_cast_of_autocast) {
  const OperatorRule written_out{};
  Calls calls;
  for (const OperatorRule* rule : {&linear_rule, &written_out}) {
    calls.add(rule, 1 * us);
    for (int i = 0; i < 2; ++i) {
      calls.launch(1 * us);
      calls.operations.operations.back().kernel_class = *operation_class_named("stream.cast");
    }
  }
  Calibration calibration = host_calibration();
  // Two further launches of the linear layer, and three calls.
  EXPECT_NEAR(calls.run(calibration, true).host_s, (30 + 0 + 3 * 15) * us, 1e-12);
  calibration.host_times["cast"] = {4 * us, 4 * us, 5 * us, 5 * us, 0};
  EXPECT_NEAR(calls.run(calibration, true).host_s, (30 + 2 * 5 + 15 + 2 * 5) * us, 1e-12);
}

TEST(HostPipeline, dispatches_longer_under_autocast_and_in_whole_networks) {
  Calls calls;
  calls.add(&relu_rule, 1 * us);
  calls.add(&relu_rule, 1 * us, true);
  EXPECT_NEAR(calls.run().host_s, 30 * us, 1e-12);
  EXPECT_NEAR(calls.run(host_calibration(), true).host_s, 40 * us, 1e-12);
  Calibration calibration = host_calibration();
  calibration.host_factor = 1.5;
  // And 6 calls per iteration before the first kernel.
  EXPECT_NEAR(calls.run(calibration, false, 6).host_s, 1.5 * (60 + 30) * us, 1e-12);
}

TEST(HostPipeline, of_an_update_grows_with_its_tensors) {
  Calls calls;
  calls.add(nullptr, 1 * us);
  calls.operations.calls.back().is_update = true;
  calls.operations.calls.back().tensors = 40;
  EXPECT_NEAR(calls.run().host_s, (100 + 40 * 5) * us, 1e-12);
}

TEST(HostPipeline, of_nothing_takes_no_time) { EXPECT_EQ(Calls{}.run().time_s, 0); }

TEST(HostPipeline, pays_for_the_views_that_an_operator_makes) {
  Calibration calibration = host_calibration();
  calibration.host_times["view"] = {2 * us, 7 * us, 3 * us, 8 * us, 0};
  const OperatorRule attention_rule{.host = "linear", .views = 4};
  Calls calls;
  calls.add(&attention_rule, us);
  calls.add(&attention_rule, us, true);
  EXPECT_NEAR(calls.run(calibration).host_s, (30 + 4 * 2 + 60 + 4 * 7) * us, 1e-12);
}

// Calibrations of single operators know no operations of PyTorch: each is as any operator.
TEST(HostPipeline, of_a_recording_takes_operators_where_operations_were_not_measured) {
  Calls calls;
  calls.add(nullptr, 1 * us);
  calls.operations.calls.back().operation = "aten::mul.Tensor";
  EXPECT_NEAR(calls.run().host_s, 10 * us, 1e-12);
  Calibration measured = host_calibration();
  measured.host_times["aten::any"] = {7 * us, 7 * us, 7 * us, 7 * us, 0};
  EXPECT_NEAR(calls.run(measured).host_s, 7 * us, 1e-12);
  measured.host_times["aten::mul"] = {4 * us, 4 * us, 4 * us, 4 * us, 0};
  EXPECT_NEAR(calls.run(measured).host_s, 4 * us, 1e-12);
}
}  // namespace
}  // namespace strata
