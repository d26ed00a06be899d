// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/machine.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace strata {
namespace {

TEST(Machines, every_shipped_file_reads_and_is_plausible) {
  ASSERT_GE(shipped_machines().size(), 7u);
  ASSERT_EQ(shipped_machines().size(), embedded_machines().size());
  for (std::size_t i = 0; i < shipped_machines().size(); ++i) {
    const Machine& machine = shipped_machines()[i];
    EXPECT_EQ(machine.name, embedded_machines()[i].name) << "a machine is called as its file";
    for (const Peak& peak : machine.peaks) {
      EXPECT_GE(peak.flop_per_s.value, 1e11) << machine.name;
      EXPECT_LE(peak.flop_per_s.value, 1e17) << machine.name;
      EXPECT_GE(peak.flop_per_s.source.size(), 10u) << machine.name << ": a number needs a source";
    }
    const MemoryLevel& outermost = machine.memory.back();
    EXPECT_FALSE(outermost.is_on_chip) << machine.name;
    ASSERT_TRUE(outermost.bandwidth_bytes_per_s) << machine.name;
    EXPECT_GE(outermost.bandwidth_bytes_per_s->value, 1e10) << machine.name;
    EXPECT_LE(outermost.bandwidth_bytes_per_s->value, 1e14) << machine.name;
    EXPECT_TRUE(std::is_sorted(machine.memory.begin(), machine.memory.end(),
                               [](const auto& a, const auto& b) {
                                 return a.capacity_bytes.value / static_cast<double>(a.instances) <
                                        b.capacity_bytes.value / static_cast<double>(b.instances);
                               }))
        << machine.name << ": memory levels go from the innermost to the outermost";
  }
}

std::string refusal(const nlohmann::json& document) {
  try {
    read_machine(document.dump());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

TEST(Machines, a_bad_file_is_refused_by_field) {
  const nlohmann::json good = nlohmann::json::parse(embedded_machines().front().text);
  EXPECT_EQ(refusal(good), "accepted");
  nlohmann::json bad = good;
  bad["peaks"][0]["flop_per_s"] = -1;
  EXPECT_EQ(refusal(bad), "machine.peaks[0].flop_per_s: must be positive, got -1");
  bad = good;
  bad["memory"][0]["capacity_bytes"].erase("source");
  EXPECT_EQ(refusal(bad), "machine.memory[0].capacity_bytes: 'source' is missing");
  bad = good;
  bad["peaks"][0]["dtype"] = "fp31";
  EXPECT_EQ(refusal(bad), "machine.peaks[0].dtype: unknown data type 'fp31'");
  bad = good;
  bad["memory"] = nlohmann::json::array();
  EXPECT_EQ(refusal(bad), "machine.memory: expected a list with at least one entry");
  EXPECT_THROW(read_machine("{"), Error);
  EXPECT_THROW(read_machine("[]"), Error);
}

}  // namespace
}  // namespace strata
