// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/strategies.hpp"

#include "strata/base/temporary_folder_test.hpp"
#include "strata/convolution/cpu/scratch.hpp"
#include "strata/convolution/lab/reference.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <random>

namespace strata {
namespace {

using Random = std::mt19937;

std::int64_t pick(Random& random, int least, int most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

std::vector<float> normal_values(std::int64_t count, Random& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

/// Anything goes.
ConvShape any_shape(Random& random) {
  const std::int64_t groups = pick(random, 0, 2) == 0 ? pick(random, 2, 4) : 1;
  return {.batch = pick(random, 1, 4),
          .channels = groups * pick(random, 1, 6),
          .height = pick(random, 1, 21),
          .width = pick(random, 1, 21),
          .filters = groups * pick(random, 1, 10),
          .kernel_height = pick(random, 1, 5),
          .kernel_width = pick(random, 1, 5),
          .stride_height = pick(random, 1, 3),
          .stride_width = pick(random, 1, 3),
          .pad_height = pick(random, 0, 3),
          .pad_width = pick(random, 0, 3),
          .dilation_height = pick(random, 1, 3),
          .dilation_width = pick(random, 1, 3),
          .groups = groups};
}

/// What a strategy with narrow limits can do.
ConvShape narrow_shape(Random& random) {
  ConvShape shape = any_shape(random);
  shape.stride_height = shape.stride_width = 1;
  if (pick(random, 0, 2) == 0) return shape;
  shape.kernel_height = shape.kernel_width = 3;
  shape.dilation_height = shape.dilation_width = 1;
  return shape;
}

ConvShape shape_number(int number, Random& random) {
  ConvShape shape;
  do {
    shape = number % 2 == 0 ? any_shape(random) : narrow_shape(random);
    switch (number % 10) {
      case 0:  // 1×1
        shape.kernel_height = shape.kernel_width = shape.stride_height = shape.stride_width = 1;
        shape.pad_height = shape.pad_width = 0;
        break;
      case 4:  // the kernel is the input
        shape.kernel_height = shape.height = pick(random, 1, 6);
        shape.kernel_width = shape.width = pick(random, 1, 6);
        shape.pad_height = shape.pad_width = 0;
        shape.dilation_height = shape.dilation_width = 1;
        break;
      case 2:  // filters for every lane of a vector, and some
      case 7: shape.filters = shape.groups * pick(random, 8, 70); break;
      case 5:  // the same of channels, for the input's gradient
      case 6: shape.channels = shape.groups * pick(random, 8, 40); break;
      case 3:  // each channel by itself
        shape.groups = shape.filters = shape.channels;
        break;
      case 8:
        shape.groups = shape.channels;
        shape.filters = shape.channels * pick(random, 1, 2);
        break;
      default: break;
    }
  } while (refusal_of(shape));
  return shape;
}

class NoMarks : public RoleMarks {
 public:
  void begin(KernelRole) override {}
};

/// One problem with its data and its answer.
struct Case {
  Case(const ConvShape& shape, ConvPass pass, Random& random)
      : problem{shape, pass},
        input(normal_values(shape.input_elements(), random)),
        weights(normal_values(shape.weight_elements(), random)),
        output(normal_values(shape.output_elements(), random)),
        expected(reference_result(shape, pass, {input, weights, output})) {}

  std::vector<float>& result() {
    return problem.pass == ConvPass::forward          ? output
           : problem.pass == ConvPass::input_gradient ? input
                                                      : weights;
  }

  ConvProblem problem;
  std::vector<float> input, weights, output;
  std::vector<double> expected;
};

/// Runs it twice over poisoned memory and compares with the defining sums.
void check(const ConvStrategy& strategy, Case& one) {
  const std::int64_t before = cpu::Scratch::bytes_in_use();
  const std::unique_ptr<PreparedConvolution> prepared = strategy.prepare(one.problem);
  EXPECT_EQ(cpu::Scratch::bytes_in_use() - before, strategy.scratch_bytes(one.problem));
  EXPECT_EQ(prepared->scratch_bytes(), strategy.scratch_bytes(one.problem));
  NoMarks marks;
  std::vector<float> first;
  for (int i = 0; i < 2; ++i) {
    std::fill(one.result().begin(), one.result().end(), std::numeric_limits<float>::quiet_NaN());
    prepared->run({one.input.data(), one.weights.data(), one.output.data()}, marks);
    if (i == 0) first = one.result();
  }
  const double error = relative_error(one.result(), one.expected);
  EXPECT_LE(error, strategy.tolerance(one.problem));  // fails for what is no number, too
  EXPECT_TRUE(first == one.result()) << "the second run differs";
}

TEST(CpuConvolution, every_strategy_computes_what_the_definition_says) {
  Random random(20);
  const std::unique_ptr<ConvDevice> device = cpu_conv_device();
  std::map<std::string, int> computed;
  for (int number = 0; number < 80; ++number) {
    const ConvShape shape = shape_number(number, random);
    for (const ConvPass pass : all_conv_passes) {
      Case one(shape, pass, random);
      for (const auto& strategy : device->strategies()) {
        // A library compiles code for every shape: some will do.
        if (strategy->is_vendor() && number % 16 != 1) continue;
        if (strategy->refusal(one.problem)) continue;
        SCOPED_TRACE(std::string(strategy->name()) + " " + std::string(name_of(pass)) + " " +
                     to_text(shape));
        ++computed[std::string(strategy->name()) + std::string(name_of(pass))];
        check(*strategy, one);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  for (const auto& strategy : device->strategies()) {
    const ConvProblem easy{{.height = 3, .width = 3, .kernel_height = 3, .kernel_width = 3}};
    if (strategy->is_vendor() || strategy->refusal(easy)) continue;  // a build without its library
    for (const ConvPass pass : all_conv_passes) {
      const std::string name = std::string(strategy->name()) + std::string(name_of(pass));
      const int least = strategy->name().starts_with("winograd") ? 15 : 40;
      EXPECT_GE(computed[name], least) << name;
    }
  }
}

/// Every channel by itself: rows shorter and longer than vectors, of odd and even lengths.
std::vector<ConvShape> depthwise_shapes() {
  std::vector<ConvShape> shapes;
  for (std::int64_t width = 1; width <= 36; width += width < 20 ? 1 : 5) {
    for (const std::int64_t kernel : {1, 3, 5}) {
      for (const std::int64_t stride : {1, 2, 3}) {
        const std::int64_t pad = (width + stride) % 2 == 0 ? kernel / 2 : 0;
        shapes.push_back({.batch = 2,
                          .channels = 2,
                          .height = 3 + width % 5,
                          .width = width,
                          .filters = 2,
                          .kernel_height = 3,
                          .kernel_width = kernel,
                          .stride_height = stride,
                          .stride_width = stride,
                          .pad_height = width % 3,
                          .pad_width = pad,
                          .groups = 2});
      }
    }
  }
  // More groups than images or threads.
  shapes.push_back({.batch = 2,
                    .channels = 401,
                    .height = 7,
                    .width = 7,
                    .filters = 401,
                    .kernel_height = 3,
                    .kernel_width = 3,
                    .pad_height = 1,
                    .pad_width = 1,
                    .groups = 401});
  std::erase_if(shapes, [](const ConvShape& shape) { return refusal_of(shape).has_value(); });
  return shapes;
}

void check_all(const std::vector<std::string_view>& names, const std::vector<ConvShape>& shapes) {
  Random random(21);
  const std::unique_ptr<ConvDevice> device = cpu_conv_device();
  for (const ConvShape& shape : shapes) {
    for (const ConvPass pass : all_conv_passes) {
      Case one(shape, pass, random);
      for (const auto& strategy : device->strategies()) {
        if (std::find(names.begin(), names.end(), strategy->name()) == names.end()) continue;
        if (const auto reason = strategy->refusal(one.problem)) GTEST_SKIP() << *reason;
        SCOPED_TRACE(std::string(strategy->name()) + " " + std::string(name_of(pass)) + " " +
                     to_text(shape));
        check(*strategy, one);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(CpuConvolution, depthwise_ones_are_computed_whatever_the_sizes) {
  check_all({"direct"}, depthwise_shapes());
}

// The image is its own matrix. Threads cut it along the pixels, the channels or the filters.
TEST(CpuConvolution, pointwise_ones_are_computed_whichever_side_is_longer) {
  std::vector<ConvShape> shapes;
  for (const auto& [channels, filters] :
       {std::pair{3, 150}, {150, 3}, {5, 33}, {33, 5}, {1, 2}, {40, 40}}) {
    for (const std::int64_t groups : {1, 2}) {
      shapes.push_back({.batch = 3,
                        .channels = groups * channels,
                        .height = 12,
                        .width = 13,
                        .filters = groups * filters,
                        .groups = groups});
    }
  }
  check_all({"unroll"}, shapes);
}

TEST(CpuConvolution, limits_are_stated) {
  const std::unique_ptr<ConvDevice> device = cpu_conv_device();
  const auto refusal = [&](std::string_view name, const ConvShape& shape,
                           DType dtype = DType::fp32) -> std::string {
    for (const auto& strategy : device->strategies()) {
      if (strategy->name() != name) continue;
      return strategy->refusal({shape, ConvPass::forward, dtype}).value_or("");
    }
    return "there is none";
  };
  ConvShape shape{.height = 9, .width = 9, .kernel_height = 3, .kernel_width = 3};
  if (!refusal("winograd4", shape).empty()) GTEST_SKIP() << refusal("winograd4", shape);
  EXPECT_EQ(refusal("direct", shape, DType::bf16), "only fp32 on the CPU");
  shape.stride_width = 2;
  EXPECT_EQ(refusal("winograd4", shape), "only stride 1");
  EXPECT_EQ(refusal("fft", shape), "only stride 1");
  EXPECT_EQ(refusal("direct", shape), "");
  shape.stride_width = 1;
  shape.dilation_height = 2;
  EXPECT_EQ(refusal("winograd2", shape), "only dilation 1");
  shape.kernel_width = 5;
  EXPECT_EQ(refusal("winograd2", shape), "only 3×3 kernels");
}

// Larger than the cuts of each strategy: several blocks of channels, of pixels, of tiles.
TEST(CpuConvolution, large_ones_are_cut_and_put_together_again) {
  check_all({"direct", "unroll", "fft", "winograd2", "winograd4"}, {{.batch = 2,
                                                                     .channels = 34,
                                                                     .height = 20,
                                                                     .width = 23,
                                                                     .filters = 67,
                                                                     .kernel_height = 3,
                                                                     .kernel_width = 3,
                                                                     .pad_height = 1,
                                                                     .pad_width = 1},
                                                                    {.batch = 2,
                                                                     .channels = 5,
                                                                     .height = 250,
                                                                     .width = 231,
                                                                     .filters = 3,
                                                                     .kernel_height = 3,
                                                                     .kernel_width = 3,
                                                                     .pad_height = 1}});
}

// The heap grows by what a strategy says, but for tables and what FFTW remembers of its plans.
TEST(CpuConvolution, scratch_memory_is_what_is_allocated) {
  const std::unique_ptr<ConvDevice> device = cpu_conv_device();
  const ConvShape shape{.batch = 4,
                        .channels = 64,
                        .height = 56,
                        .width = 56,
                        .filters = 64,
                        .kernel_height = 3,
                        .kernel_width = 3,
                        .pad_height = 1,
                        .pad_width = 1};
  const auto heap_bytes = [] {
    const struct mallinfo2 heap = ::mallinfo2();
    return static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
  };
  for (const auto& strategy : device->strategies()) {
    for (const ConvPass pass : all_conv_passes) {
      const ConvProblem problem{shape, pass};
      if (strategy->is_vendor() || strategy->refusal(problem)) continue;
      SCOPED_TRACE(std::string(strategy->name()) + " " + std::string(name_of(pass)));
      const std::int64_t before = heap_bytes();
      const auto prepared = strategy->prepare(problem);
      const std::int64_t grown = heap_bytes() - before;
      constexpr std::int64_t tables = 256 << 10;
      EXPECT_GE(grown, prepared->scratch_bytes());
      EXPECT_LE(grown, prepared->scratch_bytes() + tables);
    }
  }
}

// In a container, what its limit leaves; the computer may have more.
TEST(CpuConvolution, free_memory_is_what_control_groups_leave) {
  const test::TemporaryFolder folder;
  const auto put = [&](const char* path, const char* text) {
    std::filesystem::create_directories((folder.path() / path).parent_path());
    std::ofstream(folder.path() / path) << text << '\n';
  };
  put("proc/meminfo", "MemTotal:  900 kB\nMemAvailable:    500 kB");
  put("proc/self/cgroup", "0::/job");
  put("sys/fs/cgroup/job/memory.max", "300000");
  put("sys/fs/cgroup/job/memory.current", "100000");
  EXPECT_EQ(cpu_conv_device(folder.path())->free_bytes(), 200000);
}

TEST(CpuConvolution, a_device_times_runs_and_their_roles) {
  const std::unique_ptr<ConvDevice> device = cpu_conv_device();
  EXPECT_FALSE(device->name().empty());
  EXPECT_GT(device->free_bytes(), 0);
  const ConvProblem problem{{.channels = 4, .height = 20, .width = 20, .kernel_height = 3}};
  const ConvStrategy& direct = *device->strategies()[0];
  if (const auto reason = direct.refusal(problem)) GTEST_SKIP() << *reason;
  const auto input = device->allocate(problem.shape.input_elements() * 4);
  const auto weights = device->allocate(problem.shape.weight_elements() * 4);
  const auto output = device->allocate(problem.shape.output_elements() * 4);
  const std::vector<float> ones(static_cast<std::size_t>(problem.shape.input_elements()), 1.0F);
  device->upload(input.get(), ones.data(), problem.shape.input_elements() * 4);
  device->upload(weights.get(), ones.data(), problem.shape.weight_elements() * 4);
  const auto prepared = direct.prepare(problem);
  const ConvTiming timing =
      device->time(*prepared, {input.get(), weights.get(), output.get()}, {.samples = 4});
  EXPECT_EQ(timing.samples_s.size(), 4U);
  EXPECT_FALSE(timing.roles.empty());
  for (const RoleTime& role : timing.roles) EXPECT_GE(role.seconds, 0);
  float last = 0;
  device->download(&last, static_cast<float*>(output.get()) + problem.shape.output_elements() - 1,
                   4);
  EXPECT_EQ(last, 12);  // 4 channels × 3 weights of one
}

}  // namespace
}  // namespace strata
