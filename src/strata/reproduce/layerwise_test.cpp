// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/reproduce/layerwise_study.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

namespace strata {
namespace {

constexpr const char* made_up_columns[] = {
    "instructions",     "waiting_warps_per_issue", "stall_data_access", "l1_hit_rate",
    "l2_read_hit_rate", "l2_write_hit_rate",       "dram_read_bytes",   "dram_write_bytes",
    "l1_load_bytes",    "l1_store_bytes",          "l2_read_bytes",     "l2_write_bytes",
    "stall_wait"};

/// A layer with what the test says of it, the same in both directions.
struct MadeUpLayer {
  std::string layer, op;
  double forward_s, backward_s;
  double instructions, waiting, data, l1_hits, l2_read_hits, l2_write_hits, dram_read, dram_write;
  double l1_load = 100, l1_store = 0, l2_read = 60, l2_write = 40;
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
                        0.3};
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

/// All that the study claims holds of it.
const std::vector<MadeUpLayer> small = {
    {"conv1", "convolution", 1, 1.5, 10, 2, 0.4, 0.8, 0.5, 0.45, 50, 60, 400, 0, 250, 100},
    {"conv2", "convolution", 4, 10.0, 50, 3, 0.5, 0.2, 0.7, 0.45, 70, 90},
    {"fc", "linear", 0.5, 1.0, 5, 2, 0.4, 0.1, 0.2, 0.6, 300, 20, 100, 0, 90, 10,
     "cuBLASLt 13 algorithm 1"}};

std::vector<MadeUpLayer> twice(std::vector<MadeUpLayer> layers) {
  for (MadeUpLayer& layer : layers) {
    layer.forward_s *= 2;
    layer.backward_s *= 2;
    layer.instructions *= 2;
    layer.dram_read *= 2;
    layer.dram_write *= 2;
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
  std::vector<MadeUpLayer> next = twice(small);
  next[2].l1_load *= 4;  // in twice the time
  const LayerwiseStudy study({made_up("net", 64, next, true), made_up("net", 32, small, true)});
  EXPECT_EQ(study.of("net").front()->batch, 32);
  const std::vector<Finding> all = layerwise_findings(study);
  const auto expect = [&](std::string_view what, std::string_view found) {
    const Finding& one = finding(all, what);
    EXPECT_TRUE(one.is_printed) << what;
    EXPECT_EQ(one.found, found) << what;
    EXPECT_TRUE(one.holds) << what << ": " << one.note;
    EXPECT_TRUE(one.note.starts_with("holds ")) << what;            // the rule
    EXPECT_EQ(one.note.find("ran as"), std::string::npos) << what;  // no cause of a no
  };
  expect("inner convolutions' share of time", "78 %");   // 14 of 18
  expect("of instructions", "77 %");                     // 100 of 130
  expect("exceed twice", "2.27×; 1 of 2 convolutions");  // 12.5 over 5.5; conv2 alone
  expect("time of an iteration", "2.00× (batch 32 → 64)");
  expect("stalls (warps", "2.00× (batch 32 → 64)");
  expect("to and from DRAM with the batch", "1.18 kB → 2.36 kB, 2.00× for 2× the batch");
  expect("waiting for data, of all", "40 % to 50 %");
  // 100 · 3 · 0.5 over 10 · 2 · 0.4: time, not shares.
  expect("time of data stalls", "18.75×, conv2 forward over fc forward");
  expect("L1 hits of the input", "80 %, then 20 % on average, 20 % in the last");
  expect("L1 throughput of fully connected", "2.00× (200 B/s → 400 B/s, batch 32 → 64)");
  expect("L2 read hits of inner", "70 %; L1 20 %");
  expect("L2 write hits of inner", "45 %");
  expect("L2 read over write throughput of inner", "1.50×");
  expect("and of the input convolution, of fully", "2.50×, 9.00×");
  expect("convolutions hit L2 on reads",
         "54 % and 45 %");  // by bytes: (250 · 0.5 + 60 · 0.7) / 310
  expect("layers hit L2 on writes", "60 % and 20 %");
  expect("inner convolutions write more", "2 of 2");
  expect("read far more DRAM", "15.00×");
  expect("kernels chosen", "2 of 4");  // those of backward carry the batch
  expect("L1 hits are stable", "0 points");
}

TEST(Layerwise, throughput_of_both_levels_is_compared_over_the_time_of_layers) {
  std::vector<MadeUpLayer> layers = small;
  layers[1].l1_load = 100;  // over 14 s; the input convolution 800 over 2.5, connected 200 over 1.5
  const std::vector<Finding> all =
      layerwise_findings(LayerwiseStudy({made_up("net", 32, layers, true)}));
  const Finding& first = finding(all, "L1 throughput of inner");
  EXPECT_EQ(first.found, "14.3 B/s; 320 B/s, 133 B/s");
  EXPECT_TRUE(first.holds);
  const Finding& both = finding(all, "L2 over L1 throughput");
  EXPECT_EQ(both.found, "1.00×; 0.88×, 1.00×");
  EXPECT_TRUE(both.holds);
}

TEST(Layerwise, a_finding_that_no_longer_holds_says_why) {
  std::vector<MadeUpLayer> today = small;
  today[1].data = today[0].data = 0.1;
  today[2].data = 1;
  today[2].instructions = 500;
  today[0].l1_hits = 0.1;
  today[1].dram_write = 1;
  today[2].dram_write = 290;
  today[1].l1_load = 40'000;
  today[1].l2_read = 1000;
  today[0].l2_read = 100;
  for (MadeUpLayer& layer : today) layer.l2_write_hits = 1;
  today[2].l2_read_hits = 1;
  today[2].l2_write_hits = 0.5;
  std::vector<MadeUpLayer> larger = today;  // no more than before
  larger[1].l1_hits = 0.9;
  larger[1].implementation = "cuDNN 9 engine 3: fft";
  const std::vector<Finding> all = layerwise_findings(
      LayerwiseStudy({made_up("net", 32, today, true), made_up("net", 64, larger, true)}));
  const auto expect = [&](std::string_view what, std::string_view cause) {
    const Finding& one = finding(all, what);
    EXPECT_TRUE(one.is_printed) << what;
    EXPECT_FALSE(one.holds) << what << ": " << one.found;
    EXPECT_NE(one.note.find(cause), std::string::npos) << what << ": " << one.note;
  };
  expect("of instructions", "linear has 89 %");
  expect("time of an iteration", "batch 64 has 1.00× that of batch 32");
  expect("to and from DRAM with the batch",
         "convolutions grows 1.00×, that of fully connected layers, weights for the most part, "
         "1.00×; 3 of 4 convolutions run other kernels at batch 64");
  expect("L1 hits are stable", "20 % with implicit GEMM at batch 32, 90 % with FFT at batch 64");
  expect("waiting for data, of all",
         "conv1 forward ran as implicit GEMM: its other warps wait "
         "most because of: about stall_wait");
  expect("time of data stalls", "the convolution ran as FFT");
  expect("L1 hits of the input", "inner convolutions ran as FFT (2)");
  expect("L1 throughput of inner", "inner convolutions ran as FFT (2)");
  expect("L1 throughput of fully connected", "the same kernels at both: cuBLASLt 13 algorithm 1");
  expect("L2 write hits of inner", "Hopper's L2 takes a write without reading memory first");
  expect("L2 read over write throughput of inner", "they ran as FFT (2)");
  expect("and of the input convolution, of fully",
         "the input convolution: by definition they read 4.00 kB and write 2.00 kB");
  expect("L2 over L1 throughput", "L1 keeps 90 % of what an inner convolution asks for");
  expect("convolutions hit L2 on reads", "Hopper");
  expect("layers hit L2 on writes", "by definition");
  expect("inner convolutions write more", "by definition they read 4.00 kB and write 2.00 kB");
  expect("read far more DRAM", "forward alone 1.03×");
}

TEST(Layerwise, few_reads_in_l2_few_inner_convolutions_and_a_short_backward_are_a_no) {
  std::vector<MadeUpLayer> today = small;
  today[0].backward_s = 0.1;
  today[1].forward_s = 0.1;
  today[1].backward_s = 0.1;
  today[1].l2_read_hits = 0.3;
  const std::vector<Finding> all =
      layerwise_findings(LayerwiseStudy({made_up("net", 32, today, true)}));
  EXPECT_FALSE(finding(all, "inner convolutions' share of time").holds);
  EXPECT_NE(finding(all, "inner convolutions' share of time").note.find("linear has 54 %"),
            std::string::npos)
      << finding(all, "inner convolutions' share of time").note;
  EXPECT_FALSE(finding(all, "exceed twice").holds);
  EXPECT_NE(finding(all, "exceed twice").note.find("1.00× the FLOP"), std::string::npos);
  EXPECT_FALSE(finding(all, "L2 read hits of inner").holds);
  EXPECT_FALSE(finding(all, "time of an iteration").is_printed);  // a single batch shows no growth
  EXPECT_FALSE(finding(all, "to and from DRAM with").is_printed);
  EXPECT_FALSE(finding(all, "L1 throughput of fully").is_printed);
}

TEST(Layerwise, without_counters_only_times_have_a_verdict) {
  const LayerwiseStudy study(
      {made_up("alexnet_caffe", 32, small, false), made_up("vgg16", 32, twice(small), false)});
  EXPECT_FALSE(study.has_counters());
  const std::vector<Finding> all = layerwise_findings(study);
  EXPECT_TRUE(finding(all, "share of time").is_printed);
  for (const char* what : {"of instructions", "waiting for data, of all", "time of data stalls",
                           "L1 hits of the input", "L1 throughput of inner", "L2 read over write",
                           "and of the input convolution, of fully", "L2 over L1",
                           "convolutions hit L2 on reads", "layers hit L2 on writes"}) {
    EXPECT_FALSE(finding(all, what).is_printed) << what;
    EXPECT_EQ(finding(all, what).note, "no counters in these profiles") << what;
  }
  EXPECT_EQ(finding(all, "larger in VGG-16").found, "2.27× and 2.27×");
  EXPECT_FALSE(finding(all, "larger in VGG-16").holds);
}

TEST(Layerwise, counters_of_a_smaller_batch_are_taken_and_named) {
  for (const bool is_reverse : {false, true}) {
    LayerwiseCase counted_case = made_up("net", 32, small, true);
    CounterValues few_hits(std::size(made_up_columns)), many_hits(std::size(made_up_columns));
    few_hits[4] = 0.1, few_hits[5] = 0.9;  // L2: reads and writes
    many_hits[4] = 0.8, many_hits[5] = 0.3;
    if (is_reverse) std::swap(few_hits, many_hits);
    counted_case.profile.counted_kernels = {{"map_strided<JoinedInputs<2>>", 0, few_hits},
                                            {"gemm", 0, many_hits}};
    const std::vector<Finding> all = layerwise_findings(
        LayerwiseStudy({std::move(counted_case), made_up("net", 64, twice(small), false)}));
    EXPECT_EQ(finding(all, "waiting for data, of all").found, "40 % to 50 %");
    EXPECT_TRUE(finding(all, "waiting for data, of all").what.ends_with(", batch 32"));
    EXPECT_EQ(finding(all, "tensor_add").found,
              is_reverse ? "80 % and 30 %; 10 % and 90 %" : "10 % and 90 %; 80 % and 30 %");
    EXPECT_EQ(finding(all, "tensor_add").holds, !is_reverse);
    // One batch with counters shows neither growth nor stability of what is counted.
    EXPECT_FALSE(finding(all, "instructions with the batch").is_printed);
    EXPECT_FALSE(finding(all, "L1 hits are stable").is_printed);
    EXPECT_EQ(finding(all, "time of an iteration").found, "2.00× (batch 32 → 64)");
  }
}

TEST(Layerwise, claims_about_convolutions_are_not_made_of_a_network_without_any) {
  const std::vector<MadeUpLayer> dense = {small.back()};
  for (const Finding& one : layerwise_findings(LayerwiseStudy({made_up("net", 32, dense, true)})))
    EXPECT_EQ(one.what.find("onvolution"), std::string::npos) << one.what;
}

TEST(Layerwise, profiles_of_our_own_convolutions_stand_beside_the_vendors) {
  std::vector<MadeUpLayer> own = small;
  for (MadeUpLayer& layer : own) {
    if (layer.op == "convolution") layer.implementation = "fft";
  }
  const LayerwiseStudy study({made_up("net", 32, small, false), made_up("net", 32, own, false)});
  EXPECT_EQ(study.networks(), (std::vector<std::string>{"net", "net-own"}));
  const std::vector<Finding> all = layerwise_findings(study);
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](const Finding& one) { return one.network == "net-own"; }),
            std::count_if(all.begin(), all.end(),
                          [](const Finding& one) { return one.network == "net"; }));
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
    MadeUpLayer layer = small[1];
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
  const LayerwiseStudy study(
      {made_up("net", 32, small, true), made_up("net", 64, twice(small), true)});
  const std::vector<Figure> figures = layerwise_figures(study);
  const auto time = std::find_if(figures.begin(), figures.end(), [](const Figure& figure) {
    return figure.name == "layerwise-net-time";
  });
  ASSERT_NE(time, figures.end());
  EXPECT_NE(time->csv.find("net,64,conv2,,convolution,backward,20,20\n"), std::string::npos)
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
