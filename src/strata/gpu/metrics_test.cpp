// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/metrics.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <set>

namespace strata {
namespace {

using Json = nlohmann::json;

Json shipped(std::string_view name) {
  for (const EmbeddedFile& file : embedded_metrics()) {
    if (file.name == name) return Json::parse(file.text);
  }
  return {};
}

TEST(Metrics, every_shipped_file_reads_and_has_what_others_rely_on) {
  ASSERT_GE(embedded_metrics().size(), 4U);
  std::set<std::string> chips;
  for (const EmbeddedFile& file : embedded_metrics()) {
    const ChipMetrics metrics = read_metrics(file.text);
    for (const std::string& chip : metrics.chips) EXPECT_TRUE(chips.insert(chip).second) << chip;
    for (const char* key :
         {"dram_read_bytes", "dram_write_bytes", "l2_read_bytes", "l2_write_bytes", "occupancy",
          "ipc", "warp_execution_efficiency", "gld_efficiency", "gst_efficiency",
          "shared_efficiency", "l1_hit_rate", "stall_long_scoreboard", "stall_data_access",
          "instructions", "load_store_share", "fp32_flop"})
      EXPECT_NE(metrics.column(key), nullptr) << file.name << " " << key;
  }
}

// A roofline point in one run, kernels as they are: no cold caches between runs, no patched code.
TEST(Metrics, a_roofline_point_takes_one_unpatched_run) {
  for (const char* chip : {"GH100", "GA100", "AD102"}) {
    const ChipMetrics& metrics = metrics_of_chip(chip);
    for (const MetricPreset& preset : metrics.presets) {
      if (preset.name != "roofline") continue;
      ASSERT_EQ(preset.sessions.size(), 1U);
      const MetricSession& session = *metrics.session(preset.sessions[0]);
      EXPECT_EQ(session.passes, 1) << chip;
      for (const std::string& key : session.columns) {
        for (const MetricTerm& term : metrics.column(key)->alternatives[0])
          EXPECT_FALSE(is_sass_metric(term.metric)) << term.metric;
      }
    }
  }
}

TEST(Metrics, formulas_count_fused_products_twice_and_sectors_as_32_bytes) {
  const ChipMetrics& metrics = metrics_of_chip("gh100");
  for (const MetricTerm& term : metrics.column("fp32_flop")->alternatives[0])
    EXPECT_EQ(term.factor, term.metric.find("_ffma_") != std::string::npos ? 2 : 1) << term.metric;
  EXPECT_EQ(metrics.column("l2_read_bytes")->alternatives[0][0].factor, 32);
  EXPECT_TRUE(adds_up(metrics.column("fp32_flop")->unit));
  EXPECT_FALSE(adds_up(metrics.column("occupancy")->unit));
}

TEST(Metrics, a_chip_without_a_file_gets_names_to_try) {
  EXPECT_TRUE(metrics_of_chip("XY999").chips.empty());
  EXPECT_EQ(metrics_of_chip("gH100").chips, std::vector<std::string>{"GH100"});
}

struct Damage {
  const char* message;
  std::function<void(Json&)> apply;
};

TEST(Metrics, a_wrong_file_is_refused_with_the_field) {
  const Damage damages[] = {
      {"metrics.schema_version", [](Json& file) { file["schema_version"] = 7; }},
      {"metrics.columns[0].unit", [](Json& file) { file["columns"][0]["unit"] = "miles"; }},
      {"metrics.columns[0].key", [](Json& file) { file["columns"][0]["key"] = "DRAM read"; }},
      {"metrics.columns[0].terms",
       [](Json& file) { file["columns"][0]["terms"] = Json::object(); }},
      {"is not a metric's name",
       [](Json& file) {
         file["columns"][0]["terms"] = {{"bytes", 1}};
       }},
      {"metrics.columns[0].terms.a__b.sum",
       [](Json& file) {
         file["columns"][0]["terms"] = {{"a__b.sum", "two"}};
       }},
      {"metrics.columns[0]", [](Json& file) { file["columns"][0]["colour"] = "red"; }},
      {"is there twice", [](Json& file) { file["columns"].push_back(file["columns"][0]); }},
      {"not a column", [](Json& file) { file["columns"][0]["over"] = "nothing"; }},
      {"a share itself", [](Json& file) { file["columns"][0]["over"] = "stall_data_access"; }},
      {"metrics.sessions[0].passes", [](Json& file) { file["sessions"][0]["passes"] = 0; }},
      {"has no column", [](Json& file) { file["sessions"][0]["columns"].push_back("unknown"); }},
      {"is in no session", [](Json& file) { file["sessions"][0]["columns"].erase(0); }},
      {"patch kernels",
       [](Json& file) {
         file["columns"][0]["terms"] = {{"sm__sass_x.sum", 1}};
       }},
      {"has no session", [](Json& file) { file["presets"][1]["sessions"].push_back("unknown"); }},
      {"'time' is missing", [](Json& file) { file["presets"].erase(0); }},
      {"metrics.presets: expects",
       [](Json& file) {
         Json more = file["presets"][0];
         more["name"] = "fast";
         file["presets"].push_back(more);
       }},
      {"not JSON", [](Json& file) { file = nullptr; }},
  };
  for (const Damage& damage : damages) {
    Json file = shipped("gh100");
    ASSERT_FALSE(file.is_null());
    damage.apply(file);
    try {
      read_metrics(file.is_null() ? "{" : file.dump());
      ADD_FAILURE() << "accepted: " << damage.message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << damage.message;
      EXPECT_NE(std::string_view(error.what()).find(damage.message), std::string_view::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace strata
