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

}  // namespace
}  // namespace strata
