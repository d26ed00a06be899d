// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/machine.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/machine/numbers.hpp"
#include "strata/machine/refusal_test.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace strata {
namespace {

TEST(Machines, every_shipped_file_reads_and_is_plausible) {
  ASSERT_GE(shipped_machines().size(), 48u);
  ASSERT_EQ(shipped_machines().size(), embedded_machines().size());
  std::set<std::string> titles;
  for (const EmbeddedFile& file : embedded_machines())
    EXPECT_EQ(read_machine(file.text).name, file.name) << "a machine is called as its file";
  for (const Machine& machine : shipped_machines()) {
    EXPECT_TRUE(titles.insert(machine.title).second) << machine.title << " stands twice";
    for (const Peak& peak : machine.peaks) {
      EXPECT_GE(peak.flop_per_s.value, 1e11) << machine.name;
      EXPECT_LE(peak.flop_per_s.value, 1e17) << machine.name;
    }
    ASSERT_NE(off_chip(machine), nullptr) << machine.name;
    ASSERT_NE(last_on_chip(machine), nullptr) << machine.name;
    ASSERT_TRUE(off_chip(machine)->bandwidth_bytes_per_s) << machine.name;
    EXPECT_GE(off_chip(machine)->bandwidth_bytes_per_s->value, 1e10) << machine.name;
    EXPECT_LE(off_chip(machine)->bandwidth_bytes_per_s->value, 1e14) << machine.name;
  }
}

TEST(Machines, no_shipped_machine_is_out_of_balance) {
  for (const Machine& machine : shipped_machines()) {
    for (const Peak& peak : machine.peaks) {
      // FLOP per byte: fp64 on a B300 is the least, int8 on a TPU v6e the most.
      const double balance = *balance_of(machine, peak);
      EXPECT_GE(balance, 0.1) << machine.name << " " << name_of(peak.dtype);
      EXPECT_LE(balance, 1200) << machine.name << " " << name_of(peak.dtype);
    }
    const Peak* vector = find_peak(machine, DType::fp32, ComputeUnit::vector);
    if (vector == nullptr) continue;
    EXPECT_GE(*balance_of(machine, *vector), 5) << machine.name;
    EXPECT_LE(*balance_of(machine, *vector), 150) << machine.name;
  }
}

TEST(Machines, a_rate_is_units_times_flop_per_clock_times_clock) {
  std::size_t checked = 0;
  for (const Machine& machine : shipped_machines()) {
    for (const Peak& peak : machine.peaks) {
      const std::optional<double> arithmetic = arithmetic_peak(machine, peak);
      if (!arithmetic) continue;
      ++checked;
      EXPECT_NEAR(peak.flop_per_s.value / *arithmetic, 1, 0.03)
          << machine.name << " " << name_of(peak.dtype) << " " << name_of(peak.unit);
    }
  }
  EXPECT_GE(checked, 100u);
}

// What a source may not say: that nobody looked.
constexpr std::array<std::string_view, 5> unread_sources{
    "from memory", "not checked", "not at hand", "as data bases quote", "press reports"};

// A source names a document and what it says, or starts with "estimated: " and says how. A rate of
// matrix units says that it is the dense one.
void check_source(const nlohmann::json& number, const std::string& place) {
  const auto source = number["source"].get<std::string>();
  EXPECT_GE(source.size(), 7u) << place << ": a number needs a source";
  for (const std::string_view phrase : unread_sources)
    EXPECT_EQ(source.find(phrase), std::string::npos) << place << ": " << source;
  if (source.find("estimated") != std::string::npos) {
    EXPECT_EQ(source.find("estimated: "), 0u) << place << ": " << source;
    EXPECT_GE(source.size(), 20u) << place << ": an estimate says how it was made";
  }
  if (number.value("unit", "") == "matrix") {
    EXPECT_NE(source.find("dense"), std::string::npos) << place << ": " << source;
  }
}

void check_sources(const nlohmann::json& json, const std::string& place, std::size_t& found) {
  if (json.is_object() && json.contains("source")) {
    ++found;
    check_source(json, place);
  }
  if (!json.is_structured()) return;
  for (const auto& entry : json.items())
    check_sources(entry.value(), place + "." + entry.key(), found);
}

TEST(Machines, every_number_that_ships_says_where_it_comes_from) {
  for (const EmbeddedFile& file : embedded_machines()) {
    std::size_t found = 0;
    check_sources(nlohmann::json::parse(file.text), std::string(file.name), found);
    EXPECT_GE(found, numbers_of(read_machine(file.text)).size()) << file.name;
  }
}

// The clock, the cache and the memory that the driver of an H200 reports.
TEST(Machines, the_h200_has_what_its_driver_reports) {
  const Machine shipped = load_machine("h200");
  const Machine seen = load_machine(STRATA_SOURCE_DIR "/data/profiles/nvidia-h200/machine.json");
  EXPECT_EQ(shipped.units->count.value, seen.units->count.value);
  EXPECT_EQ(shipped.clocks.boost_hz->value, seen.clocks.boost_hz->value);
  EXPECT_EQ(last_on_chip(shipped)->capacity_bytes.value, last_on_chip(seen)->capacity_bytes.value);
  // The driver keeps some for itself.
  EXPECT_NEAR(off_chip(seen)->capacity_bytes.value / off_chip(shipped)->capacity_bytes.value, 0.99,
              0.01);
}

TEST(Machines, the_machine_of_the_roofline_paper_has_its_numbers) {
  const auto& all = shipped_machines();
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Machine& m) { return m.name == "v100-nersc"; });
  ASSERT_NE(found, all.end());
  const Peak* tensor = find_peak(*found, DType::fp16, ComputeUnit::matrix);
  EXPECT_NEAR(*balance_of(*found, *tensor), 129.68, 0.005);
  EXPECT_NEAR(tensor->flop_per_s.value, 80 * 8 * 1.312e9 * 4 * 4 * 4 * 2, 1);
  EXPECT_EQ(found->launch_latency_s->value, 4.2e-6);
  EXPECT_TRUE(found->measured);
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
