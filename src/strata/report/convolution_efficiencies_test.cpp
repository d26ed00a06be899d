// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/convolution/lab/fake_device_test.hpp"
#include "strata/convolution/lab/lab.hpp"
#include "strata/convolution/lab/made_up_results_test.hpp"
#include "strata/report/convolution_report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace strata {
namespace {

/// Two roles with times 0.2 and 0.7 of the whole (made_up_results), one cell without counters.
ConvResults results_with_efficiencies() {
  ConvResults results = test::results_with_crossover();
  results.has_efficiencies = true;
  for (ConvCell& cell : results.cells) {
    if (!cell.is_measured()) continue;
    cell.efficiencies = ConvEfficiencies{
        {{.role = KernelRole::im2col, .occupancy = 0.9, .ipc = 1.0, .global_load = 0.5},
         {.role = KernelRole::gemm, .occupancy = 0.25, .ipc = 3.5, .shared = 1.25}},
        ""};
    if (cell.strategy == "fft") cell.efficiencies = ConvEfficiencies{{}, "no permission"};
  }
  return results;
}

TEST(ConvEfficiencies, are_weighted_with_the_time_of_each_role) {
  const ConvResults results = results_with_efficiencies();
  const ConvCell& cell = results.cells.front();
  EXPECT_NEAR(*mean_efficiency(cell, &ConvEfficiency::occupancy), (0.2 * 0.9 + 0.7 * 0.25) / 0.9,
              1e-12);
  EXPECT_NEAR(*mean_efficiency(cell, &ConvEfficiency::global_load), 0.5, 1e-12);
  EXPECT_EQ(mean_efficiency(cell, &ConvEfficiency::global_store), std::nullopt);
  ConvCell untimed = cell;
  untimed.roles.clear();
  EXPECT_NEAR(*mean_efficiency(untimed, &ConvEfficiency::ipc), (1.0 + 3.5) / 2, 1e-12);
  untimed.efficiencies.reset();
  EXPECT_EQ(mean_efficiency(untimed, &ConvEfficiency::ipc), std::nullopt);
}

TEST(ConvEfficiencies, are_in_the_document_and_read_again_as_the_same) {
  const ConvResults results = results_with_efficiencies();
  const std::string document = to_json(results, {}, {});
  const ConvResults again = read_conv_results(document);
  EXPECT_TRUE(again.has_efficiencies);
  EXPECT_EQ(to_json(again, {}, {}), document);
  const auto json = nlohmann::json::parse(document);
  const auto& entry = json["cells"][0]["efficiencies"];
  EXPECT_EQ(entry["roles"][1]["role"], "gemm");
  EXPECT_EQ(entry["roles"][1]["shared_efficiency"], 1.25);
  EXPECT_FALSE(entry["roles"][1].contains("gld_efficiency"));
  EXPECT_NEAR(entry["ipc"].get<double>(), (0.2 * 1.0 + 0.7 * 3.5) / 0.9, 1e-12);
  EXPECT_EQ(json["cells"][1]["efficiencies"]["absent"], "no permission");
  EXPECT_FALSE(nlohmann::json::parse(to_json(test::results_with_crossover(), {}, {}))
                   .contains("has_efficiencies"));
  auto bad = json;
  bad["cells"][0]["efficiencies"]["roles"][0]["occupancy"] = -1;
  EXPECT_THROW(read_conv_results(bad.dump()), Error);
}

TEST(ConvEfficiencies, have_columns_only_where_they_were_asked_for) {
  const ConvResults results = results_with_efficiencies();
  const std::string csv = to_csv(results);
  const std::string plain = to_csv(test::results_with_crossover());
  EXPECT_NE(csv.find(",shared_efficiency,efficiencies_absent\n"), std::string::npos);
  EXPECT_EQ(plain.find("shared_efficiency"), std::string::npos);
  const std::vector<std::string_view> lines = split(csv, '\n');
  const std::size_t columns = split(lines[0], ',').size();
  for (std::size_t i = 1; i + 1 < lines.size(); ++i)
    EXPECT_EQ(split(lines[i], ',').size(), columns) << lines[i];
}

TEST(ConvEfficiencies, are_a_table_and_the_reasons_why_not_stand_below_once) {
  const std::string text = to_text(results_with_efficiencies(), {}, {});
  EXPECT_NE(text.find("occupancy"), std::string::npos);
  const std::size_t reason = text.find("without efficiencies: no permission");
  ASSERT_NE(reason, std::string::npos);
  EXPECT_EQ(text.find("without efficiencies", reason + 1), std::string::npos);
  EXPECT_EQ(to_text(test::results_with_crossover(), {}, {}).find("occupancy"), std::string::npos);
}

TEST(ConvEfficiencies, of_some_results_only_are_shown_with_details_and_in_the_table_of_numbers) {
  ConvResults results = results_with_efficiencies();
  results.has_efficiencies = false;  // results of several runs, of which some had counters
  EXPECT_EQ(to_text(results, {}, {}).find("occupancy"), std::string::npos);
  EXPECT_NE(to_text(results, {.wants_details = true, .budgets_bytes = {}}, {}).find("occupancy"),
            std::string::npos);
  EXPECT_NE(to_csv(results).find(",shared_efficiency,efficiencies_absent\n"), std::string::npos);
}

TEST(ConvEfficiencies, of_layers_are_a_picture_with_a_panel_each) {
  ConvResults results = results_with_efficiencies();
  results.series.front().is_sweep = false;
  const std::vector<ConvPicture> pictures = conv_pictures(results);
  ASSERT_EQ(pictures.back().name, "k-forward-efficiencies");
  EXPECT_EQ(pictures.back().grid.panels.size(), 5U) << "run time, occupancy, IPC, load, shared";
}

TEST(ConvEfficiencies, the_lab_asks_the_device_only_when_they_are_wanted) {
  test::FakeDevice device({{.name = "right"}});
  ConvPlan plan;
  plan.passes = {ConvPass::forward};
  plan.series = {{"shapes", false, {conv_point("b1,c2,i8,f2,k3")}}};
  for (const bool is_wanted : {false, true}) {
    plan.has_efficiencies = is_wanted;
    const auto strategies = chosen_strategies(device, {}, {});
    const auto cells = run_conv_lab(device, plan, conv_tasks(plan, strategies), 0, {});
    ASSERT_EQ(cells.size(), 1U);
    EXPECT_EQ(cells[0].efficiencies.has_value(), is_wanted);
    if (is_wanted) {
      EXPECT_NE(cells[0].efficiencies->absent.find("GPU"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace strata
