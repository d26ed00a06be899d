// SPDX-License-Identifier: Apache-2.0
// Every operator on the GPU, in every pass and data type, against the CPU's kernels in double
// precision on the same numbers; those are held against finite differences by the unit tests.
#include "strata/base/error.hpp"
#include "tests/device/training_comparison.hpp"

namespace strata::test {
namespace {

TEST_P(OnBoth, every_operator_agrees) {
  for (const TrainingCase& one : training_cases()) compare(one, false);
}

TEST_P(OnBoth, gradients_agree_one_by_one) {
  for (const TrainingCase& one : training_cases()) compare(one, true);
}

INSTANTIATE_TEST_SUITE_P(Training, OnBoth,
                         testing::Values(DType::fp64, DType::fp32, DType::tf32, DType::bf16,
                                         DType::fp16),
                         [](const auto& one) { return std::string(name_of(one.param)); });

class TrainingGpu : public testing::Test {
 protected:
  void SetUp() override {
    try {
      gpu_ = cuda_training_device(0, {});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  std::unique_ptr<TrainingDevice> gpu_;
};

TEST_F(TrainingGpu, updates_as_the_cpu_does) {
  const auto cpu = cpu_training_device({});
  std::mt19937_64 random(3);
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam}) {
    const std::int64_t count = 1003;
    const std::vector<double> start = random_doubles(count, -1, 1, random);
    const std::vector<double> gradient = random_doubles(count, -1, 1, random);
    std::vector<std::vector<double>> results;
    for (TrainingDevice* device : {gpu_.get(), cpu.get()}) {
      const Placed parameter(*device, start, DType::fp32), slope(*device, gradient, DType::fp32);
      const std::vector<double> zeros(static_cast<std::size_t>(count), 0);
      const Placed first(*device, zeros, DType::fp32), second(*device, zeros, DType::fp32);
      UpdateMemory memory;
      memory.parameter = parameter.get();
      memory.gradient = slope.get();
      if (optimizer != Optimizer::sgd) memory.states.push_back(static_cast<float*>(first.get()));
      if (optimizer == Optimizer::adam) memory.states.push_back(static_cast<float*>(second.get()));
      memory.elements = count;
      for (memory.iteration = 1; memory.iteration <= 3; ++memory.iteration)
        device->update({.optimizer = optimizer}, memory);
      device->wait();
      results.push_back(parameter.numbers());
    }
    EXPECT_LT(error_of(results[0], results[1]), 1e-6);
    EXPECT_GT(error_of(results[0], rounded(start, DType::fp32)), 1e-4);
  }
}

TEST_F(TrainingGpu, adds_records_and_takes_the_time) {
  std::mt19937_64 random(5);
  const std::vector<double> a = random_doubles(4099, -1, 1, random);
  const Placed first(*gpu_, a, DType::fp32), sum(*gpu_, a, DType::fp32);
  const auto work =
      gpu_->record([&] { gpu_->add(sum.get(), sum.get(), first.get(), 4099, DType::fp32); });
  ASSERT_NE(work, nullptr);
  const auto stopwatch = gpu_->stopwatch(3);
  stopwatch->mark(0);
  work->launch();
  stopwatch->mark(1);
  work->launch();
  stopwatch->mark(2);
  const std::vector<double> seconds = stopwatch->seconds();
  EXPECT_EQ(seconds[0], 0);
  EXPECT_GT(seconds[1], 0);
  EXPECT_GT(seconds[2], seconds[1]);
  std::vector<double> tripled = rounded(a, DType::fp32);
  for (double& number : tripled) number *= 3;
  EXPECT_LT(error_of(sum.numbers(), tripled), 1e-6);
  gpu_->fill_zero(sum.get(), 8);
  EXPECT_EQ(sum.numbers()[0], 0);
}

// Where tracing cannot be had there is nothing, and the device goes on.
TEST_F(TrainingGpu, traces_kernels_by_part) {
  std::mt19937_64 random(6);
  const std::vector<double> a = random_doubles(100'000, -1, 1, random);
  const Placed sum(*gpu_, a, DType::fp32);
  const auto runs = gpu_->trace([&](const std::function<void(std::size_t)>& begin_part) {
    for (const std::size_t part : {4, 7}) {
      begin_part(part);
      gpu_->add(sum.get(), sum.get(), sum.get(), 100'000, DType::fp32);
    }
  });
  if (runs.empty()) GTEST_SKIP() << "no tracing here";
  EXPECT_NEAR(sum.numbers()[5], 4 * a[5], 1e-5);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].part, 4U);
  EXPECT_EQ(runs[1].part, 7U);
  EXPECT_GT(runs[0].seconds, 0);
  EXPECT_GE(runs[1].begin_s, runs[0].begin_s + runs[0].seconds);
}

}  // namespace
}  // namespace strata::test
