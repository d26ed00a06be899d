// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/core_model.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

namespace strata::cpu {
namespace {

CoreModel x86(std::string_view vendor, int family, int model, std::string_view name) {
  return core_model_from(std::vector<std::string>{
      "processor\t: 0", fmt::format("vendor_id\t: {}", vendor),
      fmt::format("cpu family\t: {}", family), fmt::format("model\t\t: {}", model),
      fmt::format("model name\t: {}", name), "", "processor\t: 1", "model name\t: another"});
}

CoreModel arm(std::string_view implementer, std::string_view part) {
  return core_model_from(std::vector<std::string>{"processor\t: 0",
                                                  fmt::format("CPU implementer\t: {}", implementer),
                                                  fmt::format("CPU part\t: {}", part)});
}

// Bits of multiply-adds in one clock with registers of 128, 256 and 512 bits.
struct Known {
  CoreModel core;
  std::string_view architecture;
  int bits[3];
};

TEST(CpuCoreModel, multiply_add_units_of_known_cores) {
  const Known all[] = {
      {x86("GenuineIntel", 6, 143, "Intel(R) Xeon(R) Platinum 8480+"),
       "Sapphire Rapids",
       {256, 512, 1024}},
      {x86("GenuineIntel", 6, 85, "Intel(R) Core(TM) i9-10980XE"), "Skylake-SP", {256, 512, 1024}},
      {x86("GenuineIntel", 6, 85, "Intel(R) Xeon(R) Silver 4114"), "Skylake-SP", {256, 512, 512}},
      {x86("AuthenticAMD", 0x17, 0x31, "AMD EPYC 7742"), "Zen 2", {256, 512, 512}},
      {x86("AuthenticAMD", 0x19, 0x01, "AMD EPYC 7763"), "Zen 3", {256, 512, 512}},
      {x86("AuthenticAMD", 0x19, 0x11, "AMD EPYC 9654"), "Zen 4", {256, 512, 512}},
      {x86("AuthenticAMD", 0x1a, 0x02, "AMD EPYC 9755"), "Zen 5", {256, 512, 1024}},
      {arm("0x41", "0xd0c"), "Neoverse N1", {256, 256, 256}},
      {arm("0x41", "0xd40"), "Neoverse V1", {512, 512, 512}},
      {arm("0x41", "0xd4f"), "Neoverse V2", {512, 512, 512}},
  };
  for (const Known& known : all) {
    const auto units = fma_units_of(known.core);
    ASSERT_TRUE(units) << known.architecture;
    EXPECT_EQ(units->architecture, known.architecture);
    EXPECT_FALSE(units->source.empty());
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(units->bits_per_clock(128 << i), known.bits[i]) << known.architecture << ' ' << i;
  }
}

// The machines that ship state FLOP per clock of their documents: the table must say the same.
TEST(CpuCoreModel, agrees_with_the_datasheets_that_ship) {
  // fp32: 2 FLOP × bits / 32.
  EXPECT_EQ(fma_units_of(arm("0x41", "0xd4f"))->bits_per_clock(128) / 16, 32);  // grace
  EXPECT_EQ(fma_units_of(x86("AuthenticAMD", 0x19, 0x11, ""))->bits_per_clock(512) / 16, 32);
}

TEST(CpuCoreModel, others_are_not_guessed_at) {
  EXPECT_FALSE(fma_units_of(x86("GenuineIntel", 6, 151, "12th Gen Intel(R) Core(TM) i9-12900K")));
  EXPECT_FALSE(fma_units_of(arm("0x61", "0xd4f")));  // another maker's part of that number
  EXPECT_FALSE(fma_units_of(core_model_from({})));
}

TEST(CpuCoreModel, names) {
  EXPECT_EQ(x86("GenuineIntel", 6, 143, "Xeon").name, "Xeon");
  EXPECT_EQ(arm("0x41", "0xd40").name, "Arm Neoverse V1");
  EXPECT_EQ(arm("0x41", "0x001").name, "unknown CPU");
  EXPECT_EQ(core_model_from(std::vector<std::string>{"no colon", "model\t: x"}).model, -1);
}

}  // namespace
}  // namespace strata::cpu
