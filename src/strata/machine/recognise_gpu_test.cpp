// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/recognise_gpu.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

std::string machine_of_gpu(std::string name, std::int64_t bytes = 0, std::int64_t units = 0) {
  const RecognisedGpu found = recognise_gpu({std::move(name), bytes, units});
  EXPECT_EQ(found.machine == nullptr, !found.missing.empty());
  return found.machine == nullptr ? "" : found.machine->name;
}

TEST(RecogniseGpu, TakesTheNamesThatDriversGive) {
  EXPECT_EQ(machine_of_gpu("NVIDIA H200", 150'754'820'096, 132), "h200");
  EXPECT_EQ(machine_of_gpu("NVIDIA H100 80GB HBM3", 85'045'084'160, 132), "h100-sxm");
  EXPECT_EQ(machine_of_gpu("NVIDIA H100 PCIe", 85'029'158'912, 114), "h100-pcie");
  EXPECT_EQ(machine_of_gpu("Tesla V100-SXM2-16GB", 16'945'512'448, 80), "v100");
  EXPECT_EQ(machine_of_gpu("NVIDIA GeForce RTX 3090"), "rtx-3090");
  EXPECT_EQ(machine_of_gpu("GeForce RTX 3090"), "rtx-3090");
  EXPECT_EQ(machine_of_gpu("Tesla T4", 15'843'721'216, 40), "t4");
  EXPECT_EQ(machine_of_gpu("NVIDIA GB200", 197'897'748'480, 152), "gb200");
  EXPECT_EQ(machine_of_gpu("NVIDIA GB300", 297'021'079'552, 152), "gb300");
  EXPECT_EQ(machine_of_gpu("NVIDIA B300 SXM6 AC", 288'400'343'040, 148), "b300");
  EXPECT_EQ(machine_of_gpu("NVIDIA A10G", 23'836'229'632, 80), "a10g");
  EXPECT_EQ(machine_of_gpu("NVIDIA RTX A6000", 51'041'271'808, 84), "rtx-a6000");
  EXPECT_EQ(machine_of_gpu("NVIDIA RTX PRO 6000 Blackwell Server Edition", 102'641'958'912, 188),
            "rtx-pro-6000-server");
  EXPECT_EQ(machine_of_gpu("NVIDIA GeForce RTX 5090", 34'190'917'632, 170), "rtx-5090");
}

TEST(RecogniseGpu, MemoryTellsVariantsApart) {
  EXPECT_EQ(machine_of_gpu("NVIDIA A100-PG509-200", 42'297'524'224, 108), "a100-40gb");
  EXPECT_EQ(machine_of_gpu("NVIDIA A100-PG509-200", 85'197'193'216, 108), "a100-80gb");
  EXPECT_EQ(machine_of_gpu("NVIDIA A100-PG509-200"), "");
  EXPECT_EQ(machine_of_gpu("Tesla V100-SXM2-16GB", 34'079'637'504, 80), "");
}

TEST(RecogniseGpu, GuessesNothing) {
  EXPECT_EQ(machine_of_gpu(""), "");
  EXPECT_EQ(machine_of_gpu("AMD Radeon Graphics", 68'702'699'520, 104), "");
  EXPECT_EQ(machine_of_gpu("NVIDIA H100 NVL", 99'857'989'632, 132), "");
  EXPECT_EQ(machine_of_gpu("NVIDIA A100 80GB PCIe", 84'987'740'160, 108), "");
  EXPECT_EQ(machine_of_gpu("NVIDIA H200 NVL", 150'754'820'096, 132), "");
  EXPECT_EQ(machine_of_gpu("NVIDIA H20-3e", 150'754'820'096, 78), "");
  // A slice of a GPU has fewer processors than the whole.
  EXPECT_EQ(machine_of_gpu("NVIDIA H100 80GB HBM3", 11'000'000'000, 16), "");
  EXPECT_NE(recognise_gpu({"AMD Radeon Graphics", 68'702'699'520, 104})
                .missing.find("'AMD Radeon Graphics' (104 multiprocessors, 64.0 GiB)"),
            std::string::npos);
}

}  // namespace
}  // namespace strata
