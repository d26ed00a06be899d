// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/hardware.hpp"

#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/predict/policy.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace strata {
namespace {

TEST(HardwareOf, takes_matrix_units_where_they_know_the_type) {
  const Machine machine = load_machine("h100-sxm");
  const Hardware fp32 = hardware_of(machine, DType::fp32);
  EXPECT_EQ(fp32.capacity_bytes, 50 << 20);
  EXPECT_EQ(fp32.bytes_per_s, 3.35e12);
  EXPECT_EQ(fp32.dense_flop_per_s, 67e12);
  EXPECT_EQ(fp32.other_flop_per_s, 67e12);
  const Hardware bf16 = hardware_of(machine, DType::bf16);
  EXPECT_EQ(bf16.dense_flop_per_s, 989.4e12);
  EXPECT_EQ(bf16.other_flop_per_s, 133.8e12);
  const Hardware tf32 = hardware_of(machine, DType::tf32);
  EXPECT_EQ(tf32.dense_flop_per_s, 494.7e12);
  EXPECT_EQ(tf32.other_flop_per_s, 67e12) << "lanes do not know tf32";
}

TEST(HardwareOf, overrides_win_and_stand_in_for_what_is_missing) {
  const Machine machine = load_machine("rtx-2080-ti");
  const Hardware hardware = hardware_of(
      machine, DType::bf16, {.capacity_bytes = 123, .bytes_per_s = 1e9, .flop_per_s = 2e12});
  EXPECT_EQ(hardware.capacity_bytes, 123);
  EXPECT_EQ(hardware.bytes_per_s, 1e9);
  EXPECT_EQ(hardware.dense_flop_per_s, 2e12);
  EXPECT_EQ(hardware.other_flop_per_s, 2e12);
}

std::string refusal(const Machine& machine, DType dtype, const HardwareOverrides& overrides = {}) {
  try {
    hardware_of(machine, dtype, overrides);
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::input || error.kind() == ErrorKind::usage);
    return error.what();
  }
  return "accepted";
}

TEST(HardwareOf, names_what_the_machine_has) {
  EXPECT_EQ(refusal(load_machine("rtx-2080-ti"), DType::bf16),
            "rtx-2080-ti has no rate for bf16; it has: fp32, fp16 (or give --throughput)");
  Machine bare = load_machine("v100");
  std::erase_if(bare.memory, [](const MemoryLevel& level) { return level.is_on_chip; });
  EXPECT_EQ(refusal(bare, DType::fp32), "v100 has no on-chip memory; give --capacity");
  bare.memory.back().bandwidth_bytes_per_s.reset();
  EXPECT_NE(refusal(bare, DType::fp32, {.capacity_bytes = 1}).find("give --bandwidth"),
            std::string::npos);
}

TEST(HardwareOf, refuses_rates_that_are_none) {
  const Machine machine = load_machine("v100");
  for (const double rate : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_NE(refusal(machine, DType::fp32, {.bytes_per_s = rate}), "accepted");
    EXPECT_NE(refusal(machine, DType::fp32, {.flop_per_s = rate}), "accepted");
  }
}

// Every road to a prediction passes check(), so that the rule stands once.
TEST(HardwareOf, a_capacity_below_one_byte_is_refused_by_the_prediction) {
  for (const std::int64_t capacity : {0, -5}) {
    try {
      check(hardware_of(load_machine("v100"), DType::fp32, {.capacity_bytes = capacity}));
      FAIL() << capacity;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_EQ(std::string(error.what()),
                fmt::format("the on-chip capacity (--capacity) must be at least 1 byte, got {}",
                            capacity));
    }
  }
}

TEST(HardwareOf, every_shipped_machine_can_be_predicted_on) {
  for (const Machine& machine : shipped_machines()) {
    // What is built for training alone publishes no rate for fp32.
    const bool has_fp32 = find_peak(machine, DType::fp32, ComputeUnit::vector) != nullptr;
    EXPECT_TRUE(has_fp32 || machine.kind == "tpu" || machine.kind == "accelerator") << machine.name;
    const Hardware hardware = hardware_of(machine, has_fp32 ? DType::fp32 : DType::bf16);
    EXPECT_GT(hardware.capacity_bytes, 1 << 20) << machine.name;
    EXPECT_GT(*outer_memory_bytes(machine), static_cast<double>(hardware.capacity_bytes));
  }
}

}  // namespace
}  // namespace strata
