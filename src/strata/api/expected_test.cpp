// SPDX-License-Identifier: Apache-2.0
#include "strata/api/expected.hpp"

#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace strata {
namespace {

struct ExpectedCase {
  std::string model;
  std::optional<DType> dtype;
  FrameworkOptions options;
  std::string framework = "pytorch-eager";
};

std::vector<ExpectedCase> expected_cases() {
  return {{"resnet18", std::nullopt, {}},
          {"resnet18", DType::tf32, {}},
          {"mobilenet_v2", std::nullopt, {.autocast = DType::bf16}},
          {"mobilenet_v2", std::nullopt, {.autocast = DType::fp16, .channels_last = true}},
          {"bert_base", std::nullopt, {.attention = AttentionKernels::eager}},
          {"vit_b_16", std::nullopt, {.autocast = DType::bf16}},
          {"lstm_stack", std::nullopt, {}},
          {"lenet5", std::nullopt, {}},
          {"resnet18", DType::tf32, {}, "pytorch-compile"},
          {"densenet121", std::nullopt, {}, "pytorch-compile"},
          {"mobilenet_v2", std::nullopt, {.autocast = DType::bf16}, "pytorch-compile"},
          {"bert_base", std::nullopt, {.attention = AttentionKernels::eager}, "pytorch-compile"},
          {"lstm_stack", std::nullopt, {}, "pytorch-compile"}};
}

ExpectedTime expected_of(const ExpectedCase& one, std::int64_t batch,
                         const TrainingOptions& training = {}, std::string_view machine = "h200") {
  const Graph graph = load_model(one.model);
  ModelSizes sizes;
  set_batch(sizes, batch);
  sizes.dtype = one.dtype;
  const BoundGraph bound = bind_model(graph, sizes);
  ExpectedRequest request;
  request.options = one.options;
  request.framework = one.framework;
  return ExpectedTimes(load_machine(machine), request).of(bound, training);
}

TEST(ExpectedTime, is_arithmetic_and_what_is_lost) {
  for (const ExpectedCase& one : expected_cases()) {
    const ExpectedTime time = expected_of(one, 32);
    double sum = time.arithmetic_s, before = INFINITY;
    for (const LostTime& lost : time.lost_to) {
      EXPECT_GT(lost.time_s, 0) << lost.to;
      EXPECT_LE(lost.time_s, before) << "the largest first";
      before = lost.time_s;
      sum += lost.time_s;
    }
    EXPECT_NEAR(sum, time.time_s, 1e-9 * time.time_s) << one.model;
    EXPECT_GT(time.arithmetic_s, 0);
  }
}

// Fewer kernels that move less, launched without a dispatch each; and known less well.
TEST(ExpectedTime, of_a_compiled_network_has_fewer_kernels_and_a_wider_interval) {
  const ExpectedCase eager{"resnet50", std::nullopt, {.autocast = DType::bf16}};
  ExpectedCase compiled = eager;
  compiled.framework = "pytorch-compile";
  const ExpectedTime before = expected_of(eager, 64), after = expected_of(compiled, 64);
  EXPECT_EQ(after.framework, "pytorch-compile");
  EXPECT_EQ(after.calibration, CalibrationUse::calibrated);
  EXPECT_EQ(after.calibrated_on, "h200");
  EXPECT_TRUE(after.uncovered.empty());
  EXPECT_TRUE(after.unknown_operators.empty());
  EXPECT_LT(after.launches, before.launches);
  EXPECT_LT(after.kernels_s, 0.6 * before.kernels_s);
  EXPECT_LT(after.time_s, before.time_s);
  EXPECT_LE(after.memory_bytes, before.memory_bytes);
  const ExpectedTime eager_bert = expected_of({"bert_base", DType::fp32, {}}, 32);
  const ExpectedTime bert = expected_of({"bert_base", DType::fp32, {}, "pytorch-compile"}, 32);
  EXPECT_GT(bert.high_s / bert.low_s, eager_bert.high_s / eager_bert.low_s);
  EXPECT_EQ(expected_of(compiled, 64, {}, "a10g").calibration, CalibrationUse::transferred);
}

TEST(ExpectedTime, lies_in_its_interval_and_is_no_shorter_than_its_kernels) {
  for (const ExpectedCase& one : expected_cases()) {
    const ExpectedTime time = expected_of(one, 32);
    EXPECT_LE(time.low_s, time.time_s) << one.model;
    EXPECT_GE(time.high_s, time.time_s) << one.model;
    EXPECT_GT(time.low_s, 0.2 * time.time_s);
    EXPECT_LT(time.high_s, 5 * time.time_s);
    EXPECT_LE(time.busy_s, time.time_s);
    EXPECT_LE(time.host_s, time.time_s);
    EXPECT_GE(time.kernels_s, time.busy_s * (1 - 1e-9));
    EXPECT_GT(time.memory_bytes, 0);
  }
}

TEST(ExpectedTime, of_steps_and_of_classes_adds_up) {
  for (const ExpectedCase& one : expected_cases()) {
    const ExpectedTime time = expected_of(one, 16);
    ExpectedStep sum;
    for (const ExpectedStep& step : time.steps) {
      sum.busy_s += step.busy_s;
      sum.kernels_s += step.kernels_s;
      sum.host_s += step.host_s;
      sum.launches += step.launches;
    }
    EXPECT_NEAR(sum.busy_s, time.busy_s, 1e-9 * time.busy_s) << one.model;
    EXPECT_NEAR(sum.kernels_s, time.kernels_s, 1e-9 * time.kernels_s);
    EXPECT_EQ(sum.launches, time.launches) << one.model;
    // What the host does before the first kernel belongs to no step.
    EXPECT_LT(sum.host_s, time.host_s);
    EXPECT_GT(sum.host_s, 0);
    double busy_s = 0;
    std::int64_t launches = 0;
    for (const ClassTime& of_class : time.classes) {
      busy_s += of_class.busy_s;
      launches += of_class.launches;
    }
    EXPECT_NEAR(busy_s, time.busy_s, 1e-9 * time.busy_s);
    EXPECT_EQ(launches, time.launches);
  }
}

TEST(ExpectedTime, of_twice_the_batch_is_longer) {
  for (const ExpectedCase& one : expected_cases()) {
    double busy_s = 0, time_s = 0;
    std::int64_t memory_bytes = 0;
    for (const std::int64_t batch : {16, 32, 64, 128}) {
      const ExpectedTime time = expected_of(one, batch);
      EXPECT_GT(time.busy_s, busy_s) << one.model << " " << batch;
      // The host takes as long, but for libraries that choose kernels with fewer launches.
      EXPECT_GT(time.time_s, (time.is_host_bound() ? 0.98 : 1) * time_s) << one.model;
      EXPECT_GT(time.memory_bytes, memory_bytes) << one.model << " " << batch;
      busy_s = time.busy_s;
      time_s = time.time_s;
      memory_bytes = time.memory_bytes;
    }
  }
}

TEST(ExpectedTime, of_inference_is_a_part_of_that_of_training) {
  for (const ExpectedCase& one : expected_cases()) {
    const ExpectedTime training = expected_of(one, 32);
    const ExpectedTime inference = expected_of(one, 32, {.inference = true});
    EXPECT_LT(inference.busy_s, 0.6 * training.busy_s) << one.model;
    EXPECT_LT(10 * inference.launches, 6 * training.launches) << one.model;
    EXPECT_GT(inference.time_s, 0);
    EXPECT_LT(inference.memory_bytes, training.memory_bytes);
  }
}

TEST(ExpectedTime, does_not_depend_on_how_the_limit_lays_out_backward) {
  const ExpectedCase one{"bert_base", std::nullopt, {.autocast = DType::bf16}};
  const ExpectedTime together = expected_of(one, 8);
  const ExpectedTime apart = expected_of(one, 8, {.separate_backward = true});
  EXPECT_NEAR(apart.busy_s, together.busy_s, 1e-9 * together.busy_s);
  EXPECT_EQ(apart.launches, together.launches);
}

TEST(ExpectedTime, of_a_small_network_is_bound_by_the_host_and_of_a_large_batch_by_the_gpu) {
  EXPECT_TRUE(expected_of({"lenet5", std::nullopt, {}}, 4).is_host_bound());
  EXPECT_FALSE(expected_of({"resnet50", std::nullopt, {}}, 256).is_host_bound());
}

TEST(ExpectedTime, says_on_which_gpu_its_kernels_were_measured) {
  const ExpectedCase one{"resnet18", std::nullopt, {}};
  const ExpectedTime own = expected_of(one, 32);
  EXPECT_EQ(own.calibration, CalibrationUse::calibrated);
  EXPECT_EQ(own.calibrated_on, "h200");
  EXPECT_EQ(own.framework, "pytorch-eager");
  EXPECT_TRUE(own.unknown_operators.empty());
  const ExpectedTime known = expected_of(one, 32, {}, "a100-80gb");
  EXPECT_EQ(known.calibration, CalibrationUse::corrected);
  EXPECT_EQ(known.calibrated_on, "h200");
  const ExpectedTime other = expected_of(one, 32, {}, "a10g");
  EXPECT_EQ(other.calibration, CalibrationUse::transferred);
  EXPECT_EQ(other.calibrated_on, "h200");
  EXPECT_GT(other.busy_s, own.busy_s);
}

TEST(ExpectedTime, of_what_nobody_measured_names_its_classes) {
  const ExpectedTime covered = expected_of({"resnet18", std::nullopt, {}}, 32);
  EXPECT_TRUE(covered.uncovered.empty())
      << covered.uncovered.front().kernel_class << " " << covered.uncovered.front().share;
  Calibration nothing;
  nothing.machine = "h200";
  nothing.framework = "pytorch-eager";
  const Machine machine = load_machine("h200");
  const Graph graph = load_model("lenet5");
  const BoundGraph bound = bind_model(graph);
  const ExpectedTime guessed = ExpectedTimes(machine, {}, nothing, machine).of(bound, {});
  double share = 0;
  for (const UncoveredClass& one : guessed.uncovered) share += one.share;
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_EQ(guessed.uncovered.size(), guessed.classes.size());
  // All of it is a guess of a factor of two: the interval is wide.
  EXPECT_GT(guessed.high_s / guessed.low_s, 1.5);
}

// What is known of a V100 is of its PCIe card: forward and backward follow it alike.
TEST(ExpectedTime, by_tables_of_another_card_of_the_chip_is_that_of_the_card_by_its_clock) {
  const ExpectedCase one{"resnet18", std::nullopt, {}};
  const ExpectedTime card = expected_of(one, 64, {}, "v100-pcie");
  const ExpectedTime faster = expected_of(one, 64, {}, "v100");
  EXPECT_EQ(faster.calibration, CalibrationUse::corrected);
  EXPECT_LT(faster.busy_s, card.busy_s);
  EXPECT_GT(faster.busy_s, 0.85 * card.busy_s);  // 1.38 and 1.53 GHz
}

TEST(ExpectedTime, is_a_number_in_every_type_on_every_gpu) {
  const Graph graph = load_model("resnet18");
  for (const std::string_view name :
       {"h200", "h100-pcie", "a100-40gb", "v100", "b200", "l4", "l40s", "rtx-2080-ti", "rtx-4090",
        "gtx-1080-ti", "p40", "k80", "mi250x", "mi300x", "radeon-6900-xt"}) {
    const Machine machine = load_machine(name);
    if (ExpectedTimes::reason_against(machine, {})) continue;
    for (const DType dtype : {DType::fp64, DType::fp32, DType::tf32, DType::bf16, DType::fp16}) {
      const BoundGraph bound = bind_model(graph, {.dtype = dtype});
      const ExpectedTime time = ExpectedTimes(machine, {}).of(bound, {});
      EXPECT_TRUE(std::isfinite(time.time_s) && time.time_s > 0) << name << name_of(dtype);
      EXPECT_TRUE(std::isfinite(time.high_s) && time.low_s > 0) << name << name_of(dtype);
    }
  }
}

// Volta and Turing have matrix units for fp16 and none for bf16, whose samples fp16 takes.
TEST(ExpectedTime, in_fp16_is_at_the_fp16_peak_of_the_gpu) {
  for (const std::string_view gpu : {"v100", "t4", "rtx-2080-ti"}) {
    const double fp32_s = expected_of({"bert_large", std::nullopt, {}}, 16, {}, gpu).time_s;
    const double fp16_s =
        expected_of({"bert_large", std::nullopt, {.autocast = DType::fp16}}, 16, {}, gpu).time_s;
    EXPECT_GT(fp32_s / fp16_s, 2) << gpu;
  }
  // NVIDIA/DeepLearningExamples, PyTorch/Classification/ConvNets/resnet50v1.5, training performance
  // on a V100 with mixed precision: 1156 images/s.
  const ExpectedTime resnet =
      expected_of({"resnet50", std::nullopt, {.autocast = DType::fp16, .channels_last = true}}, 256,
                  {}, "v100");
  EXPECT_LT(std::fabs(std::log(resnet.time_s / (256 / 1156.0))), std::log(1.5));
}

TEST(ExpectedTime, is_there_for_gpus_alone) {
  const auto reason = ExpectedTimes::reason_against(load_machine("grace"), {});
  const auto none = ExpectedTimes::reason_against(load_machine("h200"), {});
  EXPECT_FALSE(none) << *none;
  EXPECT_TRUE(reason);
  EXPECT_THROW(ExpectedTimes(load_machine("grace"), {}), Error);
  EXPECT_THROW(ExpectedTimes::reason_against(load_machine("h200"), {.framework = "caffe"}), Error);
}

// Kernels of one vendor say nothing of another one's.
TEST(ExpectedTime, is_not_carried_over_to_another_vendor) {
  for (const char* name : {"mi300x", "arc-pro-b60", "radeon-6900-xt"}) {
    const auto reason = ExpectedTimes::reason_against(load_machine(name), {});
    ASSERT_TRUE(reason) << name;
    EXPECT_NE(reason->find("there is no calibration of pytorch-eager"), std::string::npos);
  }
  Machine made_up = load_machine("mi300x");
  made_up.vendor.clear();  // an architect's, of which nobody says whose it is
  EXPECT_FALSE(ExpectedTimes::reason_against(made_up, {}));
}

TEST(ExpectedTimes, totals_are_those_of_the_whole_answer) {
  for (const ExpectedCase& one : expected_cases()) {
    const Graph graph = load_model(one.model);
    const BoundGraph bound = bind_model(graph, {.batch = 8, .dtype = one.dtype});
    ExpectedRequest request;
    request.options = one.options;
    const Program program = make_program(bound, {.unroll_recurrent = false});
    const ExpectedProgram prepared(program, request, Optimizer::momentum);
    // One calibration, with and without corrections.
    for (const char* name : {"h200", "a100-40gb", "rtx-2080-ti", "rtx-4090"}) {
      const ExpectedTimes times(load_machine(name), request);
      const ExpectedTime whole = times.of(bound, {});
      const ExpectedTotals totals = times.totals(prepared);
      EXPECT_EQ(totals.time_s, whole.time_s) << one.model << " on " << name;
      EXPECT_EQ(totals.low_s, whole.low_s);
      EXPECT_EQ(totals.high_s, whole.high_s);
      EXPECT_EQ(totals.busy_s, whole.busy_s);
      EXPECT_EQ(totals.host_s, whole.host_s);
      EXPECT_EQ(totals.launches, whole.launches);
      EXPECT_EQ(times.memory_bytes(prepared), whole.memory_bytes);
    }
  }
}

TEST(ExpectedTimes, on_a_changed_machine_are_those_made_for_it) {
  Machine machine = load_machine("h200");
  const ExpectedTimes times(machine, {});
  machine.memory.back().bandwidth_bytes_per_s->value /= 2;
  const Graph graph = load_model("resnet18");
  const BoundGraph bound = bind_model(graph, {.batch = 8});
  const double changed_s = times.on(machine).of(bound, {}).time_s;
  EXPECT_EQ(changed_s, ExpectedTimes(machine, {}).of(bound, {}).time_s);
  EXPECT_GT(changed_s, times.of(bound, {}).time_s);
}

}  // namespace
}  // namespace strata
