// SPDX-License-Identifier: Apache-2.0
// A whole quick measurement: its numbers are plausible, complete, and make a machine file.
#include "strata/measure/ceilings/gpu_rates.hpp"
#include "tests/device/on_device.hpp"

#include <chrono>

namespace strata::test {
namespace {

class Ceilings : public OnDevice {
 protected:
  /// Measured once for all tests.
  const Machine& measured() {
    static const Machine machine = [this] {
      const auto start = std::chrono::steady_clock::now();
      Machine result = measure_cuda({.device = device_.index, .is_quick = true});
      seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      return result;
    }();
    return machine;
  }
  static inline double seconds_ = 0;
};

TEST_F(Ceilings, quick_is_quick) {
  measured();
  EXPECT_LT(seconds_, 10);
}

TEST_F(Ceilings, no_rate_is_above_what_units_and_clock_allow) {
  for (const Peak& peak : measured().peaks) {
    const std::string what =
        std::string(name_of(peak.dtype)) + " " + std::string(name_of(peak.unit));
    ASSERT_TRUE(peak.flop_per_s.evidence) << what;
    if (const auto& share = peak.flop_per_s.evidence->share) {
      EXPECT_LT(share->share, 1.03) << what << " of " << share->of;
      EXPECT_GT(share->share, peak.unit == ComputeUnit::vector ? 0.9 : 0.5) << what;
    }
  }
  for (const MemoryLevel& level : measured().memory) {
    for (const MixBandwidth& mix : level.mixes) {
      if (const auto& share = mix.bytes_per_s.evidence->share) {
        EXPECT_LT(share->share, 1.03) << level.name << " " << name_of(mix.mix);
        EXPECT_GT(share->share, 0.6) << level.name << " " << name_of(mix.mix);
      }
    }
  }
}

TEST_F(Ceilings, levels_are_slower_outwards_and_the_curve_shows_them) {
  const Machine& machine = measured();
  ASSERT_EQ(machine.memory.size(), 3u);
  for (std::size_t i = 1; i < machine.memory.size(); ++i)
    EXPECT_LT(machine.memory[i].bandwidth_bytes_per_s->value,
              machine.memory[i - 1].bandwidth_bytes_per_s->value);
  ASSERT_FALSE(machine.curves.empty());
  const auto& points = machine.curves.front().points;
  EXPECT_GT(points.front().bytes_per_s, 1.5 * points.back().bytes_per_s);
  // Beyond the L2 the tile loop reads DRAM, by another kernel than the one of the ceiling.
  EXPECT_NEAR(points.back().bytes_per_s / machine.memory.back().bandwidth_bytes_per_s->value, 1,
              0.15);
}

TEST_F(Ceilings, every_part_is_there) {
  const Machine& machine = measured();
  for (const DType dtype : {DType::fp64, DType::fp32, DType::fp16})
    EXPECT_NE(find_peak(machine, dtype, ComputeUnit::vector), nullptr) << name_of(dtype);
  if (device_.major >= 9) {
    EXPECT_TRUE(machine.measured->warnings.empty()) << machine.measured->warnings.front();
    for (const DType dtype :
         {DType::fp64, DType::tf32, DType::fp16, DType::bf16, DType::fp8, DType::int8})
      EXPECT_NE(find_peak(machine, dtype, ComputeUnit::matrix), nullptr) << name_of(dtype);
  }
  ASSERT_TRUE(machine.launch_latency_s && machine.graph_node_latency_s);
  EXPECT_GT(machine.launch_latency_s->value, 1e-7);
  EXPECT_LT(machine.launch_latency_s->value, 1e-4);
  EXPECT_LT(machine.graph_node_latency_s->value, machine.launch_latency_s->value);
  EXPECT_GE(machine.links.size(), 4u);
  for (const Link& link : machine.links) {
    EXPECT_GT(link.bandwidth_bytes_per_s.value, 1e9) << link.name;
    EXPECT_TRUE(link.latency_s && link.latency_s->value < 1e-3) << link.name;
  }
}

TEST_F(Ceilings, a_measurement_is_a_machine_file) {
  EXPECT_EQ(read_machine(to_json(measured())), measured());
}

TEST_F(Ceilings, a_device_that_is_not_there_is_named) {
  try {
    measure_cuda({.device = 99});
    FAIL() << "GPU 99 was measured";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_NE(std::string(error.what()).find("no GPU 99"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace strata::test
