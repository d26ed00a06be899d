// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/gpu_rates.hpp"

#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

std::string reason_without_rates(const Machine& machine) {
  try {
    gpu_rates(machine);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

TEST(GpuRates, are_those_of_the_machine) {
  const Machine h200 = load_machine("h200");
  const GpuRates rates = gpu_rates(h200);
  EXPECT_EQ(rates.units, 132);
  EXPECT_GT(rates.clock_hz, 1.5e9);
  EXPECT_LT(rates.clock_hz, 2.2e9);
  EXPECT_GT(rates.bytes_per_s, 3.5e12);
  EXPECT_LT(rates.bytes_per_s, 4.8e12);  // the datasheet's, which no copy reaches
  EXPECT_GT(rates.peak(DType::bf16), rates.peak(DType::tf32));
  EXPECT_GT(rates.peak(DType::tf32), rates.peak(DType::fp32));
  EXPECT_GT(rates.peak(DType::fp32), 4e13);
  EXPECT_LT(rates.peak(DType::fp32), 8e13);  // vector units: fp32 is not TF32
}

TEST(GpuRates, of_every_type_are_more_than_nothing) {
  const GpuRates rates = gpu_rates(load_machine("h200"));
  for (const DType dtype : all_dtypes()) {
    if (is_floating(dtype)) {
      EXPECT_GT(rates.peak(dtype), 0) << name_of(dtype);
    }
  }
}

TEST(GpuRates, name_what_a_machine_lacks) {
  Machine machine = load_machine("h200");
  machine.units.reset();
  EXPECT_NE(reason_without_rates(machine).find("units"), std::string::npos);
  machine = load_machine("h200");
  machine.clocks = {};
  EXPECT_NE(reason_without_rates(machine).find("clocks.boost_hz"), std::string::npos);
  machine = load_machine("h200");
  machine.peaks.clear();
  EXPECT_NE(reason_without_rates(machine).find("fp32"), std::string::npos);
}

TEST(GpuRates, of_kernels_are_the_peaks_on_the_gpu_that_was_measured) {
  const GpuRates h200 = gpu_rates(load_machine("h200"));
  for (const DType dtype : {DType::fp32, DType::tf32, DType::bf16})
    EXPECT_EQ(h200.kernel_peak(dtype), h200.peak(dtype)) << name_of(dtype);
}

// V100 and A100 have 64 lanes per SM and four schedulers, a P100 two; an L4 has 128 lanes.
// A share of the peak and of the bandwidth, where the machine says what lasts.
TEST(GpuRates, of_kernels_are_what_lasts) {
  Machine machine = load_machine("l40s");
  const Peak* bf16 = find_peak(machine, DType::bf16, ComputeUnit::matrix);
  ASSERT_TRUE(bf16 != nullptr && bf16->lasting);
  EXPECT_NEAR(gpu_rates(machine).kernel_peak(DType::bf16),
              bf16->flop_per_s.value * bf16->lasting->value / 0.79, 1e6);
  EXPECT_EQ(gpu_rates(machine).peak(DType::bf16), bf16->flop_per_s.value);
  for (Peak& peak : machine.peaks) peak.lasting.reset();
  EXPECT_EQ(gpu_rates(machine).kernel_peak(DType::bf16), gpu_rates(machine).peak(DType::bf16));
  const double copied = gpu_rates(machine).bytes_per_s;
  machine.memory.back().lasting = Sourced{0.5, "made up"};
  EXPECT_EQ(gpu_rates(machine).bytes_per_s, machine.memory.back().bandwidth_bytes_per_s->value / 2);
  EXPECT_LT(gpu_rates(machine).bytes_per_s, copied);
}

TEST(GpuRates, of_fp32_kernels_are_more_where_other_instructions_cost_no_arithmetic) {
  const auto gain = [](const char* name) {
    const GpuRates rates = gpu_rates(load_machine(name));
    return rates.kernel_peak(DType::fp32) / rates.peak(DType::fp32);
  };
  EXPECT_GT(gain("v100"), 1.1);
  EXPECT_EQ(gain("v100"), gain("a100-80gb"));
  EXPECT_EQ(gain("p100"), 1);
  EXPECT_EQ(gain("h100-sxm"), 1);
}

TEST(GpuRates, of_fp32_kernels_are_less_where_watts_are_few) {
  Machine card = load_machine("t4");
  const double at_70_w = gpu_rates(card).kernel_peak(DType::fp32);
  EXPECT_LT(at_70_w, gpu_rates(card).peak(DType::fp32));
  card.power_w->value = 35;
  EXPECT_NEAR(gpu_rates(card).kernel_peak(DType::fp32), at_70_w / 2, 1e-6 * at_70_w);
  card.power_w->value = 500;
  EXPECT_GT(gpu_rates(card).kernel_peak(DType::fp32), gpu_rates(card).peak(DType::fp32));
}

}  // namespace
}  // namespace strata
