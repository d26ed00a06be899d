// SPDX-License-Identifier: Apache-2.0
// What a GPU does for networks beside their operators: updates, sums, recordings, traces.
#include "strata/base/error.hpp"
#include "strata/graph/bind.hpp"
#include "strata/graph/builder.hpp"
#include "tests/device/training_numbers.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace strata::test {
namespace {

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

// Parameters of fp64 are updated in fp64; the states of the optimizer are fp32 on both devices.
TEST_F(TrainingGpu, updates_fp64_as_fp64) {
  const auto cpu = cpu_training_device({});
  std::mt19937_64 random(8);
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam}) {
    const std::int64_t count = 1003;
    const std::vector<double> start = random_doubles(count, -1, 1, random);
    const std::vector<double> gradient = random_doubles(count, -1, 1, random);
    const std::vector<double> zeros(static_cast<std::size_t>(count), 0);
    std::vector<std::vector<double>> results;
    for (TrainingDevice* device : {gpu_.get(), cpu.get()}) {
      const Placed parameter(*device, start, DType::fp64), slope(*device, gradient, DType::fp64);
      const Placed first(*device, zeros, DType::fp32), second(*device, zeros, DType::fp32);
      UpdateMemory memory;
      memory.parameter = parameter.get();
      memory.gradient = slope.get();
      if (optimizer != Optimizer::sgd) memory.states.push_back(static_cast<float*>(first.get()));
      if (optimizer == Optimizer::adam) memory.states.push_back(static_cast<float*>(second.get()));
      memory.elements = count;
      memory.dtype = DType::fp64;
      device->update({.optimizer = optimizer}, memory);
      device->wait();
      results.push_back(parameter.numbers());
    }
    EXPECT_LT(error_of(results[0], results[1]), 1e-13);
  }
}

// Sizes that end inside a block, within a pack and at neither.
TEST_F(TrainingGpu, updates_together_as_one_by_one) {
  std::mt19937_64 random(4);
  const std::vector<std::int64_t> counts = {1, 7, 1024, 4099, 64, 100'000};
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam}) {
    for (const DType dtype : {DType::fp32, DType::bf16}) {
      std::vector<std::vector<double>> starts, slopes, results[2];
      for (const std::int64_t count : counts) {
        starts.push_back(random_doubles(count, -1, 1, random));
        slopes.push_back(random_doubles(count, -1, 1, random));
      }
      for (const bool is_together : {false, true}) {
        std::vector<std::unique_ptr<Placed>> placed, parameters;
        std::vector<UpdateMemory> memories;
        for (std::size_t i = 0; i < counts.size(); ++i) {
          UpdateMemory& memory = memories.emplace_back();
          parameters.push_back(std::make_unique<Placed>(*gpu_, starts[i], dtype));
          placed.push_back(std::make_unique<Placed>(*gpu_, slopes[i], dtype));
          memory.parameter = parameters.back()->get();
          memory.gradient = placed.back()->get();
          memory.elements = counts[i];
          memory.dtype = dtype;
          const std::vector<double> zeros(static_cast<std::size_t>(counts[i]), 0);
          for (int state = 0; state < static_cast<int>(optimizer == Optimizer::adam) +
                                          static_cast<int>(optimizer != Optimizer::sgd);
               ++state) {
            placed.push_back(std::make_unique<Placed>(*gpu_, zeros, DType::fp32));
            memory.states.push_back(static_cast<float*>(placed.back()->get()));
          }
        }
        for (int iteration = 1; iteration <= 2; ++iteration) {
          for (UpdateMemory& memory : memories) {
            memory.iteration = iteration;
            if (!is_together) gpu_->update({.optimizer = optimizer}, memory);
          }
          if (is_together) gpu_->update_together({.optimizer = optimizer}, memories);
        }
        gpu_->wait();
        for (const auto& parameter : parameters)
          results[static_cast<int>(is_together)].push_back(parameter->numbers());
      }
      EXPECT_EQ(results[0], results[1]);
      EXPECT_NE(results[1][3], rounded(starts[3], dtype));
    }
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
  EXPECT_EQ(runs[0].work, DeviceWork::kernel);
  EXPECT_GT(runs[0].launch.blocks, 0);
  EXPECT_GT(runs[0].launch.registers_per_thread, 0);
  ASSERT_TRUE(gpu_->multiprocessor());
  const auto occupancy = occupancy_of(runs[0].launch, *gpu_->multiprocessor());
  ASSERT_TRUE(occupancy);
  EXPECT_GT(occupancy->share, 0);
  EXPECT_LE(occupancy->share, 1);
  EXPECT_TRUE(gpu_->take_notes().empty());
}

TEST_F(TrainingGpu, tells_fills_and_copies_from_kernels) {
  const std::vector<double> zeros(1000, 0);
  const Placed numbers(*gpu_, zeros, DType::fp32);
  const auto runs = gpu_->trace([&](const std::function<void(std::size_t)>& begin_part) {
    begin_part(0);
    gpu_->fill_zero(numbers.get(), 4000);
  });
  if (runs.empty()) GTEST_SKIP() << "no tracing here";
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].work, DeviceWork::fill);
}

// While one trace runs there cannot be another: the reason is a note, and no kernel has a time.
TEST_F(TrainingGpu, says_why_there_is_no_trace) {
  std::unique_ptr<DeviceTrace> other;
  try {
    other = begin_device_trace();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_TRUE(gpu_->trace([](const auto&) {}).empty());
  const std::vector<std::string> notes = gpu_->take_notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("no times of single kernels"), std::string::npos) << notes[0];
  EXPECT_TRUE(gpu_->take_notes().empty());
}

/// One convolution of 3×3 windows, which every strategy computes.
Graph convolution_graph() {
  GraphBuilder builder("one");
  const TensorId x = builder.input("x", {8, 16, 32, 32}, DType::fp32);
  Convolution op;
  op.channels = 16;
  op.kernel = {3, 3};
  builder.add("conv", op, {x});
  return std::move(builder).finish();
}

TEST_F(TrainingGpu, counts_the_memory_of_strategies_and_workspaces) {
  const Graph graph = convolution_graph();
  const BoundGraph bound = bind_graph(graph, {}, DType::fp32);
  EXPECT_GT(gpu_->shared_bytes(), 0);  // of the matrix products
  DeviceChoices by_fft;
  by_fft.convolution = "fft";
  const auto gpu = cuda_training_device(0, by_fft);
  const std::int64_t before = gpu->shared_bytes(), free_before = gpu->free_bytes();
  const KernelsOrReason made = gpu->kernels(bound, 0, true);
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<NodeKernels>>(made));
  EXPECT_EQ(std::get<std::unique_ptr<NodeKernels>>(made)->implementation(Pass::forward), "fft");
  EXPECT_GT(gpu->shared_bytes(), before);
  EXPECT_GE(gpu->shared_bytes() - before + (std::int64_t{256} << 20),
            free_before - gpu->free_bytes());
}

TEST_F(TrainingGpu, names_library_version_and_engine) {
  const Graph graph = convolution_graph();
  const BoundGraph bound = bind_graph(graph, {}, DType::fp32);
  for (const std::string& version : gpu_->versions()) {
    if (version.starts_with("without cuDNN")) GTEST_SKIP() << version;
  }
  const KernelsOrReason made = gpu_->kernels(bound, 0, true);
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<NodeKernels>>(made));
  const std::string name =
      std::get<std::unique_ptr<NodeKernels>>(made)->implementation(Pass::forward);
  EXPECT_TRUE(name.starts_with("cuDNN 9.")) << name;
  EXPECT_NE(name.find(" engine "), std::string::npos) << name;
}

TEST_F(TrainingGpu, refuses_a_strategy_that_is_not_there) {
  DeviceChoices choices;
  choices.convolution = "magic";
  const auto gpu = cuda_training_device(0, choices);
  const Graph graph = convolution_graph();
  const BoundGraph bound = bind_graph(graph, {}, DType::fp32);
  try {
    gpu->kernels(bound, 0, true);
    FAIL() << "a strategy of that name";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("direct"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace strata::test
