// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/reproduce/claim_counts.hpp"
#include "strata/reproduce/layerwise_claims.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace strata {
namespace {

constexpr const char* made_up_columns[] = {
    "instructions",     "waiting_warps_per_issue", "stall_data_access", "l1_hit_rate",
    "l2_read_hit_rate", "l2_write_hit_rate",       "dram_read_bytes",   "dram_write_bytes",
    "l1_load_bytes",    "l1_store_bytes",          "l2_read_bytes",     "l2_write_bytes",
    "stall_wait",       "load_store_instructions"};

/// A layer with what the test says of it, the same in both directions.
struct MadeUpLayer {
  std::string layer, op;
  double forward_s = 0, backward_s = 0;
  double instructions = 0, waiting = 0, data = 0, l1_hits = 0, l2_read_hits = 0, l2_write_hits = 0,
         dram_read = 0, dram_write = 0;
  double l1_load = 100, l1_store = 0, l2_read = 60, l2_write = 40, load_store = 1;
  std::string implementation = "cuDNN 9 engine 1: implicit";
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
    profile.counters.source = "GH100: made up";
    for (const std::string name : made_up_columns) {
      profile.counters.columns.push_back({name,
                                          name.ends_with("_bytes") ? "bytes"
                                          : name == "instructions" ? "instructions"
                                                                   : "fraction",
                                          "about " + name});
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
      row.totals.in_bytes = 2000;
      row.totals.out_bytes = 1000;
      if (has_counters) {
        row.counters = {layer.instructions,
                        layer.waiting,
                        layer.data,
                        layer.l1_hits,
                        layer.l2_read_hits,
                        layer.l2_write_hits,
                        layer.dram_read,
                        layer.dram_write,
                        layer.l1_load,
                        layer.l1_store,
                        layer.l2_read,
                        layer.l2_write,
                        0.3,
                        layer.load_store};
      }
      profile.rows.push_back(row);
      one.implementations.push_back(layer.implementation +
                                    (is_backward ? " at " + std::to_string(batch) : ""));
      one.algorithms.push_back(layer.op != "convolution" ? ""
                               : layer.implementation.find("fft") != std::string::npos
                                   ? "FFT"
                                   : "implicit GEMM");
    }
  }
  return one;
}

/// Data as the study printed them: all that it claims of one network holds. Forward and backward
/// have the same counters; traffic is per direction.
MadeUpLayer layer_as_printed(std::string name) {
  MadeUpLayer layer{.layer = name, .op = name == "fc" ? "linear" : "convolution"};
  if (name == "conv1") {
    layer.forward_s = 1, layer.backward_s = 2.2;
    layer.instructions = 10, layer.waiting = 3, layer.data = 0.4, layer.load_store = 1;
    layer.l1_hits = 0.8, layer.l2_read_hits = 0.5, layer.l2_write_hits = 0.45;
    layer.dram_read = 150, layer.dram_write = 60;
    layer.l1_load = 300, layer.l2_read = 300, layer.l2_write = 100;
  } else if (name == "conv2") {
    layer.forward_s = 10, layer.backward_s = 22;
    layer.instructions = 50, layer.waiting = 4, layer.data = 0.5, layer.load_store = 4;
    layer.l1_hits = 0.1, layer.l2_read_hits = 0.68, layer.l2_write_hits = 0.45;
    layer.dram_read = 160, layer.dram_write = 300;
    layer.l1_load = 1000, layer.l2_read = 500, layer.l2_write = 490;
  } else {
    layer.forward_s = 0.5, layer.backward_s = 1.1;
    layer.instructions = 20, layer.waiting = 4, layer.data = 1, layer.load_store = 4;
    layer.l1_hits = 0.3, layer.l2_read_hits = 0.2, layer.l2_write_hits = 0.6;
    layer.dram_read = 300, layer.dram_write = 20;
    layer.l1_load = 200, layer.l2_read = 380, layer.l2_write = 20;
    layer.implementation = "cuBLASLt 13 algorithm 1";
  }
  return layer;
}

using Layers = std::map<std::string, MadeUpLayer>;
Layers as_printed() {
  Layers layers;
  for (const char* name : {"conv1", "conv2", "fc"}) layers.emplace(name, layer_as_printed(name));
  // Data stalls of the longest convolution are 38 % longer: 50 · 4 · 0.5 = 100 over 72.5.
  layers.at("fc").data = 0.90625;
  return layers;
}
std::vector<MadeUpLayer> listed(const Layers& layers) {
  std::vector<MadeUpLayer> list;
  for (const auto& [name, layer] : layers) list.push_back(layer);
  return list;
}
/// All that grows with the batch.
Layers twice(Layers layers) {
  for (auto& [name, layer] : layers) {
    for (double* number :
         {&layer.forward_s, &layer.backward_s, &layer.instructions, &layer.load_store,
          &layer.dram_read, &layer.dram_write, &layer.l1_load, &layer.l2_read, &layer.l2_write})
      *number *= 2;
  }
  return layers;
}
/// With other kernels, which load more in fully connected layers and write less.
Layers next_batch(const Layers& layers) {
  Layers next = twice(layers);
  MadeUpLayer& connected = next.at("fc");
  connected.l1_load *= 2;
  connected.l2_write *= 0.9;
  return next;
}

std::vector<Finding> found_in(const Layers& first, const Layers& second) {
  return layerwise_findings(LayerwiseStudy(
      {made_up("net", 64, listed(second), true), made_up("net", 32, listed(first), true)}));
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

TEST(Layerwise, all_claims_hold_of_data_as_the_study_printed_them) {
  const Layers first = as_printed();
  const std::vector<Finding> all = found_in(first, next_batch(first));
  std::size_t judged = 0;
  for (const Finding& one : all) {
    EXPECT_FALSE(one.sentence.empty()) << one.what;
    EXPECT_NE(one.sentence.find('('), std::string::npos) << "no place: " << one.sentence;
    if (!one.is_printed) continue;
    ++judged;
    EXPECT_TRUE(one.holds) << one.sentence << ": " << one.what << ", " << one.found << "; "
                           << one.note;
    EXPECT_TRUE(one.note.starts_with("holds ")) << one.note;
  }
  EXPECT_GE(judged, layerwise_claims().size());
}

/// Data on the other side of each rule, one at a time: what changes, and the row that says no.
struct OtherSide {
  const char* what;
  void (*change)(Layers& layers);
  bool is_of_both_batches = true;
};
constexpr OtherSide other_sides[] = {
    {"inner convolutions' share of time",
     [](Layers& at) { at.at("fc").forward_s = 40, at.at("fc").backward_s = 60; }},
    {"inner convolutions' share of instructions",
     [](Layers& at) { at.at("fc").instructions = 100; }},
    {"time of convolutions over fully",
     [](Layers& at) { at.at("fc").forward_s = 9, at.at("fc").backward_s = 20; }},
    {"loads and stores among instructions", [](Layers& at) { at.at("conv2").load_store = 15; }},
    {"backward over forward, all layers", [](Layers& at) { at.at("conv2").backward_s = 5; }},
    {"backward over forward, convolutions", [](Layers& at) { at.at("conv2").backward_s = 5; }},
    {"backward over forward, fully connected", [](Layers& at) { at.at("fc").backward_s = 0.4; }},
    // One convolution beyond 2× is not the network beyond 2×.
    {"backward over forward, the whole network",
     [](Layers& at) { at.at("conv2").backward_s = 19; }},
    {"in the four convolutions of most FLOP", [](Layers& at) { at.at("conv1").data = 0.29; }},
    // 721 times longer is not up to 38 % longer; neither is shorter.
    {"time of data stalls", [](Layers& at) { at.at("fc").data = 0.001; }},
    {"time of data stalls", [](Layers& at) { at.at("conv2").data = 0.35; }},
    {"L1 hits of the input convolution", [](Layers& at) { at.at("conv1").l1_hits = 0.41; }},
    {"L1 hits forward: inner", [](Layers& at) { at.at("conv2").l1_hits = 0.85; }},
    {"L1 hits: inner convolutions; fully", [](Layers& at) { at.at("conv2").l1_hits = 0.4; }},
    {"L1 throughput: inner convolutions; the input",
     [](Layers& at) { at.at("conv2").l1_load = 2000; }},
    {"bytes through L1", [](Layers& at) { at.at("conv2").l1_load = 250; }},
    {"hits of inner convolutions: L2 reads; L1", [](Layers& at) { at.at("conv2").l1_hits = 0.7; }},
    {"L2 read hits of inner", [](Layers& at) { at.at("conv2").l2_read_hits = 0.5; }},
    {"L2 read hits of inner", [](Layers& at) { at.at("conv2").l2_read_hits = 0.9; }},
    {"L2 write hits of inner", [](Layers& at) { at.at("conv2").l2_write_hits = 0.99; }},
    {"layers whose L2 reads over writes", [](Layers& at) { at.at("conv2").l2_write = 200; }},
    {"L2 reads over writes of the input", [](Layers& at) { at.at("conv1").l2_write = 200; }},
    {"L2 reads over writes of fully", [](Layers& at) { at.at("fc").l2_write = 250; }},
    {"convolutions whose L2 over L1",
     [](Layers& at) { at.at("conv1").l1_load = at.at("conv2").l1_load = 9000; }},
    {"fully connected layers whose L2 over L1", [](Layers& at) { at.at("fc").l1_load = 9000; }},
    {"L2 hits of convolutions", [](Layers& at) { at.at("conv2").l2_write_hits = 0.9; }},
    {"L2 hits of fully", [](Layers& at) { at.at("fc").l2_read_hits = 0.7; }},
    {"DRAM bytes of inner", [](Layers& at) { at.at("conv2").dram_read = 310; }},
    {"DRAM reads over writes of fully", [](Layers& at) { at.at("fc").dram_write = 200; }},
    {"read from L2 and not found", [](Layers& at) { at.at("conv2").dram_read = 500; }},
    // At the second batch only: what does not grow, or not stay.
    {"time of an iteration",
     [](Layers& at) { at.at("conv2").forward_s = 1, at.at("conv2").backward_s = 3; }, false},
    {"instructions of an iteration", [](Layers& at) { at.at("conv2").instructions = 20; }, false},
    {"warps that wait", [](Layers& at) { at.at("conv2").waiting = 0.1; }, false},
    {"bytes to and from DRAM", [](Layers& at) { at.at("conv2").dram_write *= 3; }, false},
    {"the widest difference of L1 hits of a convolution",
     [](Layers& at) { at.at("conv2").l1_hits = 0.25; }, false},
    {"the widest difference of L1 hits of a fully", [](Layers& at) { at.at("fc").l1_hits = 0.15; },
     false},
    {"L1 throughput of inner convolutions, the most",
     [](Layers& at) { at.at("conv2").l1_load *= 1.5; }, false},
    {"L2 throughput of inner convolutions, the most",
     [](Layers& at) { at.at("conv2").l2_read *= 2; }, false},
    {"L1 throughput of fully connected", [](Layers& at) { at.at("fc").l1_load /= 2; }, false},
    {"L2 write throughput of fully", [](Layers& at) { at.at("fc").l2_write *= 2; }, false},
};

TEST(Layerwise, each_rule_says_no_on_its_other_side) {
  for (const OtherSide& side : other_sides) {
    Layers first = as_printed();
    if (side.is_of_both_batches) side.change(first);
    Layers second = next_batch(first);
    if (!side.is_of_both_batches) side.change(second);
    const std::vector<Finding> all = found_in(first, second);
    const Finding& one = finding(all, side.what);
    EXPECT_TRUE(one.is_printed) << side.what;
    EXPECT_FALSE(one.holds) << side.what << ": " << one.found << "; " << one.note;
  }
  // Every claim of the table has another side above.
  for (const LayerwiseClaim& claim : layerwise_claims()) {
    EXPECT_TRUE(std::any_of(
        std::begin(other_sides), std::end(other_sides),
        [&](const OtherSide& side) { return claim.what.find(side.what) != claim.what.npos; }))
        << claim.what;
  }
}

TEST(Layerwise, stalls_are_of_every_batch_and_other_verdicts_at_other_batches_are_told) {
  Layers first = as_printed();
  const Layers second = next_batch(first);
  first.at("conv2").data = 0.2;  // at the smaller batch alone
  first.at("conv2").dram_read = 500;
  const std::vector<Finding> all = found_in(first, second);
  const Finding& stalls = finding(all, "in the four convolutions of most FLOP");
  EXPECT_FALSE(stalls.holds);
  EXPECT_EQ(stalls.found, "20 % to 40 % · 40 % to 50 %");
  EXPECT_TRUE(stalls.what.ends_with("batch 32, 64")) << stalls.what;
  const Finding& dram = finding(all, "DRAM bytes of inner");
  EXPECT_TRUE(dram.holds) << dram.found;
  EXPECT_NE(dram.note.find("no at batch 32"), std::string::npos) << dram.note;
}

TEST(Layerwise, kernels_that_are_the_same_at_every_batch_do_not_change) {
  const std::vector<MadeUpLayer> layers = listed(as_printed());
  LayerwiseCase small = made_up("net", 32, layers, false),
                large = made_up("net", 64, layers, false);
  large.implementations = small.implementations;
  const std::vector<Finding> all =
      layerwise_findings(LayerwiseStudy({std::move(small), std::move(large)}));
  const Finding& one = finding(all, "with other kernels at another batch");
  EXPECT_EQ(one.found, "0 of 4");
  EXPECT_FALSE(one.holds);
}

TEST(Layerwise, traffic_adds_up_and_layers_are_counted) {
  Layers first = as_printed();
  first.emplace("conv3", layer_as_printed("conv2")).first->second.layer = "conv3";
  first.emplace("conv4", layer_as_printed("conv2")).first->second.layer = "conv4";
  // Two of three layers read more; together they write more.
  for (const char* name : {"conv3", "conv4"})
    first.at(name).dram_read = 40, first.at(name).dram_write = 30;
  // The sum is about equal, most layers are not.
  first.at("conv2").l2_read = 100, first.at("conv2").l2_write = 2000;
  for (const char* name : {"conv3", "conv4"})
    first.at(name).l2_read = 900, first.at(name).l2_write = 100;
  const std::vector<Finding> all = found_in(first, next_batch(first));
  const Finding& traffic = finding(all, "DRAM bytes of inner");
  EXPECT_TRUE(traffic.holds) << traffic.found;
  EXPECT_EQ(traffic.found, "1.44 kB; 960 B");
  const Finding& layers = finding(all, "layers whose L2 reads over writes");
  EXPECT_FALSE(layers.holds);
  EXPECT_EQ(layers.found, "0 of 6");
}

TEST(Layerwise, a_finding_that_no_longer_holds_says_why) {
  Layers first = as_printed();
  first.at("conv1").data = 0.1;
  Layers second = next_batch(first);
  for (auto* layers : {&first, &second})
    for (auto& [name, layer] : *layers) layer.l2_write_hits = 1;
  second.at("conv2").l1_hits = 0.9;
  second.at("conv2").implementation = "cuDNN 9 engine 3: fft";
  second.at("fc").l1_load /= 2;
  const std::vector<Finding> all = found_in(first, second);
  const auto expect = [&](std::string_view what, std::string_view cause) {
    const Finding& one = finding(all, what);
    EXPECT_FALSE(one.holds) << what << ": " << one.found;
    EXPECT_NE(one.note.find(cause), std::string::npos) << what << ": " << one.note;
  };
  expect("in the four convolutions of most FLOP",
         "conv1 forward ran as implicit GEMM: its other warps wait most because of: about "
         "stall_wait");
  expect("L1 hits: inner convolutions; fully", "inner convolutions ran as FFT (2)");
  expect("L2 write hits of inner", "Hopper's L2 takes a write without reading memory first");
  expect("the widest difference of L1 hits of a convolution",
         "10 % with implicit GEMM at batch 32, 90 % with FFT at batch 64");
  expect("L1 throughput of fully connected", "the same kernels at both: cuBLASLt 13 algorithm 1");
}

TEST(Layerwise, without_counters_only_times_have_a_verdict) {
  const std::vector<MadeUpLayer> small = listed(as_printed());
  const LayerwiseStudy study(
      {made_up("alexnet_caffe", 32, small, false), made_up("vgg16", 32, small, false)});
  EXPECT_FALSE(study.has_counters());
  const std::vector<Finding> all = layerwise_findings(study);
  EXPECT_TRUE(finding(all, "share of time").is_printed);
  for (const LayerwiseClaim& claim : layerwise_claims()) {
    if (!claim.of.needs_counters()) continue;
    const Finding& one = finding(all, claim.what);
    EXPECT_FALSE(one.is_printed) << claim.what;
    EXPECT_TRUE(one.note == "no counters in these profiles" ||
                one.note == "only one batch in these profiles")
        << one.note;
  }
  EXPECT_FALSE(finding(all, "time of an iteration").is_printed);  // a single batch shows no growth
  const Finding& deeper = finding(all, "VGG-16, AlexNet");
  EXPECT_EQ(deeper.found, "2.20×, 2.20×");
  EXPECT_FALSE(deeper.holds);
}

TEST(Layerwise, kernels_that_add_the_bias_are_counted_and_timed) {
  for (const bool is_reverse : {false, true}) {
    LayerwiseCase counted_case = made_up("net", 32, listed(as_printed()), true);
    CounterValues few_hits(std::size(made_up_columns)), many_hits(std::size(made_up_columns));
    few_hits[4] = 0.1, few_hits[5] = 0.9;  // L2: reads and writes
    many_hits[4] = 0.8, many_hits[5] = 0.3;
    if (is_reverse) std::swap(few_hits, many_hits);
    counted_case.profile.counted_kernels = {{"map_strided<JoinedInputs<2>>", 0, few_hits},
                                            {"gemm", 0, many_hits}};
    LayerwiseCase larger = made_up("net", 64, listed(twice(as_printed())), false);
    larger.convolution_kernel_s = {
        {"a", 5}, {"b", 4}, {"c", 3}, {"tensor_add", is_reverse ? 1.0 : 4.5}};
    const std::vector<Finding> all =
        layerwise_findings(LayerwiseStudy({std::move(counted_case), std::move(larger)}));
    const Finding& hits = finding(all, "L2 hits of the bias");
    EXPECT_EQ(hits.found,
              is_reverse ? "80 % and 30 %; 10 % and 90 %" : "10 % and 90 %; 80 % and 30 %");
    EXPECT_EQ(hits.holds, !is_reverse);
    const Finding& longest = finding(all, "place of the bias");
    EXPECT_EQ(longest.found, is_reverse ? "4 of 4, 8 % of the time" : "2 of 4, 27 % of the time");
    EXPECT_EQ(longest.holds, !is_reverse);
    // Counters of the smaller batch alone are taken, and named; they show no growth.
    EXPECT_TRUE(finding(all, "L2 read hits of inner").what.ends_with(", batch 32"));
    EXPECT_FALSE(finding(all, "instructions of an iteration").is_printed);
    EXPECT_EQ(finding(all, "time of an iteration").found, "2.00×");
  }
}

TEST(Layerwise, claims_about_convolutions_are_not_made_of_a_network_without_any) {
  const std::vector<MadeUpLayer> dense = {layer_as_printed("fc")};
  for (const Finding& one : layerwise_findings(LayerwiseStudy({made_up("net", 32, dense, true)})))
    EXPECT_NE(one.is_printed && one.what.find("onvolution") != std::string::npos, true) << one.what;
}

TEST(Layerwise, profiles_of_our_own_convolutions_stand_beside_the_vendors) {
  const std::vector<MadeUpLayer> small = listed(as_printed());
  std::vector<MadeUpLayer> own = small;
  for (MadeUpLayer& layer : own) {
    if (layer.op == "convolution") layer.implementation = "fft";
  }
  const LayerwiseStudy study({made_up("net", 32, small, false), made_up("net", 32, own, false)});
  EXPECT_EQ(study.networks(), (std::vector<std::string>{"net", "net-own"}));
  const std::vector<Finding> all = layerwise_findings(study);
  const auto rows_of = [&](std::string_view network) {
    return std::count_if(all.begin(), all.end(),
                         [&](const Finding& one) { return one.network == network; });
  };
  EXPECT_EQ(rows_of("net-own"), rows_of("net"));
  EXPECT_EQ(all.front().network, "net");
  EXPECT_EQ(all.back().apart, own_kernels) << "ours stand behind all others";
  EXPECT_EQ(claim_counts(all).front().rows.statements(), static_cast<std::size_t>(rows_of("net")));
  EXPECT_NE(layerwise_notes(study).find("\"-own\""), std::string::npos);
  EXPECT_NE(layerwise_notes(study).find("cuDNN 9"), std::string::npos);
  EXPECT_NE(layerwise_notes(LayerwiseStudy({made_up("net", 32, small, false)})).find("--conv"),
            std::string::npos);
}

TEST(Layerwise, layers_of_vgg_have_the_papers_names_beside_their_own) {
  std::vector<MadeUpLayer> layers;
  for (const auto& [name, op] :
       std::vector<std::pair<std::string, std::string>>{{"features.0", "convolution"},
                                                        {"features.2", "convolution"},
                                                        {"features.4", "max_pool"},
                                                        {"features.5", "convolution"},
                                                        {"features.9", "max_pool"},
                                                        {"classifier.0", "linear"}}) {
    MadeUpLayer layer = layer_as_printed("conv2");
    layer.layer = name;
    layer.op = op;
    layers.push_back(layer);
  }
  const LayerwiseCase one = made_up("vgg16", 32, layers, true);
  const auto names = paper_names(one);
  EXPECT_EQ(names.at("features.2"), "CONV1_2");
  EXPECT_EQ(names.at("features.5"), "CONV2_1");
  EXPECT_EQ(names.at("features.9"), "POOL2");
  EXPECT_EQ(names.at("classifier.0"), "FC3");  // FC6 after the five blocks of the whole network
  EXPECT_EQ(layers_of(one).front().title(), "CONV1_1 (features.0) forward");
  EXPECT_TRUE(paper_names(made_up("net", 32, layers, true)).empty());
  const std::vector<Figure> figures = layerwise_figures(LayerwiseStudy({one}));
  EXPECT_EQ(figures.at(1).grid.panels.at(0).x.categories.at(3), "CONV2_1 (features.5)");
}

TEST(Layerwise, figures_are_relative_to_the_first_convolution) {
  const std::vector<MadeUpLayer> small = listed(as_printed());
  const LayerwiseStudy study(
      {made_up("net", 32, small, true), made_up("net", 64, listed(twice(as_printed())), true)});
  const std::vector<Figure> figures = layerwise_figures(study);
  const auto time = std::find_if(figures.begin(), figures.end(), [](const Figure& figure) {
    return figure.name == "layerwise-net-time";
  });
  ASSERT_NE(time, figures.end());
  EXPECT_NE(time->csv.find("net,64,conv2,,convolution,backward,44,44\n"), std::string::npos)
      << time->csv;
  for (const Figure& figure : figures) EXPECT_NE(chart::to_svg(figure.grid), "") << figure.name;
  const std::vector<Figure> without =
      layerwise_figures(LayerwiseStudy({made_up("net", 32, small, false)}));
  EXPECT_EQ(without.size(), 3U);  // types, ratio, time
}

constexpr const char* made_up_row =
    R"("layers": [{"layer": "a", "op": "convolution", "pass": "forward", "time_s": 1, "flop": 1,)"
    R"( "launches": 1, "traffic_in_bytes": 1, "traffic_out_bytes": 1,)"
    R"( "implementation": "cuDNN 9.14.0 engine 1"}])";

TEST(Layerwise, the_algorithm_is_told_by_the_kernels_where_the_library_has_a_number) {
  const std::string head =
      R"({"schema_version": 1, "evidence": "measured", "model": {"batch": 32}, )";
  const auto algorithm = [&](const std::string& kernels) {
    return read_layerwise_case(head + made_up_row + kernels + "}").algorithms.at(0);
  };
  EXPECT_EQ(algorithm(""), "");
  EXPECT_EQ(algorithm(R"(, "kernels": [{"name": "sm80_xmma_fprop_implicit_gemm_f32f32_cudnn",)"
                      R"( "layer": "a", "pass": "forward", "time_s": 1}])"),
            "implicit GEMM");
  EXPECT_EQ(algorithm(R"(, "kernels": [1, {"name": 2, "layer": 3, "time_s": "x"}])"), "");
}

TEST(Layerwise, refuses_what_is_not_one) {
  const std::vector<MadeUpLayer> small = listed(as_printed());
  EXPECT_THROW(LayerwiseStudy({}), Error);
  EXPECT_THROW(LayerwiseStudy({made_up("net", 32, small, false), made_up("net", 32, small, false)}),
               Error);
  EXPECT_THROW(read_layerwise_case("{}"), Error);
  const std::string row = std::string(made_up_row) + "}";
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
