// SPDX-License-Identifier: Apache-2.0
#include "strata/api/measure.hpp"

#include "strata/api/page.hpp"
#include "strata/base/error.hpp"
#include "strata/profile/read_profile.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

MeasureRequest quick_request() {
  MeasureRequest request;
  request.sizes.batch = 2;
  request.options.iterations = 2;
  return request;
}

TEST(MeasureModel, trains_a_network_with_its_loss) {
  const Graph graph = load_model("lenet5");
  const MeasuredModel measured =
      measure_model(graph, chosen_device("cpu"), quick_request(), load_machine("grace"));
  ASSERT_TRUE(measured.has_times());
  const Profile& profile = measured.summary.measured.profile;
  EXPECT_EQ(profile.rows.back().pass, "update");
  bool has_loss = false;
  for (const ProfileRow& row : profile.rows) {
    has_loss = has_loss || row.layer == "loss";
    EXPECT_TRUE(row.roof_s.has_value());
  }
  EXPECT_TRUE(has_loss);
  EXPECT_NE(measured.summary.host, "");
  EXPECT_EQ(read_profile(to_json(measured.summary, {})).rows.size(), profile.rows.size());
}

TEST(MeasureModel, runs_inference_without_one) {
  MeasureRequest request = quick_request();
  request.options.engine.training.inference = true;
  const MeasuredModel measured =
      measure_model(load_model("lenet5"), chosen_device(std::nullopt), request);
  for (const ProfileRow& row : measured.summary.measured.profile.rows) {
    EXPECT_EQ(row.pass, "forward");
    EXPECT_NE(row.layer, "loss");
  }
}

TEST(MeasureModel, has_a_page) {
  const MeasuredModel bare =
      measure_model(load_model("lenet5"), chosen_device("cpu"), quick_request());
  const PageSection without = page_section(bare, {});
  ASSERT_EQ(without.notes.size(), 1U);  // no machine, no roofs
  EXPECT_NE(html_page("LeNet", {without}).find("LeNet"), std::string::npos);
  const PageSection with = page_section("lenet", to_json(bare.summary, {}), {.on = "grace"}, {});
  EXPECT_TRUE(with.notes.empty());
  std::string names;
  for (const auto& [name, json] : with.extras) names += name + " ";
  EXPECT_EQ(names, "explanation roofline ");
}

TEST(Page, refuses_what_is_no_result) {
  for (const char* text : {"{}", R"({"kind":"letter"})", "hello", R"({"kind":"model"})"})
    EXPECT_THROW(page_section("x", std::string(text), {}, {}), Error) << text;
}

}  // namespace
}  // namespace strata
