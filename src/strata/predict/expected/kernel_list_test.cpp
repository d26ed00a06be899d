// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/kernel_list.hpp"

#include "strata/predict/expected/round_gpu_test.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

Calibration two_samples() {
  Calibration calibration;
  calibration.classes.push_back({.kernel_class = "relu.forward",
                                 .precision = "fp32",
                                 .coefficients = {2, 8},
                                 .sigma = 0.1,
                                 .samples = {{{1e4}, 3e-6, 3e-6, 1}, {{1e7}, 90e-6, 120e-6, 2}}});
  return calibration;
}

FrameworkOperations some_operations() {
  const OperationClass relu = *operation_class_named("relu.forward");
  const OperationClass product = *operation_class_named("linear.forward");
  FrameworkOperations all;
  all.operations = {{relu, DType::fp32, 0, {1e5}}, {product, DType::fp32, 1, {1, 512, 512, 64}},
                    {relu, DType::fp32, 2, {1e5}}, {relu, DType::tf32, 3, {1e5}},
                    {relu, DType::bf16, 4, {1e5}}, {relu, DType::fp32, 5, {2e6}}};
  return all;
}

void expect_same(const std::vector<KernelTime>& found, const KernelTimes& times) {
  const FrameworkOperations all = some_operations();
  ASSERT_EQ(found.size(), all.operations.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const KernelTime one = times.time(all.operations[i]);
    EXPECT_EQ(found[i].busy_s, one.busy_s) << i;
    EXPECT_EQ(found[i].kernels_s, one.kernels_s) << i;
    EXPECT_EQ(found[i].kernels, one.kernels) << i;
    EXPECT_EQ(found[i].sigma, one.sigma) << i;
    EXPECT_EQ(found[i].is_calibrated, one.is_calibrated) << i;
  }
}

TEST(KernelList, says_of_every_operation_what_its_kernel_takes_alone) {
  const Calibration calibration = two_samples();
  const KernelTimes times(calibration, round_gpu(), round_gpu());
  expect_same(KernelList(some_operations(), times).times_on(times), times);
}

TEST(KernelList, serves_every_gpu_of_its_calibration) {
  const Calibration calibration = two_samples();
  GpuRates other = round_gpu();
  other.bytes_per_s /= 3;
  other.units = 46;
  const KernelTimes made_anew(calibration, round_gpu(), other);
  const KernelList list = [&] {  // keeps what it needs of the one that it was made with
    const KernelTimes here(calibration, round_gpu(), round_gpu());
    return KernelList(some_operations(), here);
  }();
  expect_same(list.times_on(made_anew), made_anew);
  const KernelTimes shared = KernelTimes(calibration, round_gpu(), round_gpu()).on(other);
  expect_same(list.times_on(shared), made_anew);
}

}  // namespace
}  // namespace strata
