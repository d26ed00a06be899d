// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/machine/machine.hpp"
#include "strata/machine/refusal_test.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace strata {
namespace {

using Json = nlohmann::json;

Sourced measured_number(double value) {
  Measurement evidence = evidence_of("a method", std::vector<double>{0.1, 0.3, 0.2, 0.7});
  evidence.clock_hz = 1.755e9;
  evidence.power_w = 693.25;
  evidence.share = PeakShare{0.975, "datasheet: 4.8 TB/s"};
  evidence.notes = {"power cap in 2 of 4 samples"};
  return {value, "measured", evidence};
}

/// Something in every field.
Machine full_machine() {
  Machine machine;
  machine.name = "full";
  machine.title = "Everything";
  machine.kind = "gpu";
  machine.vendor = "somebody";
  machine.peaks = {{DType::fp32, ComputeUnit::vector, measured_number(6e13),
                    Sourced{256, "128 lanes"}, Sourced{1.98e9, "a clock"}, Sourced{0.8, "a table"}},
                   {DType::bf16, ComputeUnit::matrix, measured_number(7.9e14)}};
  machine.memory = {{.name = "L1",
                     .is_on_chip = true,
                     .capacity_bytes = {132.0 * 262144, "132 of 256 kB"},
                     .bandwidth_bytes_per_s = std::nullopt,
                     .instances = 132,
                     .mixes = {}},
                    {.name = "DRAM",
                     .is_on_chip = false,
                     .capacity_bytes = {1.41e11, "a document"},
                     .bandwidth_bytes_per_s = measured_number(4.695e12),
                     .instances = 1,
                     .mixes = {{AccessMix::read, measured_number(4.695e12)},
                               {AccessMix::triad, measured_number(4.41e12)}}}};
  machine.launch_latency_s = measured_number(4.5e-6);
  machine.graph_node_latency_s = measured_number(5.1e-7);
  machine.launch_variants = {{"grid 132, block 1024", measured_number(4.6e-6)}};
  machine.clocks = {Sourced{1e9, "b"}, Sourced{1.98e9, "b"}, Sourced{1.7e9, "c"},
                    Sourced{3.2e9, "d"}};
  machine.units = Units{"SM", {132, "a document"}};
  machine.power_w = Sourced{700, "a document"};
  machine.price = Price{{2.5, "an offer"}, "EUR"};
  machine.process = Process{"5nm", "a document"};
  machine.links = {
      {"PCIe",
       LinkKind::host_to_device,
       HostMemory::pinned,
       measured_number(5.5e10),
       measured_number(4.3e-6),
       {{4096, 1e9}, {1048576, 4e10}}},
      {"gpu0 to gpu1", LinkKind::peer, std::nullopt, {4.5e11, "a document"}, std::nullopt, {}}};
  machine.curves = {{AccessMix::copy, "measured", {{1024, 1e13}, {1e9, 4e12}}}};
  machine.measured = Measured{"node17", "2026-03-01", {{"driver", "580.159"}}, {"one GPU is hot"}};
  return machine;
}

TEST(MachineFile, what_is_written_reads_as_the_same_machine) {
  EXPECT_EQ(read_machine(to_json(full_machine())), full_machine());
  for (const Machine& machine : shipped_machines())
    EXPECT_EQ(read_machine(to_json(machine)), machine) << machine.name;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponent(-300, 300);
  for (int i = 0; i < 30; ++i) {
    Machine machine = full_machine();
    machine.launch_latency_s->value = std::pow(10.0, exponent(random));
    machine.peaks[0].flop_per_s.evidence->samples_s.push_back(std::pow(10.0, exponent(random)));
    EXPECT_EQ(read_machine(to_json(machine)), machine);
  }
}

TEST(MachineFile, text_that_is_not_utf_8_is_written_as_a_valid_file) {
  Machine machine = full_machine();
  machine.measured->host = "node\xff\x01";
  EXPECT_EQ(read_machine(to_json(machine)).measured->host, "node\xef\xbf\xbd\\u{1}");
}

TEST(MachineFile, evidence_has_the_spread_of_its_samples) {
  // Distances from the median 0.25: 0.15, 0.05, 0.05, 0.45.
  const Measurement evidence = evidence_of("m", std::vector<double>{0.1, 0.3, 0.2, 0.7});
  EXPECT_NEAR(*evidence.deviation_s, 0.1, 1e-12);
  EXPECT_NEAR(*evidence.relative_spread, 0.4, 1e-12);
  EXPECT_FALSE(evidence_of("m", {}).deviation_s);
  EXPECT_EQ(median_of(std::vector<double>{3, 1, 2}), 2);
}

TEST(MachineFile, every_number_and_text_of_the_wrong_kind_is_refused_by_its_place) {
  const Json good = Json::parse(to_json(full_machine()));
  ASSERT_EQ(refusal(good), "accepted");
  const Json flat = good.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (value.is_null()) continue;
    Json bad = good;
    const Json::json_pointer place(pointer);
    bad[place] = value.is_number() ? Json("text") : Json(-1);
    const std::string message = refusal(bad);
    EXPECT_EQ(message.find("machine"), 0u) << pointer << ": " << message;
    EXPECT_NE(
        message.find(place.back()[0] >= '0' && place.back()[0] <= '9' ? '[' + place.back() + ']'
                                                                      : place.back()),
        std::string::npos)
        << pointer << ": " << message;
  }
}

TEST(MachineFile, a_price_is_a_number_or_says_its_currency) {
  Json document = Json::parse(to_json(full_machine()));
  const auto price_of = [&](const Json& price) {
    document["price_per_hour"] = price;
    return *read_machine(document.dump()).price;
  };
  EXPECT_EQ(price_of(2.5), (Price{{2.5, "as given"}}));
  EXPECT_EQ(price_of({{"value", 3}, {"currency", "USD"}}), (Price{{3, "as given"}, "USD"}));
  EXPECT_EQ(price_of({{"value", 3}, {"source", "May"}}), (Price{{3, "May"}}));
  for (const Json& bad : {Json(0), Json(-1), Json("2 EUR"), Json{{"currency", "EUR"}}}) {
    document["price_per_hour"] = bad;
    EXPECT_EQ(refusal(document).find("machine.price_per_hour"), 0U) << refusal(document);
  }
  for (const Machine& machine : shipped_machines()) EXPECT_FALSE(machine.price) << machine.name;
}

TEST(MachineFile, a_misspelt_field_is_not_lost_in_silence) {
  Json document = Json::parse(to_json(full_machine()));
  document["notes"] = {"anything", 1};
  EXPECT_EQ(refusal(document), "accepted");
  document["graph_node_latency"] = 1;
  EXPECT_EQ(refusal(document),
            "machine: unknown field 'graph_node_latency'; did you mean graph_node_latency_s?");
  document.erase("graph_node_latency");
  document["memory"][1]["mixes"][0]["byte_per_s"] = 1;
  EXPECT_NE(refusal(document).find("machine.memory[1].mixes[0]: unknown field 'byte_per_s'"),
            std::string::npos);
}

TEST(MachineFile, contradictions_name_the_field_what_was_expected_and_what_came) {
  Json good = Json::parse(to_json(full_machine()));
  good.erase("measured");
  ASSERT_EQ(refusal(good), "accepted");
  const auto changed = [&](const char* patch) {
    Json bad = good;
    bad.merge_patch(Json::parse(patch));
    return bad;
  };
  Json bad = good;
  bad["peaks"].push_back(good["peaks"][0]);
  EXPECT_EQ(refusal(bad),
            "machine.peaks[2]: expected one rate for fp32 vector, but machine.peaks[0] has one "
            "already");
  bad = good;
  bad["peaks"][1]["dtype"] = "fp32";
  bad["peaks"][1]["flop_per_s"] = 5.9e13;
  EXPECT_EQ(refusal(bad),
            "machine.peaks[1].flop_per_s: expected matrix units to be no slower in fp32 than the "
            "60.00 TFLOP/s of the lanes, got 59.00 TFLOP/s");
  bad = good;
  bad["memory"][0]["bandwidth_bytes_per_s"] = {{"value", 4e12}, {"source", "x"}};
  EXPECT_EQ(refusal(bad),
            "machine.memory[1].bandwidth_bytes_per_s: expected DRAM to be no faster than L1 inside "
            "it (4.000 TB/s), got 4.695 TB/s");
  bad = good;
  std::swap(bad["memory"][0], bad["memory"][1]);
  EXPECT_NE(refusal(bad).find("machine.memory[1].on_chip: expected levels from the innermost"),
            std::string::npos);
  bad = good;
  bad["memory"][1]["capacity_bytes"]["value"] = 262144;
  EXPECT_EQ(refusal(bad),
            "machine.memory[1].capacity_bytes: expected one DRAM to hold more than one L1 inside "
            "it (256 KiB), got 256 KiB");
  bad = good;
  bad["memory"][1]["mixes"][1]["bytes_per_s"] = 5e12;
  EXPECT_NE(refusal(bad).find("machine.memory[1].mixes[1].bytes_per_s: expected at most"),
            std::string::npos);
  bad = good;
  bad["memory"][1]["name"] = "l1";
  EXPECT_NE(refusal(bad).find("machine.memory[1].name"), std::string::npos);
  bad = good;
  bad["links"].push_back(good["links"][0]);
  EXPECT_NE(refusal(bad).find("machine.links[2]"), std::string::npos);
  bad = good;
  bad["curves"][0]["points"] = {{2, 1}, {2, 1}};
  EXPECT_NE(refusal(bad).find("machine.curves[0].points[1]: expected sizes that rise"),
            std::string::npos);
  EXPECT_NE(refusal(changed(R"({"clocks": {"boost_hz": {"value": 1, "source": "x"}}})"))
                .find("machine.clocks.boost_hz: expected at least base_hz"),
            std::string::npos);
}

TEST(MachineFile, measured_numbers_may_scatter) {
  Json document = Json::parse(to_json(full_machine()));
  document["peaks"][1]["dtype"] = "fp32";
  document["peaks"][1]["flop_per_s"] = 5.9e13;
  EXPECT_EQ(refusal(document), "accepted");
  document["peaks"][1]["flop_per_s"] = 5e13;
  EXPECT_NE(refusal(document), "accepted");
}

// What ships as measured reads, holds its samples, and is no faster than units and clocks allow.
TEST(MachineFile, measured_machines_that_ship_are_whole) {
  int machines = 0;
  const std::filesystem::path folder = std::filesystem::path(STRATA_SOURCE_DIR) / "data/profiles";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().filename() != "machine.json") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Machine machine = read_machine(text);
    EXPECT_TRUE(machine.measured.has_value()) << entry.path();
    for (const Peak& peak : machine.peaks) {
      ASSERT_TRUE(peak.flop_per_s.evidence.has_value());
      const Measurement& evidence = *peak.flop_per_s.evidence;
      EXPECT_GE(evidence.samples_s.size(), 5U);
      if (evidence.share) {
        EXPECT_LT(evidence.share->share, 1.03) << name_of(peak.dtype);
      }
    }
    ++machines;
  }
  EXPECT_GE(machines, 1);
}

TEST(MachineFile, damaged_files_are_read_or_refused_and_nothing_else) {
  std::mt19937 random(11);
  const std::string good = to_json(full_machine());
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    std::string text = good;
    for (int k = 0; k < 3; ++k) text[random() % text.size()] = static_cast<char>(random() % 128);
    if (i % 5 == 0) text.resize(random() % text.size());
    try {
      const Machine machine = read_machine(text);
      EXPECT_EQ(read_machine(to_json(machine)), machine);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 250);
}

TEST(MachineFile, a_hostile_file_is_refused_in_time) {
  std::string deep = "{\"strata_machine\": ";
  for (int i = 0; i < 100000; ++i) deep += '[';
  for (int i = 0; i < 100000; ++i) deep += ']';
  EXPECT_THROW(read_machine(deep + "}"), Error);
  std::string wide = "{\"strata_machine\": 1, \"name\": \"x\"";
  for (int i = 0; i < 20000; ++i) wide += fmt::format(", \"field{}\": 1", i);
  EXPECT_THROW(read_machine(wide + "}"), Error);
  const std::string long_name(100000, 'x');
  try {
    Json document = Json::parse(to_json(full_machine()));
    document[long_name] = 1;
    read_machine(document.dump());
    FAIL();
  } catch (const Error& error) {
    EXPECT_LT(std::string(error.what()).size(), 200u);
  }
}

TEST(MachineFile, lists_have_a_limit) {
  Json document = Json::parse(to_json(full_machine()));
  document["curves"][0]["points"] = Json(std::vector<Json>(10001, Json{1, 1}));
  EXPECT_EQ(refusal(document),
            "machine.curves[0].points: expected at most 10000 entries, got 10001");
  document = Json::parse(to_json(full_machine()));
  document["title"] = std::string(5000, 'x');
  EXPECT_EQ(refusal(document), "machine.title: expected at most 4096 bytes of text, got 5000");
}

}  // namespace
}  // namespace strata
