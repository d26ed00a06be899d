// SPDX-License-Identifier: Apache-2.0
#include "strata/report/measurement_report.hpp"

#include "strata/graph/builder.hpp"
#include "strata/measure/engine/reference_device_test.hpp"
#include "strata/profile/read_profile.hpp"
#include "strata/report/comparison_report.hpp"
#include "strata/report/roofline_summary.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace strata {
namespace {

using TestJson = nlohmann::json;

struct Bench {
  Graph graph;
  BoundGraph bound;
  reference::Device device;
  MeasureOptions options;

  Bench() {
    GraphBuilder b("two_layers");
    const Dim batch = b.symbols().parameter("batch", 4);
    const TensorId x = b.input("x", {batch, 5});
    const TensorId hidden = b.add("hidden", Linear{6}, {x});
    const TensorId bent = b.add("bent", Unary{UnaryKind::tanh}, {hidden});
    b.add("classes", Linear{3}, {bent});
    const Graph plain = std::move(b).finish();
    options.network_nodes = plain.nodes.size();
    options.iterations = 3;
    graph = with_loss(plain, Loss::automatic);
    bound = bind_graph(graph, {{"batch", 4}}, DType::fp64);
  }

  /// bytes_per_s: of the machine's memory; 0: it does not say.
  MeasurementSummary summary(double bytes_per_s = 0) { return summary_on(machine(bytes_per_s)); }
  MeasurementSummary summary_on(const Machine& machine) {
    return summarize(bound, measure_training(bound, device, options), options, DType::fp64,
                     machine);
  }

  static Machine machine(double bytes_per_s) {
    Machine machine;
    machine.name = "made-up";
    machine.title = "Made-up machine";
    Peak peak;
    peak.dtype = DType::fp64;
    peak.flop_per_s.value = 1e6;
    machine.peaks.push_back(peak);
    if (bytes_per_s > 0)
      machine.memory.push_back({"DRAM", false, {1e9, "test"}, Sourced{bytes_per_s, "test"}, 1, {}});
    return machine;
  }
};

constexpr double iteration_of_bench_s = 9 * reference::kernel_s + 4 * reference::update_s;

TEST(MeasurementReport, adds_up) {
  Bench bench;
  const MeasurementSummary summary = bench.summary();
  EXPECT_NEAR(summary.totals.iteration.time_s, iteration_of_bench_s, 1e-12);
  EXPECT_NEAR(summary.totals.iteration.busy_s, iteration_of_bench_s, 1e-12);
  EXPECT_NEAR(summary.totals.forward_s, 4 * reference::kernel_s, 1e-12);
  EXPECT_NEAR(summary.totals.backward_s, 5 * reference::kernel_s, 1e-12);
  EXPECT_NEAR(summary.totals.samples_per_s, 4 / iteration_of_bench_s, 1e-6);
  EXPECT_NEAR(summary.utilisation().value(),
              static_cast<double>(summary.totals.flop) / iteration_of_bench_s / 1e6, 1e-9);
  EXPECT_EQ(summary.machine->name, "");  // it does not ship, so nobody could load it by name
}

TEST(MeasurementReport, json_is_a_profile_that_can_be_read_again) {
  Bench bench;
  const MeasurementSummary summary = bench.summary();
  const std::string text = to_json(summary, {.command = "strata measure two_layers"});
  const Profile again = read_profile(text);
  EXPECT_EQ(again.evidence, Evidence::measured);
  EXPECT_EQ(again.subject.network, "two_layers");
  ASSERT_EQ(again.rows.size(), summary.measured.profile.rows.size());
  for (std::size_t i = 0; i < again.rows.size(); ++i) {
    const ProfileRow& row = summary.measured.profile.rows[i];
    EXPECT_EQ(again.rows[i].layer, row.layer);
    EXPECT_EQ(again.rows[i].pass, row.pass);
    EXPECT_EQ(again.rows[i].totals.time_s, row.totals.time_s);
    EXPECT_EQ(again.rows[i].totals.flop, row.totals.flop);
    EXPECT_EQ(again.rows[i].totals.in_bytes, row.totals.in_bytes);
    EXPECT_EQ(again.rows[i].implementation, row.implementation);
    EXPECT_EQ(again.rows[i].samples_s.size(), row.samples_s.size());
  }
  EXPECT_EQ(again.iteration_s, summary.measured.profile.iteration_s);
  EXPECT_EQ(again.iteration_from, TimeFrom::layer_runs);
  EXPECT_EQ(again.peak_memory_bytes, summary.measured.profile.peak_memory_bytes);
  const TestJson json = TestJson::parse(text);
  EXPECT_EQ(json["layers"][0]["samples_s"].size(), 3U);
  EXPECT_EQ(json["layers"][0]["implementation"], "linear loops");
  EXPECT_EQ(json["totals"]["samples_s"].size(), 3U);
  EXPECT_EQ(json["provenance"]["versions"][0], "loops 1.0");
}

TEST(MeasurementReport, carries_counters_into_every_form) {
  Bench bench;
  bench.device.settings.counts = true;
  bench.device.settings.counts_kernels = true;
  bench.options.metrics = "paper";
  bench.options.counts_kernels = true;
  const MeasurementSummary summary = bench.summary();
  const Profile& profile = summary.measured.profile;
  const Profile again = read_profile(to_json(summary, {}));
  EXPECT_EQ(again.counters.columns, profile.counters.columns);
  EXPECT_EQ(again.counters.preset, "paper");
  EXPECT_EQ(again.counters.absent.size(), 1U);
  for (std::size_t i = 0; i < again.rows.size(); ++i) {
    EXPECT_NEAR(counter_of(again, again.rows[i], "instructions").value(),
                counter_of(profile, profile.rows[i], "instructions").value(), 1e-3);
  }
  ASSERT_EQ(again.counted_kernels.size(), profile.counted_kernels.size());
  EXPECT_EQ(again.counted_kernels.back().name, profile.counted_kernels.back().name);
  EXPECT_EQ(again.counted_kernels.back().row, profile.counted_kernels.back().row);
  const std::string text = to_text(summary, {}, {});
  for (const char* part : {"counted", "instructions", "counters: paper, by clockwork",
                           "not counted: dram_read_bytes: the chip has no"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const std::string head = to_csv(summary).substr(0, to_csv(summary).find('\n'));
  EXPECT_EQ(head.substr(head.rfind("not_run")), "not_run,instructions,time_of_day,fp32_flop");
}

TEST(MeasurementReport, says_why_there_are_no_counters) {
  Bench bench;
  bench.options.metrics = "stalls";
  const std::string text = to_text(bench.summary(), {}, {});
  EXPECT_NE(text.find("no counters: reference device has no counters"), std::string::npos) << text;
}

TEST(MeasurementReport, tells_what_matters_first) {
  Bench bench;
  bench.device.settings.without = {"tanh"};
  const std::string text = to_text(bench.summary(), {}, {});
  EXPECT_EQ(text.find("two_layers, one training iteration, batch 4, fp64, measured on reference"),
            0U);
  for (const char* part :
       {"samples/s", "of the peak of Made-up machine", "(MFU)", "where the time goes", "linear",
        "slowest layers", "not run: bent: no loops for tanh", "times forward", "at first"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(MeasurementReport, says_why_a_rate_is_above_the_peak) {
  Bench bench;
  MeasurementSummary summary = bench.summary();
  ASSERT_TRUE(summary.utilisation());
  const auto says_why = [&] {
    return to_text(summary, {}, {}).find("Winograd and FFT compute less") != std::string::npos;
  };
  summary.totals.flop_per_s = 2 * *summary.machine->flop_per_s;
  EXPECT_FALSE(says_why());  // not by what was run
  summary.measured.profile.rows.front().implementation = "winograd4";
  EXPECT_TRUE(says_why());
  summary.totals.flop_per_s = 0.9 * *summary.machine->flop_per_s;
  EXPECT_FALSE(says_why());
}

TEST(MeasurementReport, holds_every_row_against_its_roof) {
  Bench bench;
  const MeasurementSummary without = bench.summary();
  EXPECT_FALSE(without.has_roofs());
  EXPECT_EQ(to_text(without, {}, {}).find("of roof"), std::string::npos);
  constexpr double peak = 1e6, bandwidth = 2e6;
  const MeasurementSummary summary = bench.summary(bandwidth);
  const std::vector<ProfileRow>& rows = summary.measured.profile.rows;
  ASSERT_TRUE(summary.has_roofs());
  double linear_s = 0, linear_roof_s = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double flop_s = static_cast<double>(rows[i].totals.flop) / peak;
    const double bytes_s = static_cast<double>(rows[i].totals.traffic_bytes()) / bandwidth;
    EXPECT_DOUBLE_EQ(rows[i].roof_s.value(), std::max(flop_s, bytes_s)) << rows[i].layer;
    if (rows[i].op != "linear") continue;
    linear_s += rows[i].totals.time_s;
    linear_roof_s += *rows[i].roof_s;
  }
  const std::string text = to_text(summary, {}, {});
  const std::size_t line = text.find("\n  linear ");
  ASSERT_NE(line, std::string::npos) << text;
  const std::string share = fmt::format("{:.0f} %\n", 100 * linear_roof_s / linear_s);
  EXPECT_EQ(text.find(share, line), text.find('\n', line + 1) - share.size() + 1) << text;
  EXPECT_NE(text.find("of roof: what FLOP at the peak or bytes at the bandwidth of Made-up"),
            std::string::npos);
  EXPECT_EQ(TestJson::parse(to_json(summary, {}))["layers"][0]["roof_time_s"].get<double>(),
            rows[0].roof_s);
}

// The JSON of a measurement and the roofline of it, which the page shows, know one roof per row.
TEST(MeasurementReport, has_the_roofs_of_the_roofline) {
  Bench bench;
  Machine machine = bench.machine(2e6);
  machine.memory.back().mixes = {{AccessMix::read, {3e6, "test"}},
                                 {AccessMix::write, {1e6, "test"}}};
  const MeasurementSummary summary = bench.summary_on(machine);
  const TestJson layers = TestJson::parse(to_json(summary, {}))["layers"];
  const RooflineSummary roofline =
      summarize_roofline({{"m", summary.measured.profile}}, machine, {}, RooflineBy::row, false);
  const TestJson rows = TestJson::parse(to_json(roofline, {}))["profiles"][0]["rows"];
  ASSERT_EQ(layers.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(layers[i]["roof_time_s"], rows[i]["roof_time_s"]) << i;
    const double time_s = layers[i]["time_s"].get<double>();
    EXPECT_DOUBLE_EQ(rows[i]["distance_from_roof"].get<double>(),
                     time_s / layers[i]["roof_time_s"].get<double>());
  }
}

// What a measurement says of itself when it is made, and what is read from its file.
TEST(MeasurementReport, says_the_same_of_rows_above_the_roof_as_its_file) {
  Bench bench;
  MeasurementSummary summary = bench.summary_on(bench.machine(1e12));
  for (ProfileRow& row : summary.measured.profile.rows) {
    row.totals.time_s /= 1e6;
    if (row.op == "linear") row.implementation = "winograd4";
  }
  const Machine machine = bench.machine(1e12);
  const auto notes_of = [&](const Profile& profile) {
    return summarize_roofline({{"m", profile}}, machine, {}, RooflineBy::row, false).notes;
  };
  const auto notes = notes_of(summary.measured.profile);
  EXPECT_EQ(notes, notes_of(read_profile(to_json(summary, {}))));
  EXPECT_NE(fmt::format("{}", fmt::join(notes, "\n")).find("Winograd's algorithm"),
            std::string::npos);
}

TEST(MeasurementReport, shares_are_of_the_iteration_and_add_up_with_the_gaps) {
  Bench bench;
  bench.device.settings.traces = true;
  MeasurementSummary summary = bench.summary();
  summary.measured.profile.iteration_s = 2 * iteration_of_bench_s;
  summary.totals.iteration = iteration_of(summary.measured.profile);
  const std::string text = to_text(summary, {}, {});
  EXPECT_NE(text.find("kernels"), std::string::npos);
  const std::size_t line = text.find("\n  between kernels ");
  ASSERT_NE(line, std::string::npos) << text;
  EXPECT_LT(text.find("50 %", line), text.find('\n', line + 1)) << text;
  const TestJson json = TestJson::parse(to_json(summary, {}));
  double shares =
      json["totals"]["gap_time_s"].get<double>() / json["totals"]["time_s"].get<double>();
  for (const TestJson& group : json["by_type"]) shares += group["time_share"].get<double>();
  EXPECT_NEAR(shares, 1, 1e-9);
}

TEST(MeasurementReport, says_that_training_diverged) {
  Bench bench;
  MeasurementSummary summary = bench.summary();
  ASSERT_EQ(to_text(summary, {}, {}).find("diverged"), std::string::npos);
  summary.measured.loss_after = std::numeric_limits<double>::quiet_NaN();
  const std::string text = to_text(summary, {}, {});
  EXPECT_NE(text.find("diverged"), std::string::npos) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
}

TEST(MeasurementReport, has_a_line_of_csv_and_a_slice_of_the_timeline_for_every_row) {
  Bench bench;
  bench.device.settings.traces = true;
  const MeasurementSummary summary = bench.summary();
  const std::string csv = to_csv(summary);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'),
            static_cast<std::ptrdiff_t>(summary.measured.profile.rows.size()) + 1);
  const std::string head = csv.substr(0, csv.find('\n'));
  EXPECT_EQ(std::count(head.begin(), head.end(), ','), 17);
  const TestJson trace = TestJson::parse(to_trace(summary));
  std::size_t slices = 0;
  for (const TestJson& event : trace["traceEvents"]) slices += event["ph"] == "X" ? 1 : 0;
  EXPECT_EQ(slices, 13U + 13U);  // parts, and kernels
}

TEST(MeasurementReport, has_a_line_per_network) {
  Bench bench;
  const std::vector<NetworkMeasurement> networks = {
      {.model = "two_layers", .summary = bench.summary()},
      {.model = "too_large", .reason = "not enough memory"}};
  const std::string text = to_text(networks, {});
  for (const char* part : {"training iterations on reference device, fp64", "two_layers", "all",
                           "too_large: not enough memory"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const TestJson json = TestJson::parse(to_json(networks, {}));
  EXPECT_EQ(json["networks"][0]["totals"]["rows_not_run"], 0);
  EXPECT_EQ(json["networks"][1]["reason"], "not enough memory");
  const std::string csv = to_csv(networks);
  std::size_t line_begin = 0;
  for (int line = 0; line < 3; ++line) {
    const std::size_t line_end = csv.find('\n', line_begin);
    ASSERT_NE(line_end, std::string::npos);
    EXPECT_EQ(std::count(csv.begin() + static_cast<std::ptrdiff_t>(line_begin),
                         csv.begin() + static_cast<std::ptrdiff_t>(line_end), ','),
              16)
        << csv;
    line_begin = line_end + 1;
  }
}

TEST(ComparisonReport, has_the_iterations_and_no_rates_that_a_prediction_does_not_know) {
  Bench bench;
  const Profile measured = bench.summary().measured.profile;
  Profile predicted = measured;
  predicted.evidence = Evidence::predicted;
  predicted.iteration_s = 1.02 * *measured.iteration_s;
  predicted.drain_s = *predicted.iteration_s - *measured.iteration_s;
  const ProfileComparison comparison = compare_profiles(measured, predicted);
  const std::string text = to_text(comparison, {}, {});
  for (const char* part : {"last write-backs", "iteration", "1.020"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  // Its bytes move while other rows run.
  EXPECT_EQ(text.find("B/s"), std::string::npos) << text;
  EXPECT_NE(to_text(compare_profiles(predicted, measured), {}, {}).find("B/s"), std::string::npos);
  const TestJson json = TestJson::parse(to_json(comparison, {}, {}));
  EXPECT_EQ(json["totals"]["b"]["time_s"].get<double>(), *predicted.iteration_s);
  EXPECT_EQ(json["totals"]["b"]["drain_time_s"].get<double>(), predicted.drain_s);
  EXPECT_NEAR(json["totals"]["ratio"].get<double>(), 1.02, 1e-9);
}

TEST(ComparisonReport, says_where_an_iteration_is_only_a_sum) {
  Bench bench;
  Profile a = bench.summary().measured.profile;
  Profile b = a;
  EXPECT_EQ(to_text(compare_profiles(a, b), {}, {}).find("added up"), std::string::npos);
  b.iteration_s.reset();
  EXPECT_NE(to_text(compare_profiles(a, b), {}, {})
                .find("second does not say the time of the iteration: its rows are added up"),
            std::string::npos);
}

TEST(ComparisonReport, sets_two_profiles_side_by_side) {
  Bench bench;
  const Profile a = bench.summary().measured.profile;
  Profile b = a;
  b.rows[0].totals.time_s *= 3;
  b.rows.pop_back();
  b.iteration_s = 1.5 * *a.iteration_s;
  const ProfileComparison comparison = compare_profiles(a, b);
  CompareView view{.a = "before", .b = "after", .threshold = 0.05};
  const std::string text = to_text(comparison, view, {});
  for (const char* part : {"before", "after", "largest differences", "hidden", "3.00",
                           "only before: 1 row", "no: beyond the threshold of 5 %"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const TestJson json = TestJson::parse(to_json(comparison, view, {}));
  EXPECT_EQ(json["beyond_threshold"], true);
  EXPECT_EQ(json["rows"].size(), comparison.rows.size());
  EXPECT_TRUE(json["rows"].back()["b"].is_null());
  const std::string csv = to_csv(comparison);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'),
            static_cast<std::ptrdiff_t>(comparison.rows.size()) + 1);
}

}  // namespace
}  // namespace strata
