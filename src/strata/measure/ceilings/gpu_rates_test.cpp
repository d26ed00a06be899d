// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/gpu_rates.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

double rate(int major, int minor, DType dtype, ComputeUnit unit, double sms, double hz) {
  return flop_per_clock_of_sm(major, minor, dtype, unit).value_or(0) * sms * hz;
}

// The rates that the vendor prints for the H100 and H200 SXM (132 SMs; lanes at 1980 MHz, matrix
// units at 1830 MHz) and the A100 (108 SMs, 1410 MHz).
TEST(GpuRates, units_and_clock_give_the_rates_of_the_datasheets) {
  constexpr ComputeUnit lanes = ComputeUnit::vector;
  constexpr ComputeUnit matrix = ComputeUnit::matrix;
  EXPECT_NEAR(rate(9, 0, DType::fp32, lanes, 132, 1.98e9), 66.9e12, 0.05e12);
  EXPECT_NEAR(rate(9, 0, DType::fp64, lanes, 132, 1.98e9), 33.5e12, 0.05e12);
  EXPECT_NEAR(rate(9, 0, DType::fp16, lanes, 132, 1.98e9), 133.8e12, 0.05e12);
  EXPECT_NEAR(rate(9, 0, DType::bf16, matrix, 132, 1.83e9), 989.4e12, 0.1e12);
  EXPECT_NEAR(rate(9, 0, DType::tf32, matrix, 132, 1.83e9), 494.7e12, 0.1e12);
  EXPECT_NEAR(rate(9, 0, DType::fp8, matrix, 132, 1.83e9), 1978.9e12, 0.1e12);
  EXPECT_NEAR(rate(8, 0, DType::fp32, lanes, 108, 1.41e9), 19.5e12, 0.05e12);
  EXPECT_NEAR(rate(8, 0, DType::bf16, matrix, 108, 1.41e9), 312e12, 0.5e12);
  EXPECT_NEAR(rate(8, 0, DType::fp64, matrix, 108, 1.41e9), 19.5e12, 0.05e12);
}

TEST(GpuRates, what_is_not_known_is_not_guessed) {
  EXPECT_FALSE(flop_per_clock_of_sm(8, 6, DType::bf16, ComputeUnit::matrix));
  EXPECT_FALSE(flop_per_clock_of_sm(99, 0, DType::fp32, ComputeUnit::vector));
}

TEST(GpuRates, a_device_is_found_by_the_name_of_its_driver) {
  const auto name_for = [](std::string_view device) -> std::string {
    const Machine* machine = datasheet_of(device);
    return machine == nullptr ? "" : machine->name;
  };
  EXPECT_EQ(name_for("NVIDIA H200"), "h200");
  EXPECT_EQ(name_for("NVIDIA H100 80GB HBM3"), "h100-sxm");
  EXPECT_EQ(name_for("NVIDIA A100-SXM4-40GB"), "a100-40gb");
  EXPECT_EQ(name_for("NVIDIA GeForce RTX 2080 Ti"), "rtx-2080-ti");
  EXPECT_EQ(name_for("Tesla V100-SXM2-16GB"), "v100");
  EXPECT_EQ(name_for("NVIDIA H200 NVL"), "");
  EXPECT_EQ(name_for("NVIDIA GB200"), "gb200");
  EXPECT_EQ(name_for("NVIDIA GH200 480GB"), "gh200");
  EXPECT_EQ(name_for("NVIDIA GH200 144G HBM3e"), "");
  EXPECT_EQ(name_for("NVIDIA H20"), "h20");
  EXPECT_EQ(name_for("NVIDIA H20-3e"), "");
  EXPECT_EQ(name_for("NVIDIA RTX PRO 6000 Blackwell Server Edition"), "rtx-pro-6000-server");
  EXPECT_EQ(name_for("NVIDIA L40"), "");
  EXPECT_EQ(name_for("Quadro K600"), "");
}

}  // namespace
}  // namespace strata
