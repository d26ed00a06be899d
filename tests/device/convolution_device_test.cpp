// SPDX-License-Identifier: Apache-2.0
// What a GPU says of itself and its libraries, and cuDNN's engines by their graph.
#include "strata/base/error.hpp"
#include "strata/convolution/lab/strategy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

namespace strata::test {
namespace {

class ConvolutionDevice : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = cuda_conv_device(0);
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  std::unique_ptr<ConvDevice> device_;
};

TEST_F(ConvolutionDevice, says_what_it_is_and_which_libraries_it_calls) {
  const ConvDeviceFacts facts = device_->facts();
  const auto version_of = [&](std::string_view name) -> std::string {
    for (const Version& each : facts.versions)
      if (each.of == name) return each.version;
    return "0";
  };
  EXPECT_GE(std::stod(version_of("driver")), 500);
  EXPECT_GE(std::stod(version_of("CUDA")), 12);
  EXPECT_GE(std::stod(version_of("cuBLAS")), 12);
  ASSERT_TRUE(facts.most_clock_hz);
  EXPECT_GT(*facts.most_clock_hz, 5e8);
}

// Its own first choice, and the fastest of all, which is not slower.
TEST_F(ConvolutionDevice, engines_of_the_graph_are_named_and_the_fastest_is_found) {
  const ConvProblem problem{{.batch = 32,
                             .channels = 64,
                             .height = 32,
                             .width = 32,
                             .filters = 64,
                             .kernel_height = 9,
                             .kernel_width = 9}};
  const std::array<std::shared_ptr<void>, 3> memory = {
      device_->allocate(4 * problem.shape.input_elements()),
      device_->allocate(4 * problem.shape.weight_elements()),
      device_->allocate(4 * problem.shape.output_elements())};
  const ConvTensors tensors = {memory[0].get(), memory[1].get(), memory[2].get()};
  constexpr double never = std::numeric_limits<double>::infinity();
  double picked = never, best = never;
  for (const auto& strategy : device_->strategies()) {
    if (!strategy->name().starts_with("cudnn:graph")) continue;
    ASSERT_FALSE(strategy->refusal(problem)) << *strategy->refusal(problem);
    ASSERT_EQ(strategy->kernels(problem).size(), 1U);
    EXPECT_TRUE(strategy->kernels(problem)[0].name.starts_with("engine "));
    const auto prepared = strategy->prepare(problem);
    const ConvTiming timing = device_->time(*prepared, tensors, {.warm_up = 2, .samples = 9});
    EXPECT_TRUE(timing.clock_hz);
    double& least = strategy->name() == "cudnn:graph" ? picked : best;
    least = *std::min_element(timing.samples_s.begin(), timing.samples_s.end());
    ConvProblem none = problem;
    none.dtype = DType::int64;
    EXPECT_TRUE(strategy->refusal(none));
  }
  if (picked == never) GTEST_SKIP() << "no cuDNN";
  EXPECT_LE(best, 1.1 * picked);
}

}  // namespace
}  // namespace strata::test
