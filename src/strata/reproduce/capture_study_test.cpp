// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/capture_study.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata {
namespace {

/// Two steps of a network: a kernel before its backward part and one within it, each long after its
/// launch; one kernel outside of both steps.
Recording made_up_recording() {
  Recording recording;
  std::uint64_t correlation = 0;
  const auto launch = [&](std::int64_t at, const char* name) {
    ApiRecord call;
    call.time = {at, at + 10};
    call.correlation = ++correlation;
    call.name = recording.names.id_of("cudaLaunchKernel");
    recording.calls.push_back(call);
    KernelRecord kernel;
    kernel.time = {at + 5000, at + 5100};
    kernel.correlation = correlation;
    kernel.name = recording.names.id_of(name);
    kernel.device = 0;
    recording.kernels.push_back(kernel);
  };
  const auto range = [&](std::int64_t begin, std::int64_t end, const char* name) {
    RangeRecord one;
    one.time = {begin, end};
    one.name = recording.names.id_of(name);
    recording.ranges.push_back(one);
  };
  launch(50, "warm_up");
  for (const std::int64_t begin : {100, 1100}) {
    range(begin, begin + 900, "study:pytorch:alexnet:4");
    range(begin + 400, begin + 800, "backward part");
    launch(begin + 100, "cudnn::winograd_nonfused::winogradForwardData4x4<float>");
    launch(begin + 500, "void at::native::max_pool_backward_nchw<float, float>(float const*)");
  }
  sort_by_start(recording);
  return recording;
}

TEST(CaptureStudy, steps_are_ranges_and_kernels_belong_to_their_launch) {
  const std::vector<CaptureCase> cases = cases_of_ranges(made_up_recording);
  ASSERT_EQ(cases.size(), 2U);
  const CaptureCase& whole = cases[0];
  EXPECT_EQ(whole.part, "iteration");
  EXPECT_EQ(whole.batch, 4);
  EXPECT_EQ(whole.steps, 2);
  EXPECT_DOUBLE_EQ(whole.launches, 2);
  EXPECT_NEAR(whole.kernel_s, 200e-9, 1e-15);
  EXPECT_NEAR(whole.wall_s, 900e-9, 1e-15);
  EXPECT_NEAR(whole.pool_backward_s, 100e-9, 1e-15);
  EXPECT_NEAR(whole.launch_api_s, whole.api_s, 1e-15);
  const CaptureCase& backward = cases[1];
  EXPECT_EQ(backward.part, "backward");
  EXPECT_DOUBLE_EQ(backward.launches, 1);
}

CaptureStudy made_up_study() {
  CaptureStudy study;
  study.device = "made up";
  for (const std::int64_t batch : {4, 8, 16, 32, 64}) {
    for (const char* part : {"iteration", "backward"}) {
      CaptureCase one;
      one.framework = "pytorch";
      one.network = "alexnet";
      one.batch = batch;
      one.part = part;
      one.steps = 5;
      const auto size = static_cast<double>(batch);
      one.kernel_s = 1e-4 * size;
      one.busy_s = one.kernel_s;
      one.wall_s = 2e-3 + one.kernel_s;
      one.copy_s = 1e-4;
      one.class_s = {{"convolution winograd", 0.4 * one.kernel_s}, {"gemm", 0.6 * one.kernel_s}};
      one.api_s = 1e-3;
      one.launch_api_s = batch == 64 ? 0.5e-3 : 0.97e-3;
      study.cases.push_back(one);
    }
  }
  study.overheads = {{"strata", {100, 100, 100}, {101, 100.5, 140}}};
  return study;
}

std::vector<Finding> numbered(const std::vector<Finding>& findings, std::string_view number,
                              std::string_view network) {
  std::vector<Finding> found;
  std::copy_if(
      findings.begin(), findings.end(), std::back_inserter(found),
      [&](const Finding& one) { return one.observation == number && one.network == network; });
  return found;
}

TEST(CaptureStudy, findings_follow_the_numbers) {
  const std::vector<Finding> findings = reproduce_capture(made_up_study());
  EXPECT_TRUE(numbered(findings, "1", "alexnet").at(0).holds);   // copies: constant time, more work
  EXPECT_TRUE(numbered(findings, "2", "alexnet").at(0).holds);   // 40 % convolution
  EXPECT_FALSE(numbered(findings, "3", "alexnet").at(0).holds);  // Winograd: the same everywhere
  EXPECT_FALSE(numbered(findings, "4", "alexnet").at(0).holds);  // no pooling at all
  EXPECT_TRUE(numbered(findings, "5", "alexnet").at(0).holds);
  EXPECT_TRUE(numbered(findings, "6", "alexnet").at(0).holds);
  EXPECT_TRUE(numbered(findings, "9", "all").at(0).holds);  // VGG-16, from the layers
  const Finding missing = numbered(findings, "1", "vgg16").at(0);
  EXPECT_EQ(missing.found, "not measured");
  EXPECT_FALSE(missing.is_printed);
  const Finding overhead = numbered(findings, "overhead", "resnet50").at(0);
  EXPECT_EQ(overhead.found, "+1.00 %");
  EXPECT_FALSE(overhead.is_printed);
}

TEST(CaptureStudy, is_read_as_it_was_written) {
  const CaptureStudy study = made_up_study();
  const CaptureStudy again = read_capture_study(to_json(study));
  EXPECT_EQ(to_json(again), to_json(study));
  EXPECT_EQ(again.cases.size(), 10U);
  EXPECT_THROW(read_capture_study("{}"), Error);
  EXPECT_THROW(read_capture_study("no JSON"), Error);
}

}  // namespace
}  // namespace strata
