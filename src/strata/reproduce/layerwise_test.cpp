// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/reproduce/layerwise_study.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata {
namespace {

/// Two convolutions and a fully connected layer, with what the test says of each.
struct MadeUpLayer {
  std::string layer, op;
  double forward_s, backward_s;
  double instructions, waiting, data, l1, l2_read, l2_write, dram_read, dram_write;
};

LayerwiseCase made_up(const std::string& network, std::int64_t batch,
                      const std::vector<MadeUpLayer>& layers, bool has_counters) {
  LayerwiseCase one;
  one.batch = batch;
  Profile& profile = one.profile;
  profile.evidence = Evidence::measured;
  profile.subject = {.network = network,
                     .title = network,
                     .dtype = "fp32",
                     .machine = "",
                     .machine_title = "a device"};
  if (has_counters) {
    for (const char* key :
         {"instructions", "waiting_warps_per_issue", "stall_data_access", "l1_hit_rate",
          "l2_read_hit_rate", "l2_write_hit_rate", "dram_read_bytes", "dram_write_bytes"}) {
      const std::string name = key;
      const bool is_bytes = name.ends_with("_bytes");
      profile.counters.columns.push_back({name,
                                          is_bytes                 ? "bytes"
                                          : name == "instructions" ? "instructions"
                                                                   : "fraction",
                                          ""});
    }
  }
  for (const bool is_backward : {false, true}) {
    for (const MadeUpLayer& layer : layers) {
      ProfileRow row;
      row.layer = layer.layer;
      row.op = layer.op;
      row.pass = is_backward ? "backward_weight" : "forward";
      row.totals.time_s = is_backward ? layer.backward_s : layer.forward_s;
      row.totals.flop = layer.op == "convolution" ? 1000 : 10;
      if (has_counters) {
        row.counters = {layer.instructions, layer.waiting,  layer.data,      layer.l1,
                        layer.l2_read,      layer.l2_write, layer.dram_read, layer.dram_write};
      }
      profile.rows.push_back(row);
      one.implementations.push_back(layer.op + std::to_string(is_backward ? batch : 0));
    }
  }
  return one;
}

const std::vector<MadeUpLayer> small = {
    {"conv1", "convolution", 1, 1.5, 10, 2, 0.4, 0.8, 0.5, 0.5, 50, 60},
    {"conv2", "convolution", 4, 10.0, 50, 3, 0.5, 0.2, 0.7, 0.4, 70, 90},
    {"fc", "linear", 0.5, 1.0, 5, 2, 0.4, 0.1, 0.2, 0.6, 300, 20}};

std::vector<MadeUpLayer> twice(std::vector<MadeUpLayer> layers) {
  for (MadeUpLayer& layer : layers) {
    layer.forward_s *= 2;
    layer.backward_s *= 2;
    layer.instructions *= 2;
  }
  return layers;
}

const Finding& finding(const std::vector<Finding>& all, std::string_view part) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& one) {
    return one.what.find(part) != std::string::npos;
  });
  if (found == all.end()) {
    ADD_FAILURE() << part;
    return all.front();
  }
  return *found;
}

TEST(Layerwise, prints_what_was_counted_beside_the_paper) {
  const LayerwiseStudy study(
      {made_up("net", 64, twice(small), true), made_up("net", 32, small, true)});
  EXPECT_EQ(study.of("net").front()->batch, 32);
  const std::vector<Finding> all = layerwise_findings(study);
  const auto expect = [&](std::string_view what, std::string_view found, bool holds) {
    const Finding& one = finding(all, what);
    EXPECT_TRUE(one.is_printed) << what;
    EXPECT_EQ(one.found, found) << what;
    EXPECT_EQ(one.holds, holds) << what;
  };
  expect("inner convolutions' share of time", "78 %", true);   // 14 of 18
  expect("of instructions", "77 %", true);                     // 100 of 130
  expect("exceed twice", "2.27×; 1 of 2 convolutions", true);  // 12.5 over 5.5; conv2 alone
  expect("time of an iteration", "2.00× (batch 32 → 64)", true);
  expect("stalls (warps", "2.00× (batch 32 → 64)", true);
  expect("waiting for data", "40 % to 50 %", true);
  expect("longer there", "25 %", true);  // 0.5 over 0.4
  expect("L1 hits of the input", "80 %, then 20 % on average, 20 % in the last", true);
  expect("inner convolutions write more", "2 of 2", true);
  expect("read far more DRAM", "15.00×", true);
  expect("hit L2 on writes", "60 % and 20 %", true);
  expect("kernels chosen", "2 of 4", true);  // those of backward carry the batch
  expect("L1 hits are stable", "0 points", true);
}

TEST(Layerwise, a_finding_that_no_longer_holds_says_so) {
  std::vector<MadeUpLayer> today = small;
  today[1].data = today[0].data = 0.1;
  today[0].l1 = 0.1;
  today[1].dram_write = 1;
  const std::vector<Finding> all =
      layerwise_findings(LayerwiseStudy({made_up("net", 32, today, true)}));
  for (const char* what : {"waiting for data", "longer there", "L1 hits of the input",
                           "inner convolutions write more"}) {
    EXPECT_TRUE(finding(all, what).is_printed) << what;
    EXPECT_FALSE(finding(all, what).holds) << what;
  }
  EXPECT_FALSE(finding(all, "time of an iteration").is_printed);  // a single batch shows no growth
}

TEST(Layerwise, without_counters_only_times_have_a_verdict) {
  const LayerwiseStudy study(
      {made_up("alexnet_caffe", 32, small, false), made_up("vgg16", 32, twice(small), false)});
  EXPECT_FALSE(study.has_counters());
  const std::vector<Finding> all = layerwise_findings(study);
  EXPECT_TRUE(finding(all, "share of time").is_printed);
  EXPECT_FALSE(finding(all, "of instructions").is_printed);
  EXPECT_EQ(finding(all, "of instructions").note, "no counters in these profiles");
  EXPECT_EQ(finding(all, "larger in VGG-16").found, "2.27× and 2.27×");
  EXPECT_FALSE(finding(all, "larger in VGG-16").holds);
}

TEST(Layerwise, counters_of_a_smaller_batch_are_taken_and_named) {
  LayerwiseCase counted_case = made_up("net", 32, small, true);
  CounterValues few_hits(8), many_hits(8);
  few_hits[4] = 0.1, few_hits[5] = 0.9;  // L2: reads and writes
  many_hits[4] = 0.8, many_hits[5] = 0.3;
  counted_case.profile.counted_kernels = {{"AddBias<float>", 0, few_hits}, {"gemm", 0, many_hits}};
  const std::vector<Finding> all = layerwise_findings(
      LayerwiseStudy({std::move(counted_case), made_up("net", 64, twice(small), false)}));
  EXPECT_EQ(finding(all, "waiting for data").found, "40 % to 50 %");
  EXPECT_TRUE(finding(all, "waiting for data").what.ends_with(", batch 32"));
  EXPECT_EQ(finding(all, "bias is added").found, "10 % and 90 %; 80 % and 30 %");
  EXPECT_TRUE(finding(all, "bias is added").holds);
  // One batch with counters shows neither growth nor stability of what is counted.
  EXPECT_FALSE(finding(all, "instructions with the batch").is_printed);
  EXPECT_FALSE(finding(all, "L1 hits are stable").is_printed);
  EXPECT_EQ(finding(all, "time of an iteration").found, "2.00× (batch 32 → 64)");
}

TEST(Layerwise, claims_about_convolutions_are_not_made_of_a_network_without_any) {
  const std::vector<MadeUpLayer> dense = {small.back()};
  for (const Finding& one : layerwise_findings(LayerwiseStudy({made_up("net", 32, dense, true)})))
    EXPECT_EQ(one.what.find("onvolution"), std::string::npos) << one.what;
}

TEST(Layerwise, figures_are_relative_to_the_first_convolution) {
  const LayerwiseStudy study(
      {made_up("net", 32, small, true), made_up("net", 64, twice(small), true)});
  const std::vector<Figure> figures = layerwise_figures(study);
  const auto time = std::find_if(figures.begin(), figures.end(), [](const Figure& figure) {
    return figure.name == "layerwise-net-time";
  });
  ASSERT_NE(time, figures.end());
  EXPECT_NE(time->csv.find("net,64,conv2,convolution,backward,20,20\n"), std::string::npos)
      << time->csv;
  for (const Figure& figure : figures) EXPECT_NE(chart::to_svg(figure.grid), "") << figure.name;
  const std::vector<Figure> without =
      layerwise_figures(LayerwiseStudy({made_up("net", 32, small, false)}));
  EXPECT_EQ(without.size(), 3U);  // types, ratio, time
}

TEST(Layerwise, refuses_what_is_not_one) {
  EXPECT_THROW(LayerwiseStudy({}), Error);
  EXPECT_THROW(LayerwiseStudy({made_up("net", 32, small, false), made_up("net", 32, small, false)}),
               Error);
  EXPECT_THROW(read_layerwise_case("{}"), Error);
  const std::string row =
      R"("layers": [{"layer": "a", "pass": "forward", "time_s": 1, "flop": 1, "launches": 1,)"
      R"( "traffic_in_bytes": 1, "traffic_out_bytes": 1}]})";
  EXPECT_THROW(read_layerwise_case(R"({"schema_version": 1, "evidence": "predicted", )"
                                   R"("model": {"batch": 32}, )" +
                                   row),
               Error);
  EXPECT_THROW(read_layerwise_case(R"({"schema_version": 1, "evidence": "measured", )" + row),
               Error);
  EXPECT_EQ(read_layerwise_case(R"({"schema_version": 1, "evidence": "measured", )"
                                R"("model": {"batch": 32}, )" +
                                row)
                .batch,
            32);
}

}  // namespace
}  // namespace strata
