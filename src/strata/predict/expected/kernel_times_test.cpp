// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/kernel_times.hpp"

#include "strata/base/error.hpp"
#include "strata/framework/framework.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/predict/expected/round_gpu_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace strata {
namespace {

/// 2 µs and 8 bytes per element by the form; the second of the samples took twice that.
CalibratedClass relu_class() {
  CalibratedClass one{.kernel_class = "relu.forward", .precision = "fp32"};
  one.coefficients = {2, 8};
  one.sigma = 0.1;
  one.samples = {{{1e4}, 2.08e-6, 2.08e-6, 1}, {{1e8}, 2 * 802e-6, 3 * 802e-6, 5}};
  return one;
}

ClassTimes relu_times() {
  return {*operation_class_named("relu.forward"), DType::fp32, relu_class(), round_gpu()};
}

FrameworkOperation relu_of(double elements, DType precision = DType::fp32) {
  return {*operation_class_named("relu.forward"), precision, 0, {elements}};
}

TEST(KernelTimes, are_corrected_by_what_the_form_misses_nearby) {
  const ClassTimes times = relu_times();
  // One sample right here against a form that counts as 0.02 of one: 2 to the power 1/1.02.
  EXPECT_NEAR(times.time({1e8}, round_gpu()).busy_s, 802e-6 * std::pow(2, 1 / 1.02), 1e-8);
  // Far from both samples the form remains.
  EXPECT_NEAR(times.time({1e6}, round_gpu()).busy_s, 10e-6, 1e-9);
  EXPECT_NEAR(times.time({1e4}, round_gpu()).busy_s, 2.08e-6, 1e-10);
  EXPECT_EQ(times.time({1e6}, round_gpu()).sigma, 0.1);
}

TEST(KernelTimes, take_launches_and_overlap_from_the_nearest_sample) {
  const KernelTime time = relu_times().time({9e7}, round_gpu());
  EXPECT_EQ(time.kernels, 5);
  EXPECT_NEAR(time.kernels_s, 1.5 * time.busy_s, 1e-12);
  EXPECT_EQ(relu_times().time({2e4}, round_gpu()).kernels, 1);
}

TEST(KernelTimes, with_a_sample_left_out_do_not_know_it) {
  const ClassTimes times = relu_times();
  const KernelTime time = times.time({1e8}, round_gpu(), 1);
  EXPECT_NEAR(time.busy_s, 802e-6, 1e-9);
  EXPECT_EQ(time.kernels, 1);
}

TEST(KernelTimes, on_another_gpu_scale_with_its_rates) {
  GpuRates fast = round_gpu();
  fast.bytes_per_s *= 2;
  EXPECT_NEAR(relu_times().time({1e6}, fast).busy_s, 2e-6 + 4e-6, 1e-9);
}

// Twice the matrix units are no help where rows do not begin at whole vectors; twice the SMs are.
TEST(KernelTimes, of_unaligned_products_on_another_gpu_scale_with_what_its_sms_issue) {
  CalibratedClass product{.kernel_class = "linear.forward", .precision = "fp16"};
  product.coefficients = {3, 0.7, 30, 60, 3};
  const ClassTimes times(*operation_class_named("linear.forward"), DType::fp16, product,
                         round_gpu());
  const auto seconds = [&](const GpuRates& gpu, double columns) {
    return times.time({1, 8192, columns, 8192}, gpu).busy_s - 3e-6;
  };
  constexpr double aligned = 8192, odd = 8191;
  EXPECT_NEAR(seconds(round_gpu(), odd) / seconds(round_gpu(), aligned), 9, 0.01);
  GpuRates strong = round_gpu();
  for (double& peak : strong.kernel_flop_per_s) peak *= 2;
  EXPECT_NEAR(seconds(strong, aligned) / seconds(round_gpu(), aligned), 0.5, 1e-9);
  EXPECT_NEAR(seconds(strong, odd) / seconds(round_gpu(), odd), 1, 1e-9);
  GpuRates wide = round_gpu();
  wide.issues_per_s *= 2;
  EXPECT_NEAR(seconds(wide, odd) / seconds(round_gpu(), odd), 0.5, 1e-9);
  // Never faster than the same product would be if it were aligned.
  wide.issues_per_s *= 100;
  EXPECT_NEAR(seconds(wide, odd) / seconds(round_gpu(), aligned), 1, 0.01);
}

TEST(KernelTimes, of_a_class_that_nobody_measured_are_a_guess_of_a_factor_of_two) {
  const KernelTimes times({}, round_gpu(), round_gpu());
  const KernelTime time = times.time(relu_of(1e6));
  EXPECT_FALSE(time.is_calibrated);
  EXPECT_NEAR(time.sigma, std::log(2), 0.01);
  EXPECT_GT(time.busy_s, 0);
  EXPECT_EQ(time.kernels, 1);
  EXPECT_EQ(time.kernels_s, time.busy_s);
}

TEST(KernelTimes, in_tf32_are_those_of_fp32_and_in_fp16_those_of_bf16) {
  Calibration calibration;
  calibration.classes = {relu_class()};
  const KernelTimes of_fp32(calibration, round_gpu(), round_gpu());
  EXPECT_TRUE(of_fp32.time(relu_of(1e6)).is_calibrated);
  EXPECT_EQ(of_fp32.time(relu_of(1e6, DType::tf32)).busy_s, of_fp32.time(relu_of(1e6)).busy_s);
  EXPECT_FALSE(of_fp32.time(relu_of(1e6, DType::bf16)).is_calibrated);
  calibration.classes.front().precision = "bf16";
  const KernelTimes of_bf16(calibration, round_gpu(), round_gpu());
  EXPECT_TRUE(of_bf16.time(relu_of(1e6, DType::fp16)).is_calibrated);
  EXPECT_FALSE(of_bf16.time(relu_of(1e6)).is_calibrated);
}

// A GPU whose matrix units know fp16 alone (Volta, Turing) multiplies bf16 on its vector units.
TEST(KernelTimes, in_fp16_take_samples_in_bf16_at_the_fp16_peak_of_the_gpu) {
  CalibratedClass product{.kernel_class = "linear.forward", .precision = "bf16"};
  product.coefficients = {3, 0.7, 30, 60, 3};
  product.samples = {{{1, 4096, 4096, 4096}, 3e-3, 3e-3, 1}};
  Calibration calibration;
  calibration.classes = {product};
  GpuRates volta = round_gpu();
  volta.matrix_flop_per_s[static_cast<std::size_t>(DType::bf16)] /= 10;
  volta.kernel_flop_per_s[static_cast<std::size_t>(DType::bf16)] /= 10;
  const KernelTimes times(calibration, round_gpu(), volta);
  const auto seconds = [&](DType precision, double columns) {
    return times
        .time({*operation_class_named("linear.forward"), precision, 0, {1, 4096, columns, 4096}})
        .busy_s;
  };
  // The fp16 peak is that of the GPU with the samples, and so are the times.
  const ClassTimes measured(*operation_class_named("linear.forward"), DType::bf16, product,
                            round_gpu());
  for (const double columns : {4096.0, 4095.0})
    EXPECT_NEAR(
        seconds(DType::fp16, columns) / measured.time({1, 4096, columns, 4096}, round_gpu()).busy_s,
        1, 1e-12);
  EXPECT_NEAR(seconds(DType::bf16, 4096) / seconds(DType::fp16, 4096), 10, 0.1);
}

// cuDNN computes batch norm in fp32 and in fp16, PyTorch itself in bf16.
TEST(KernelTimes, in_fp16_take_samples_in_fp32_where_the_framework_says_so) {
  CalibratedClass in_bf16 = relu_class(), in_fp32 = relu_class();
  in_bf16.precision = "bf16";
  in_bf16.coefficients = {2, 100};
  Calibration calibration;
  calibration.classes = {in_bf16, in_fp32};
  const OperationClass relu = *operation_class_named("relu.forward");
  const KernelTimes times(calibration, round_gpu(), round_gpu(), std::span(&relu, 1));
  // 2 µs and half of 8 bytes for each of a million numbers.
  EXPECT_NEAR(times.time(relu_of(1e6, DType::fp16)).busy_s, 6e-6, 1e-9);
  EXPECT_NEAR(times.time(relu_of(1e6, DType::fp32)).busy_s, 10e-6, 1e-9);
  EXPECT_GT(times.time(relu_of(1e6, DType::bf16)).busy_s, 50e-6);
}

// Samples in fp16, where there are some, are not replaced by those in bf16.
TEST(KernelTimes, in_fp16_are_those_of_fp16_samples_where_there_are_some) {
  CalibratedClass in_bf16 = relu_class(), in_fp16 = relu_class();
  in_bf16.precision = "bf16";
  in_fp16.precision = "fp16";
  in_fp16.coefficients = {2, 16};
  Calibration calibration;
  calibration.classes = {in_bf16, in_fp16};
  const KernelTimes times(calibration, round_gpu(), round_gpu());
  EXPECT_GT(times.time(relu_of(1e6, DType::fp16)).busy_s,
            1.5 * times.time(relu_of(1e6, DType::bf16)).busy_s);
}

TEST(KernelTimes, at_what_was_measured_are_near_the_measurement) {
  const Calibration& shipped = *find_calibration("h200", "pytorch-eager");
  const GpuRates gpu = gpu_rates(load_machine("h200"));
  const KernelTimes times(shipped, gpu, gpu);
  std::size_t samples = 0, far = 0;
  for (const CalibratedClass& one : shipped.classes) {
    for (const KernelSample& sample : one.samples) {
      FrameworkOperation operation{
          *operation_class_named(one.kernel_class), *dtype_named(one.precision), 0, {}};
      std::copy(sample.dims.begin(), sample.dims.end(), operation.dims.begin());
      const KernelTime time = times.time(operation);
      ASSERT_TRUE(time.is_calibrated);
      ++samples;
      if (std::fabs(std::log(time.busy_s / sample.busy_s)) > std::log(1.2)) ++far;
    }
  }
  EXPECT_GT(samples, 3000U);
  EXPECT_LT(static_cast<double>(far), 0.05 * static_cast<double>(samples));
}

std::string refusal_of_class(const CalibratedClass& one) {
  Calibration calibration;
  calibration.classes = {one};
  try {
    const KernelTimes times(calibration, round_gpu(), round_gpu());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

TEST(KernelTimes, of_a_calibration_with_other_dimensions_or_coefficients_are_refused) {
  EXPECT_EQ(refusal_of_class(relu_class()), "accepted");
  CalibratedClass one = relu_class();
  one.samples[0].dims.assign(13, 2.0);
  EXPECT_NE(refusal_of_class(one).find("relu.forward"), std::string::npos);
  one.samples[0].dims.clear();
  EXPECT_NE(refusal_of_class(one).find("relu.forward"), std::string::npos);
  one = relu_class();
  one.coefficients = {2};
  EXPECT_NE(refusal_of_class(one).find("1 coefficients, expected 2"), std::string::npos);
  one.coefficients = {0, 0};
  EXPECT_NE(refusal_of_class(one), "accepted");  // a time of nothing has no logarithm
}

TEST(KernelTimes, of_an_operation_that_knows_its_launches_are_as_many) {
  Calibration calibration;
  calibration.classes = {relu_class()};
  const KernelTimes times(calibration, round_gpu(), round_gpu());
  FrameworkOperation operation = relu_of(9e7);
  operation.share = 0.5;
  EXPECT_EQ(times.time(operation).kernels, 2.5);
  operation.kernels = 7;
  EXPECT_EQ(times.time(operation).kernels, 7);
}

// What no calibration has in its own layout or shape of images is as in another.
TEST(KernelTimes, of_a_layout_that_nobody_measured_are_those_of_the_other) {
  Calibration calibration;
  CalibratedClass norm = relu_class();
  norm.kernel_class = "batch_norm.forward";
  norm.coefficients = {2, 8, 0.05};
  norm.samples = {{{64, 1e5}, 1e-4, 1e-4, 1}};
  calibration.classes = {norm};
  const KernelTimes times(calibration, round_gpu(), round_gpu());
  const auto of = [&](const char* name) {
    return times.time({*operation_class_named(name), DType::fp32, 0, {64, 1e5}});
  };
  EXPECT_TRUE(of("batch_norm_nhwc.forward").is_calibrated);
  EXPECT_EQ(of("batch_norm_nhwc.forward").busy_s, of("batch_norm.forward").busy_s);
  EXPECT_FALSE(of("batch_norm_nhwc.backward").is_calibrated);
  EXPECT_EQ(class_instead(*operation_class_named("convolution_3d.forward")),
            operation_class_named("convolution.forward"));
  EXPECT_EQ(class_instead(*operation_class_named("relu.forward")), std::nullopt);
}

// Scratch memory grows with the images. One sample says what its neighbours take; far from all of
// them it is what most samples with such a window take.
TEST(KernelTimes, of_convolutions_take_scratch_memory_as_the_samples_nearby) {
  CalibratedClass one{.kernel_class = "convolution.forward", .precision = "bf16"};
  one.coefficients = first_coefficients(KernelForm::convolution);
  const auto sample = [&](double images, double pixels, double window, double scratch) {
    one.samples.push_back({{images, 64, 64, pixels, pixels, window, 1}, 1e-4, 1e-4, 1, scratch});
  };
  const auto image_bytes = [](double images, double pixels) {
    return images * 2 * 64 * pixels * 2;
  };
  sample(32, 4096, 9, 3 * image_bytes(32, 4096));
  sample(32, 256, 9, image_bytes(32, 256));
  sample(32, 64, 9, image_bytes(32, 64));
  sample(32, 4096, 1, 0);
  const ClassTimes times(*operation_class_named("convolution.forward"), DType::bf16, one,
                         round_gpu());
  const auto scratch = [&](double images, double pixels, double window) {
    return times.time({images, 64, 64, pixels, pixels, window, 1}, round_gpu()).scratch_bytes;
  };
  EXPECT_NEAR(scratch(32, 4096, 9), 3 * image_bytes(32, 4096), 1);
  EXPECT_NEAR(scratch(48, 4096, 9), 3 * image_bytes(48, 4096), 1);
  EXPECT_EQ(scratch(32, 4096, 1), 0);
  EXPECT_NEAR(scratch(32, 1e7, 9), image_bytes(32, 1e7), 1);
}

// A convolution that reaches a tenth of the peak here is held up by instructions. A GPU with the
// same clocks and a tenth of the matrix rate runs it no ten times slower; one with half the clocks
// takes twice as long as long as its matrix units wait.
TEST(KernelTimes, of_convolutions_on_another_gpu_go_by_what_holds_them_up) {
  const KernelDims dims = {32, 256, 256, 784, 784, 9, 1};
  const double flop = 2.0 * 32 * 256 * 256 * 784 * 9;
  const GpuRates here = round_gpu();
  const double at_peak_s = flop / here.kernel_peak(DType::bf16);
  CalibratedClass one{.kernel_class = "convolution.forward", .precision = "bf16"};
  one.coefficients = {5, 0.5, 30, 60, 0.5, 1};
  one.samples = {{{dims.begin(), dims.end()}, 10 * at_peak_s, 10 * at_peak_s, 1}};
  const ClassTimes times(*operation_class_named("convolution.forward"), DType::bf16, one, here);
  const double here_s = times.time(dims, here).busy_s;
  EXPECT_NEAR(here_s / (10 * at_peak_s), 1, 0.05);
  GpuRates other = here;
  other.kernel_flop_per_s[static_cast<std::size_t>(DType::bf16)] /= 8;
  const double other_s = times.time(dims, other).busy_s;
  EXPECT_GT(other_s, here_s);
  EXPECT_LT(other_s, 1.3 * here_s);
  GpuRates slow = here;
  slow.issues_per_s /= 2;
  EXPECT_NEAR(times.time(dims, slow).busy_s / here_s, 2, 0.05);
}

// An addition that spreads its second operand takes what its instructions take on a GPU with much
// bandwidth. With a quarter of the bandwidth it is no four times slower.
TEST(KernelTimes, of_point_wise_kernels_on_another_gpu_go_by_what_holds_them_up) {
  constexpr double elements = 1e9;
  const GpuRates here = round_gpu();
  CalibratedClass one{.kernel_class = "channels.add_bias", .precision = "fp16"};
  const double least_s = elements * 4 / here.bytes_per_s;
  const auto seconds = [&](double slower, double bandwidth, double issues) {
    one.coefficients = {1e-3, 4 * slower};
    const ClassTimes times(*operation_class_named("channels.add_bias"), DType::fp16, one, here);
    GpuRates other = here;
    other.bytes_per_s *= bandwidth;
    other.issues_per_s *= issues;
    return times.time({elements}, other).busy_s / least_s;
  };
  EXPECT_NEAR(seconds(4, 1.0 / 4, 1), std::pow(2, 0.25) * 4, 0.02);  // both limits at once
  EXPECT_NEAR(seconds(4, 1, 1.0 / 2), 8, 0.02);
  EXPECT_NEAR(seconds(4, 8, 1), 4, 0.02);
  // One that is at the bandwidth here says little of its instructions.
  EXPECT_NEAR(seconds(1, 1.0 / 4, 1), 4, 0.01);
  EXPECT_NEAR(seconds(1, 2, 1), 0.5, 0.01);
}
/// Linear layers forward, and of weights backward, on the GPU of round numbers; in bf16.
Calibration measured_products() {
  Calibration calibration;
  for (const char* name : {"linear.forward_no_bias", "linear.backward_weight"}) {
    CalibratedClass one{.kernel_class = name, .precision = "bf16"};
    one.coefficients = first_coefficients(KernelForm::product);
    calibration.classes.push_back(one);
  }
  return calibration;
}

FrameworkOperation product_of(const char* name, double m, double n, double k) {
  return {*operation_class_named(name), DType::bf16, 0, {1, m, n, k}};
}

/// A table of one product forward that takes twice as long there as is carried over.
class CorrectedTimes : public testing::Test {
 protected:
  CorrectedTimes() : carried_(measured_products(), round_gpu(), other_gpu()) {
    CalibratedClass table{.kernel_class = "linear.forward_no_bias", .precision = "bf16"};
    table.coefficients = first_coefficients(KernelForm::product);
    const double carried_s = carried_.time(forward(1024)).busy_s;
    table.samples = {{{1, 1024, 1024, 1024}, 2 * carried_s, 2 * carried_s, 1}};
    transfer_.classes = {table};
    transfer_.networks = {{.framework = "pytorch-eager",
                           .is_inference = true,
                           .in_16_bits = true,
                           .factors = {{"products", 3}}}};
  }

  static GpuRates other_gpu() {
    GpuRates gpu = round_gpu();
    gpu.units = 50;
    gpu.kernel_flop_per_s.fill(5e13);
    return gpu;
  }
  static FrameworkOperation forward(double n) {
    return product_of("linear.forward_no_bias", n, n, n);
  }
  KernelTimes corrected(const char* framework = "pytorch-compile") const {
    return carried_.corrected_by(transfer_, other_gpu(), framework_named(framework));
  }

  KernelTimes carried_;
  Calibration transfer_;
};

TEST_F(CorrectedTimes, are_those_of_the_table_near_its_samples) {
  const double ratio = corrected().time(forward(1024)).busy_s / carried_.time(forward(1024)).busy_s;
  EXPECT_NEAR(ratio, std::pow(2, 1 / 1.02), 1e-3);
}

TEST_F(CorrectedTimes, are_carried_over_far_from_them) {
  // e² away in each dimension and more.
  EXPECT_EQ(corrected().time(forward(16384)).busy_s, carried_.time(forward(16384)).busy_s);
}

TEST_F(CorrectedTimes, of_other_passes_are_longer_by_as_much) {
  const FrameworkOperation backward = product_of("linear.backward_weight", 1024, 1024, 1024);
  const double ratio = corrected().time(backward).busy_s / carried_.time(backward).busy_s;
  EXPECT_NEAR(ratio, std::pow(2, 1 / 1.02), 1e-3);
  const FrameworkOperation far = product_of("linear.backward_weight", 16384, 16384, 16384);
  EXPECT_EQ(corrected().time(far).busy_s, carried_.time(far).busy_s);
}

TEST_F(CorrectedTimes, take_factors_of_networks_in_their_framework_and_kind_of_run_alone) {
  const KernelTimes times = corrected("pytorch-eager");
  const double plain_s = times.time(forward(16384)).busy_s;
  const RunKind inference{.is_inference = true, .in_16_bits = true};
  EXPECT_DOUBLE_EQ(times.time(forward(16384), inference).busy_s, 3 * plain_s);
  EXPECT_DOUBLE_EQ(times.time(forward(16384), {.is_inference = true, .in_16_bits = false}).busy_s,
                   plain_s);
  EXPECT_DOUBLE_EQ(corrected().time(forward(16384), inference).busy_s, plain_s);
}

}  // namespace
}  // namespace strata
