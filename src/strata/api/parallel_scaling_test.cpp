// SPDX-License-Identifier: Apache-2.0
#include "strata/api/parallel_scaling.hpp"

#include "strata/api/page.hpp"
#include "strata/base/error.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace strata {
namespace {

ScalingRequest adam_on(std::vector<std::int64_t> devices, std::int64_t batch) {
  ScalingRequest request;
  request.predict.sizes.batch = batch;
  request.predict.sizes.dtype = DType::bf16;
  request.predict.training.optimizer = Optimizer::adam;
  request.devices = std::move(devices);
  return request;
}

ParallelScaling scaled(const std::string& model, const std::string& on,
                       const ScalingRequest& request) {
  const Graph graph = load_model(model);
  return predict_scaling(graph, load_cluster(on), request);
}

TEST(ParallelScaling, each_row_is_the_best_strategy_of_that_cluster) {
  const ScalingRequest request = adam_on({2, 8, 16}, 32);
  const ParallelScaling scaling = scaled("gpt2:layers=3", "8xa100-80gb", request);
  ASSERT_EQ(scaling.rows.size(), 3U);
  const Graph graph = load_model("gpt2:layers=3");
  const char* const clusters[] = {"2xa100-80gb", "8xa100-80gb", "2x8xa100-80gb"};
  for (std::size_t i = 0; i < 3; ++i) {
    const Cluster cluster = load_cluster(clusters[i]);
    ParallelModel model(graph, cluster, request.predict);
    const ParallelChoice choice = model.choose();
    ASSERT_TRUE(scaling.rows[i].best.has_value());
    EXPECT_EQ(scaling.rows[i].best->result.strategy, choice.best->result.strategy);
    EXPECT_DOUBLE_EQ(scaling.rows[i].best->result.time_s, choice.best->result.time_s);
    EXPECT_EQ(scaling.rows[i].best->context.cluster, clusters[i]);
    EXPECT_EQ(scaling.rows[i].strategies, choice.search.outcomes.size());
  }
  EXPECT_DOUBLE_EQ(*scaling.efficiency(scaling.rows[0]), 1);
  // Two devices to sixteen: eight times the devices.
  EXPECT_DOUBLE_EQ(*scaling.efficiency(scaling.rows[2]),
                   scaling.rows[0].best->result.time_s / scaling.rows[2].best->result.time_s / 8);
}

TEST(ParallelScaling, what_fails_is_a_row_with_a_reason) {
  ScalingRequest request = adam_on({8, 12, 3}, 32);
  const ParallelScaling scaling = scaled("resnet18", "8xh200", request);
  EXPECT_TRUE(scaling.rows[0].best.has_value());
  EXPECT_FALSE(scaling.rows[1].best.has_value());
  EXPECT_NE(scaling.rows[1].reason.find("12 devices are no whole nodes of 8"), std::string::npos);
  // Three stages split the network where three ranks do not divide the batch.
  ASSERT_TRUE(scaling.rows[2].best.has_value());
  EXPECT_EQ(scaling.rows[2].best->result.strategy.pipeline, 3);
  const ParallelScaling full = scaled("llama2_7b", "8xrtx-2080-ti", adam_on({1, 2}, 8));
  EXPECT_FALSE(full.has_answer());
  EXPECT_NE(full.rows[0].reason.find("out of memory"), std::string::npos) << full.rows[0].reason;
  const std::string text = to_text(full, {});
  EXPECT_NE(text.find("out of memory"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(to_json(full, {}))["rows"][0]["reason"], full.rows[0].reason);
}

TEST(ParallelScaling, the_batch_may_grow_with_the_devices) {
  ScalingRequest request = adam_on({1, 4}, 1);
  request.batch_per_device = 8;
  request.terms = {.samples = 1000, .price_per_hour = 2, .currency = "USD"};
  const ParallelScaling scaling = scaled("gpt2:layers=2", "4xh100-sxm", request);
  EXPECT_EQ(scaling.rows[0].best->context.samples, 8);
  EXPECT_EQ(scaling.rows[1].best->context.samples, 32);
  const auto json = nlohmann::json::parse(to_json(scaling, {}));
  EXPECT_EQ(json["batch_per_device"], true);
  const auto& row = json["rows"][1];
  EXPECT_EQ(row["training"]["run"]["iterations"], 32);  // 1000 / 32, and the rest of them
  EXPECT_NEAR(row["scaling_efficiency"].get<double>(),
              4 * 8 / row["expected"]["time_s"].get<double>() / 4 /
                  (8 / json["rows"][0]["expected"]["time_s"].get<double>()),
              1e-9);
}

TEST(ParallelScaling, a_page_holds_the_document_also_a_stored_one) {
  const ParallelScaling scaling = scaled("gpt2:layers=2", "8xh200", adam_on({4, 8, 12}, 16));
  const Provenance provenance{.command = "strata predict"};
  const PageSection part = page_section(scaling, provenance);
  EXPECT_EQ(part.name, scaling.context.title);
  EXPECT_EQ(part.document, to_json(scaling, provenance));
  const PageSection stored = page_section("stored", part.document, {}, provenance);
  EXPECT_EQ(stored.document, part.document);
  EXPECT_TRUE(stored.notes.empty());
  for (const char* lacking :
       {R"({"kind":"parallel_scaling"})", R"({"kind":"parallel_scaling","rows":[],"dims":[]})",
        R"({"kind":"parallel_scaling","rows":{},"dims":{}})"})
    EXPECT_THROW(page_section("bad", lacking, {}, provenance), Error) << lacking;
  const std::string odd = R"({"kind":"parallel_scaling","dims":{},"rows":[1,null,{}]})";
  EXPECT_NE(plain_html_page("odd", {page_section("odd", odd, {}, provenance)}).find("[1,null,{}]"),
            std::string::npos);
}

}  // namespace
}  // namespace strata
