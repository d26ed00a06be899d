// SPDX-License-Identifier: Apache-2.0
#include "strata/report/trained_networks.hpp"

#include "strata/base/error.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace strata {
namespace {

constexpr std::string_view two_networks = R"({"networks": [
  {"name": "net", "reason": null, "model": {"dtype": "fp32", "dims": {"batch": 4, "seq": 50}}, "device": "a device",
   "rows": 7, "date": "2026-11-15T19:35:51Z",
   "totals": {"time_s": 0.002, "loss_before": 2.5, "loss_after": 0.125, "iterations_run": 50, "rows_not_run": 1}},
  {"name": "large", "reason": "needs more memory"}]})";

TEST(TrainedNetworks, a_row_per_network_and_a_reason_for_those_that_did_not_run) {
  const std::vector<TrainedNetwork> networks = read_trained_networks(two_networks);
  EXPECT_EQ(to_text(networks, {}),
            "  network  device    sizes            type  iteration  first loss   last  steps  "
            "layers not run\n"
            "  net      a device  batch 4, seq 50  fp32    2.00 ms         2.5  0.125     50  "
            "        1 of 7\n"
            "\n"
            "  not trained\n"
            "  large on a device: needs more memory\n");
}

TEST(TrainedNetworks, the_document_has_them_all) {
  const auto json = nlohmann::json::parse(
      to_json(read_trained_networks(two_networks), {.command = "strata doctor"}));
  EXPECT_EQ(json["kind"], "trained_networks");
  EXPECT_EQ(json["networks"][0]["time_s"], 0.002);
  EXPECT_TRUE(json["networks"][1]["time_s"].is_null());
  EXPECT_TRUE(json["networks"][1]["loss_after"].is_null());
  EXPECT_EQ(json["networks"][1]["reason"], "needs more memory");
}

TEST(TrainedNetworks, what_is_not_such_a_table_is_refused) {
  EXPECT_THROW(read_trained_networks("{}"), Error);
  EXPECT_THROW(read_trained_networks("nothing"), Error);
  EXPECT_THROW(read_trained_networks(R"({"networks": [{"name": "net", "reason": null}]})"), Error);
}

// A network that joins the zoo has to be trained, too; a layer that a device cannot run shows here.
TEST(TrainedNetworks, every_built_in_network_is_in_the_tables_that_ship) {
  const std::vector<TrainedNetwork> trained = shipped_trained_networks();
  std::set<std::string> devices;
  for (const TrainedNetwork& one : trained) devices.insert(one.device);
  EXPECT_FALSE(devices.empty());
  for (const std::string& device : devices) {
    for (const Network& network : networks()) {
      const auto row = std::find_if(trained.begin(), trained.end(), [&](const TrainedNetwork& one) {
        return one.device == device && one.name.substr(0, one.name.find(':')) == network.name;
      });
      ASSERT_NE(row, trained.end()) << network.name << " on " << device;
      if (!row->reason.empty()) continue;
      EXPECT_EQ(row->layers_not_run, 0) << network.name << " on " << device;
      EXPECT_GE(row->steps, network.name == "llama" ? 29 : 50) << network.name << " on " << device;
      if (row->loss_before && row->loss_after) {
        EXPECT_LT(*row->loss_after, *row->loss_before) << network.name << " on " << device;
      }
    }
  }
}

}  // namespace
}  // namespace strata
