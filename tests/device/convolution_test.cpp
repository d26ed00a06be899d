// SPDX-License-Identifier: Apache-2.0
// Every strategy of the GPU in every pass, against the defining sums in double precision.
#include "strata/base/error.hpp"
#include "strata/convolution/lab/reference.hpp"
#include "strata/convolution/lab/strategy.hpp"
#include "strata/measure/ceilings/ceilings.hpp"

#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace strata::test {
namespace {

class Convolution : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = shared_device();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  // The libraries take seconds to load: once for all tests.
  static ConvDevice* shared_device() {
    static const std::unique_ptr<ConvDevice> device = cuda_conv_device(0);
    return device.get();
  }
  ConvDevice* device_ = nullptr;
};

class NoMarks final : public RoleMarks {
 public:
  void begin(KernelRole) override {}
};

/// Tensors on the host and on the device; what the pass computes is poisoned on the device.
class Case {
 public:
  Case(ConvDevice& device, const ConvProblem& problem, unsigned seed)
      : device_(device), problem_(problem) {
    std::mt19937 random(seed);
    const ConvShape& shape = problem.shape;
    fill(input_, shape.input_elements(), random);
    fill(weights_, shape.weight_elements(), random);
    fill(output_, shape.output_elements(), random);
    for (const auto* tensor : {&input_, &weights_, &output_})
      memory_.push_back(device.allocate(bytes(*tensor)));
    tensors_ = {memory_[0].get(), memory_[1].get(), memory_[2].get()};
    upload(tensors_.input, input_);
    upload(tensors_.weights, weights_);
    upload(tensors_.output, output_);
    const std::vector<float> poison(static_cast<std::size_t>(result_elements(shape, problem.pass)),
                                    std::numeric_limits<float>::quiet_NaN());
    upload(written(), poison);
  }

  const ConvTensors& tensors() const { return tensors_; }
  ConvData data() const { return {input_, weights_, output_}; }

  std::vector<float> run(const ConvStrategy& strategy) {
    NoMarks marks;
    const auto prepared = strategy.prepare(problem_);
    prepared->run(tensors_, marks);
    prepared->run(tensors_, marks);  // what was there before does not matter
    std::vector<float> result(
        static_cast<std::size_t>(result_elements(problem_.shape, problem_.pass)));
    download(result);
    return result;
  }

 private:
  std::int64_t bytes(const std::vector<float>& tensor) const {
    return static_cast<std::int64_t>(tensor.size()) * bytes_per_element(problem_.dtype);
  }
  // Numbers that a half holds exactly, so that the reference sees what the device sees.
  static void fill(std::vector<float>& tensor, std::int64_t elements, std::mt19937& random) {
    tensor.resize(static_cast<std::size_t>(elements));
    std::uniform_int_distribution<int> number(-128, 128);
    for (float& value : tensor) value = static_cast<float>(number(random)) / 128.0F;
  }
  void upload(void* to, const std::vector<float>& from) {
    if (problem_.dtype == DType::fp32) {
      device_.upload(to, from.data(), bytes(from));
      return;
    }
    std::vector<std::uint16_t> halves(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) halves[i] = half_bits(from[i]);
    device_.upload(to, halves.data(), bytes(from));
  }
  void download(std::vector<float>& to) {
    if (problem_.dtype == DType::fp32) {
      device_.download(to.data(), written(), bytes(to));
      return;
    }
    std::vector<std::uint16_t> halves(to.size());
    device_.download(halves.data(), written(), bytes(to));
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from_half(halves[i]);
  }
  std::uint16_t half_bits(float value) const {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if (problem_.dtype == DType::bf16) return static_cast<std::uint16_t>(bits >> 16);
    const __half_raw raw = __float2half_rn(value);
    return raw.x;
  }
  float from_half(std::uint16_t half) const {
    if (problem_.dtype == DType::bf16) {
      const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    __half_raw raw;
    raw.x = half;
    return __half2float(raw);
  }
  void* written() const {
    switch (problem_.pass) {
      case ConvPass::forward: return tensors_.output;
      case ConvPass::input_gradient: return tensors_.input;
      case ConvPass::weight_gradient: break;
    }
    return tensors_.weights;
  }

  ConvDevice& device_;
  ConvProblem problem_;
  std::vector<float> input_, weights_, output_;
  std::vector<std::shared_ptr<void>> memory_;
  ConvTensors tensors_;
};

ConvShape random_shape(std::mt19937& random) {
  const auto among = [&](int low, int high) {
    return std::int64_t{std::uniform_int_distribution<int>(low, high)(random)};
  };
  ConvShape shape;
  shape.groups = among(0, 3) == 0 ? among(2, 3) : 1;
  const bool is_depthwise = shape.groups > 1 && among(0, 1) == 0;
  shape.batch = among(1, 5);
  shape.channels = shape.groups * (is_depthwise ? 1 : among(1, 10));
  shape.filters = shape.groups * (is_depthwise ? among(1, 2) : among(1, 20));
  shape.height = among(3, 45), shape.width = among(3, 45);
  if (among(0, 2) == 0) {  // what Winograd can do
    shape.kernel_height = shape.kernel_width = 3;
  } else {
    shape.kernel_height = among(0, 4) == 0 ? among(12, 40) : among(1, 11);
    shape.kernel_width = among(0, 1) == 0 ? shape.kernel_height : among(1, 11);
    if (among(0, 1) == 0) shape.stride_height = among(1, 3), shape.stride_width = among(1, 3);
    if (among(0, 2) == 0) shape.dilation_height = among(1, 3), shape.dilation_width = among(1, 3);
  }
  shape.pad_height = among(0, 4), shape.pad_width = among(0, 4);
  return shape;
}

bool is_worth_a_test(const ConvShape& shape) {
  return !refusal_of(shape) && direct_flop(shape) < 6'000'000;
}

void expect_right(ConvDevice& device, const ConvStrategy& strategy, const ConvProblem& problem,
                  unsigned seed) {
  const std::string what =
      fmt::format("{} {} {} {} groups {} dilation {}×{}", strategy.name(), name_of(problem.pass),
                  name_of(problem.dtype), to_text(problem.shape), problem.shape.groups,
                  problem.shape.dilation_height, problem.shape.dilation_width);
  Case made(device, problem, seed);
  const std::vector<float> result = made.run(strategy);
  const double error =
      relative_error(result, reference_result(problem.shape, problem.pass, made.data()));
  EXPECT_LE(error, strategy.tolerance(problem)) << what;
  EXPECT_TRUE(std::isfinite(error)) << what;
}

TEST_F(Convolution, every_strategy_is_right_on_random_shapes) {
  for (const auto& strategy : device_->strategies()) {
    for (const ConvPass pass : all_conv_passes) {
      std::mt19937 random(static_cast<unsigned>(pass) + 7);
      int done = 0;
      for (int attempt = 0; attempt < 600 && done < 30; ++attempt) {
        const ConvProblem problem{random_shape(random), pass, DType::fp32};
        if (!is_worth_a_test(problem.shape) || strategy->refusal(problem)) continue;
        expect_right(*device_, *strategy, problem, static_cast<unsigned>(attempt));
        ++done;
        if (HasFailure() && done >= 8) break;  // enough to see what is wrong
      }
      if (!strategy->is_vendor()) {
        EXPECT_GE(done, 8) << strategy->name() << name_of(pass);
      }
    }
  }
}

TEST_F(Convolution, halves_are_added_in_single_precision) {
  for (const auto& strategy : device_->strategies()) {
    if (strategy->name() == "cudnn:graph-best") continue;  // compiles engines for a minute
    const int wanted = strategy->is_vendor() ? 3 : 8;
    for (const ConvPass pass : all_conv_passes) {
      for (const DType dtype : {DType::fp16, DType::bf16}) {
        std::mt19937 random(3);
        for (int attempt = 0, done = 0; attempt < 60 && done < wanted; ++attempt) {
          const ConvProblem problem{random_shape(random), pass, dtype};
          if (!is_worth_a_test(problem.shape) || strategy->refusal(problem)) continue;
          expect_right(*device_, *strategy, problem, static_cast<unsigned>(++done));
        }
      }
    }
  }
}

std::vector<ConvShape> large_shapes() {
  return {
      {.batch = 8,
       .channels = 3,
       .height = 128,
       .width = 128,
       .filters = 64,
       .kernel_height = 11,
       .kernel_width = 11},
      {.batch = 8,
       .channels = 3,
       .height = 97,
       .width = 131,
       .filters = 37,
       .kernel_height = 7,
       .kernel_width = 7,
       .stride_height = 2,
       .stride_width = 2,
       .pad_height = 3,
       .pad_width = 3},
      {.batch = 16,
       .channels = 96,
       .height = 32,
       .width = 32,
       .filters = 130,
       .kernel_height = 9,
       .kernel_width = 9},
      {.batch = 32,
       .channels = 160,
       .height = 13,
       .width = 13,
       .filters = 136,
       .kernel_height = 3,
       .kernel_width = 3,
       .pad_height = 1,
       .pad_width = 1},
      {.batch = 4,
       .channels = 64,
       .height = 56,
       .width = 56,
       .filters = 192,
       .kernel_height = 1,
       .kernel_width = 1},
      {.batch = 4,
       .channels = 32,
       .height = 64,
       .width = 64,
       .filters = 64,
       .kernel_height = 3,
       .kernel_width = 3,
       .pad_height = 2,
       .pad_width = 2,
       .dilation_height = 2,
       .dilation_width = 2,
       .groups = 4},
  };
}

// Many tiles, several blocks, every path of the real sizes; looked at in some places.
TEST_F(Convolution, large_shapes_are_right_where_one_looks) {
  for (const ConvShape& shape : large_shapes()) {
    for (const ConvPass pass : all_conv_passes) {
      const ConvProblem problem{shape, pass, DType::fp32};
      std::mt19937 random(5);
      std::uniform_int_distribution<std::int64_t> place(0, result_elements(shape, pass) - 1);
      std::vector<std::int64_t> places(40);
      for (std::int64_t& at : places) at = place(random);
      Case expected_from(*device_, problem, 1);
      std::vector<double> expected;
      for (const std::int64_t at : places)
        expected.push_back(reference_element(shape, pass, expected_from.data(), at));
      for (const auto& strategy : device_->strategies()) {
        if (strategy->refusal(problem)) continue;
        Case made(*device_, problem, 1);
        const std::vector<float> result = made.run(*strategy);
        std::vector<float> seen;
        for (const std::int64_t at : places) seen.push_back(result[static_cast<std::size_t>(at)]);
        EXPECT_LE(relative_error(seen, expected), 2 * strategy->tolerance(problem))
            << strategy->name() << " " << name_of(pass) << " " << to_text(shape);
      }
    }
  }
}

TEST_F(Convolution, refusals_say_why) {
  const auto reason = [&](std::string_view name, const ConvProblem& problem) -> std::string {
    for (const auto& strategy : device_->strategies())
      if (strategy->name() == name) return strategy->refusal(problem).value_or("can");
    return "not there";
  };
  ConvProblem problem{{.batch = 2,
                       .channels = 4,
                       .height = 40,
                       .width = 40,
                       .filters = 4,
                       .kernel_height = 5,
                       .kernel_width = 5}};
  EXPECT_EQ(reason("direct", problem), "can");
  EXPECT_EQ(reason("winograd4", problem), "3×3 windows only");
  problem.shape.kernel_height = problem.shape.kernel_width = 3;
  problem.shape.stride_width = 2;
  EXPECT_EQ(reason("winograd2", problem), "stride 1 only");
  problem.shape.kernel_height = 35;  // larger than a tile: cut into blocks
  EXPECT_EQ(reason("fft", problem), "can");
  problem.dtype = DType::fp8;
  EXPECT_NE(reason("unroll", problem).find("not fp8"), std::string::npos);
}

TEST_F(Convolution, time_has_samples_and_roles) {
  const ConvProblem problem{{.batch = 32,
                             .channels = 32,
                             .height = 56,
                             .width = 56,
                             .filters = 64,
                             .kernel_height = 3,
                             .kernel_width = 3,
                             .pad_height = 1,
                             .pad_width = 1}};
  for (const auto& strategy : device_->strategies()) {
    if (strategy->refusal(problem)) continue;
    Case made(*device_, problem, 1);
    const std::int64_t free_before = device_->free_bytes();
    const auto prepared = strategy->prepare(problem);
    EXPECT_EQ(prepared->scratch_bytes(), strategy->scratch_bytes(problem)) << strategy->name();
    constexpr std::int64_t granularity = 4 << 20;  // of what the driver takes from the device
    const std::int64_t taken = free_before - device_->free_bytes();
    if (!strategy->is_vendor()) {
      EXPECT_LE(std::abs(taken - prepared->scratch_bytes()), granularity) << strategy->name();
    }
    const ConvTiming timing =
        device_->time(*prepared, made.tensors(), {.warm_up = 2, .samples = 5});
    ASSERT_EQ(timing.samples_s.size(), 5u) << strategy->name();
    ASSERT_FALSE(timing.roles.empty()) << strategy->name();
    double roles = 0;
    for (const RoleTime& role : timing.roles) roles += role.seconds;
    EXPECT_GT(timing.samples_s.back(), 1e-6) << strategy->name();
    EXPECT_LT(roles, 3 * timing.samples_s.back() + 1e-4) << strategy->name();
    if (strategy->is_vendor()) continue;
    for (const KernelFacts& facts : strategy->kernels(problem))
      EXPECT_TRUE(facts.registers_per_thread > 0 && !facts.name.empty()) << strategy->name();
  }
}

TEST_F(Convolution, too_much_memory_is_said_in_bytes) {
  try {
    device_->allocate(std::int64_t{1} << 50);
    FAIL() << "a petabyte was allocated";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_NE(std::string(error.what()).find("1125899906842624 bytes"), std::string::npos)
        << error.what();
  }
  EXPECT_GT(device_->free_bytes(), 0);
}

TEST_F(Convolution, a_device_that_is_not_there_is_named) {
  try {
    cuda_conv_device(99);
    FAIL() << "GPU 99 convolves";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_NE(std::string(error.what()).find("no GPU 99"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace strata::test
