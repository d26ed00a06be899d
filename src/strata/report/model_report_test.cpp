// SPDX-License-Identifier: Apache-2.0
#include "strata/report/model_report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace strata {
namespace {

using OrderedJson = nlohmann::ordered_json;

LayerSummary layer(std::string name, std::string block, std::int64_t forward_flop) {
  LayerSummary result{.name = std::move(name), .block = std::move(block), .op = "linear"};
  result.output_shape = {2, 10};
  result.kept = "input";
  result.kept_bytes = 64;
  result.counts.nodes = 1;
  result.counts.parameters = 90;
  result.counts.forward = {
      .mac = forward_flop / 2, .flop = forward_flop, .read_bytes = 11, .write_bytes = 12};
  result.counts.backward_input = {
      .mac = 0, .flop = forward_flop, .read_bytes = 13, .write_bytes = 14};
  result.counts.backward_weight = {.mac = 0, .flop = 5, .read_bytes = 15, .write_bytes = 16};
  result.counts.activation_bytes = 80;
  return result;
}

/// Two layers with names that no format may stumble over.
ModelSummary hostile_summary() {
  ModelSummary summary;
  summary.name = "evil \"quotes\" \\";
  summary.title = "Title\033[31m";
  summary.source = "nowhere\n";
  summary.dims = {{"batch", 2}, {"seq", 7}};
  summary.dtype = "fp32";
  summary.layers = {layer("a,\"b\"\n", "block \"1\"", 100), layer("\xFF\xFE", "", 2000)};
  summary.layers[0].inputs = {"data"};
  summary.layers[1].inputs = {summary.layers[0].name, "data"};
  for (const LayerSummary& item : summary.layers) summary.totals += item.counts;
  summary.types = {{"linear", summary.totals}};
  summary.blocks = {{"block \"1\"", summary.layers[0].counts},
                    {"\xFF\xFE", summary.layers[1].counts}};
  summary.kept_bytes = 100;
  return summary;
}

std::vector<std::string_view> names_of(const std::vector<ModelRow>& rows) {
  std::vector<std::string_view> names;
  for (const ModelRow& row : rows) names.push_back(row.name);
  return names;
}

TEST(ModelReport, a_view_chooses_the_rows) {
  const ModelSummary summary = hostile_summary();
  const std::string_view first = summary.layers[0].name;
  const std::string_view second = summary.layers[1].name;
  EXPECT_EQ(names_of(rows_of(summary, {})), (std::vector<std::string_view>{first, second}));
  EXPECT_EQ(names_of(rows_of(summary, {.top = 1})), std::vector<std::string_view>{second});
  EXPECT_EQ(names_of(rows_of(summary, {.top = 9})), (std::vector<std::string_view>{second, first}));
  EXPECT_EQ(names_of(rows_of(summary, {.by = GroupBy::type})),
            std::vector<std::string_view>{"linear"});
  EXPECT_EQ(rows_of(summary, {.by = GroupBy::block}).size(), 2U);
}

TEST(ModelReport, text_shows_defaults_rows_totals_and_sources) {
  const std::string text = to_text(hostile_summary(), {}, {});
  EXPECT_EQ(
      text.find("Title\\u{1b}[31m, batch 2, seq 7, fp32, training (forward and backward)\n\n"), 0U)
      << text;
  for (const char* part : {"a,\"b\"\\u{a}", "2×10", "2.10 K", "2.11 K", "160 B", "total",
                           "2 layers", "source: nowhere\\u{a}"}) {
    EXPECT_NE(text.find(part), text.npos) << part << " in\n" << text;
  }
  EXPECT_EQ(text.find('\033'), text.npos);
}

TEST(ModelReport, groups_show_their_share) {
  const std::string text = to_text(hostile_summary(), {.by = GroupBy::block}, {});
  EXPECT_NE(text.find("4.9 %"), text.npos) << text;  // 205 of 4210
  EXPECT_NE(text.find("95.1 %"), text.npos) << text;
  EXPECT_NE(text.find("100.0 %"), text.npos) << text;
}

TEST(ModelReport, layers_that_could_not_be_counted_are_said) {
  ModelSummary summary = hostile_summary();
  summary.layers[1].counts.uncounted = 1;
  summary.totals.uncounted = 1;
  const std::string text = to_text(summary, {}, {});
  EXPECT_NE(text.find("unknown"), text.npos);
  EXPECT_NE(text.find("not counted  1 layer with an operator that Strata does not know"), text.npos)
      << text;
}

TEST(ModelReport, json_survives_names_that_are_not_text) {
  const OrderedJson json =
      OrderedJson::parse(to_json(hostile_summary(), {.command = "strata 'x'"}));
  EXPECT_EQ(json["model"]["dims"], (OrderedJson{{"batch", 2}, {"seq", 7}}));
  EXPECT_EQ(json["layers"][0]["name"], "a,\"b\"\n");
  EXPECT_EQ(json["layers"][0]["backward_flop"], 105);
  EXPECT_EQ(json["layers"][1]["inputs"].size(), 2U);
  EXPECT_EQ(json["totals"]["forward_flop"], 2100);
  EXPECT_EQ(json["by_block"].size(), 2U);
  EXPECT_EQ(json["provenance"]["command"], "strata 'x'");
}

TEST(ModelReport, json_keys_come_in_a_stable_order) {
  const OrderedJson json = OrderedJson::parse(to_json(hostile_summary(), {}));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"schema_version", "kind", "model", "totals", "warnings",
                                            "layers", "by_type", "by_block", "provenance"}));
}

TEST(ModelReport, json_without_a_batch_says_null) {
  ModelSummary summary = hostile_summary();
  summary.dims.clear();
  EXPECT_TRUE(OrderedJson::parse(to_json(summary, {}))["model"]["batch"].is_null());
}

TEST(ModelReport, csv_quotes_what_needs_it) {
  const std::string csv = to_csv(hostile_summary(), {});
  EXPECT_NE(csv.find("\n\"a,\"\"b\"\"\\u{a}\",linear,\"block "
                     "\"\"1\"\"\",2x10,fp32,90,0,50,100,105,100,5,80,11,12,13,14,15,16,"
                     "input,64\n"),
            csv.npos)
      << csv;
  EXPECT_EQ(to_csv(hostile_summary(), {.by = GroupBy::type}).find("name,nodes,parameters,"), 0U);
}

TEST(ModelReport, dot_escapes_and_draws_inputs_clusters_and_edges) {
  const std::string dot = to_dot(hostile_summary());
  EXPECT_EQ(dot.find("digraph \"evil \\\"quotes\\\" \\\\\" {\n"), 0U) << dot;
  for (const char* part : {"subgraph cluster_0 {\n  label=\"block \\\"1\\\"\";\n",
                           "layer0 [label=\"a,\\\"b\\\"\\\\u{a}\\nlinear", "input0 [label=\"data\"",
                           "input0 -> layer0;", "layer0 -> layer1;", "input0 -> layer1;"}) {
    EXPECT_NE(dot.find(part), dot.npos) << part << " in\n" << dot;
  }
  EXPECT_EQ(dot.find("input1"), dot.npos) << "an input is drawn once";
}

TEST(ModelReport, a_scalar_has_a_shape_too) { EXPECT_EQ(shape_text({}), "scalar"); }

}  // namespace
}  // namespace strata
