// SPDX-License-Identifier: Apache-2.0
#include "strata/report/convolution_report.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/convolution/lab/made_up_results_test.hpp"
#include "strata/report/chart/well_formed_test.hpp"
#include "strata/report/convolution_cells.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace strata {
namespace {

using test::made_up_results;
using test::results_with_crossover;

std::string document_of(const ConvResults& results) {
  return to_json(results, {}, {.command = "strata conv"});
}

std::string lines_of(const ConvResults& results) {
  std::string text = conv_lines_head(results);
  for (std::size_t i = 0; i < results.cells.size(); ++i) {
    const std::string line = conv_line(i, results.cells[i]);
    EXPECT_TRUE(line.starts_with(conv_line_begin(i)));
    text += line;
  }
  return text;
}

ConvResults results_of_all_kinds() {
  ConvResults results = results_with_crossover();
  results.passes = {ConvPass::forward, ConvPass::weight_gradient};
  results.dtype = DType::bf16;
  results.memory_limit_bytes = std::int64_t{3} << 30;
  results.origin = {"2026-03-01T12:00:00Z",
                    {{{"strata", "0.1.0"}, {"driver", "580.1"}}, 1.98e9, 700.0}};
  results.cells[3].clock_hz = 1.7e9;
  results.cells[0].status = ConvStatus::wrong;
  results.cells[0].reason = "wrong: relative error 0.1";
  results.cells[1].status = ConvStatus::failed;
  results.cells[1].reason = "no \"kernel\"";
  results.cells[1].samples_s.clear();
  ConvPoint layer = conv_point("b2,c4,h9,w8,f4,k3x2,s2x1,p1x0,d1x2,g2");
  layer.label = "block/conv";
  layer.counts = {3, 0, 3};
  results.series.push_back({"net", false, {layer, conv_point("k9")}});
  return results;
}

TEST(ConvReport, what_is_written_reads_again_as_the_same) {
  const ConvResults results = results_of_all_kinds();
  const std::string document = document_of(results);
  const ConvResults again = read_conv_results(document);
  EXPECT_EQ(document_of(again), document);
  EXPECT_EQ(again.series, results.series);
  EXPECT_EQ(again.strategies, results.strategies);
  const std::string lines = lines_of(results);
  EXPECT_EQ(document_of(read_conv_results(lines)), document);
  EXPECT_EQ(lines_of(again), lines);
}

TEST(ConvReport, says_when_and_with_what_it_was_measured_where_that_is_known) {
  ConvResults results = results_of_all_kinds();
  results.cells[4].clock_hz = 1.8e9;
  const std::string shown =
      "measured 2026-03-01 with strata 0.1.0, driver 580.1; clock 1750 MHz of 1980";
  EXPECT_NE(to_text(read_conv_results(document_of(results)), {}, {}).find(shown),
            std::string::npos);
  EXPECT_NE(network_advice_text(results, {}, {}).find(shown), std::string::npos);
  const auto json = nlohmann::json::parse(document_of(results));
  EXPECT_EQ(json["measured"]["versions"][1]["version"], "580.1");
  EXPECT_EQ(json["measured"]["power_limit_w"], 700);
  EXPECT_EQ(json["cells"][4]["clock_hz"], 1.8e9);

  // An older Strata wrote nothing of it.
  auto old = json;
  old.erase("measured");
  for (auto& cell : old["cells"]) cell.erase("clock_hz");
  const ConvResults read = read_conv_results(old.dump());
  EXPECT_TRUE(read.origin.date.empty());
  EXPECT_EQ(to_text(read, {}, {}).find("measured 2026"), std::string::npos);
  EXPECT_FALSE(nlohmann::json::parse(document_of(read)).contains("measured"));
}

TEST(ConvReport, lines_that_end_early_are_the_beginning_of_the_whole) {
  const ConvResults results = results_with_crossover();
  const std::string lines = lines_of(results);
  const std::size_t head = lines.find('\n') + 1;
  for (std::size_t size = head; size < lines.size(); size += 1499) {
    const std::string_view part = std::string_view(lines).substr(0, size);
    const auto whole = static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n')) - 1;
    const ConvResults read = read_conv_results(part);
    EXPECT_EQ(read.cells.size(), whole);
    const std::string text = to_text(read, {}, {});
    EXPECT_EQ(text.find("nothing is measured yet") != text.npos, whole == 0) << whole;
    EXPECT_FALSE(network_advice_text(read, {}, {}).empty());
    conv_pictures(read);
  }
}

TEST(ConvReport, the_document_has_what_follows_from_the_samples) {
  const auto json = nlohmann::json::parse(document_of(results_with_crossover()));
  const auto& cell = json["cells"][0];  // unroll at k = 2
  const double time_s = 4e-4;
  EXPECT_DOUBLE_EQ(cell["time_s"].get<double>(), time_s);
  EXPECT_NEAR(cell["deviation_s"].get<double>(), 0.01 * time_s, 1e-12);
  const double flop = 2.0 * 64 * 64 * 127 * 127 * 3 * 4;
  EXPECT_EQ(cell["direct_flop"].get<double>(), flop);
  EXPECT_NEAR(cell["direct_flop_per_s"].get<double>() / (flop / time_s), 1, 1e-12);
  EXPECT_NEAR(cell["roles"][1]["share"].get<double>(), 0.7 / 0.9, 1e-12);
  EXPECT_EQ(cell["peak_bytes"], cell["tensor_bytes"]);
  EXPECT_EQ(json["advice"][0]["crossovers"][1]["ahead"], "fft");
  EXPECT_EQ(json["advice"][0]["crossovers"][1]["at"], 6);
  EXPECT_EQ(json["advice"][0]["fastest"][1]["strategy"], "winograd");
}

TEST(ConvReport, doubtful_times_are_shown_as_such_everywhere) {
  ConvResults results = results_with_crossover();
  for (ConvCell& cell : results.cells) {
    if (!cell.is_timed()) continue;
    cell.others_share = 0.85;
    cell.samples_s.push_back(3 * cell.time_s());
  }
  const std::string text = to_text(results, {}, {});
  EXPECT_NE(text.find("warning: the machine was busy: other programs had 85 %"), text.npos) << text;
  EXPECT_NE(text.find("warning: the samples of"), text.npos);
  EXPECT_NE(text.find(" ± 100 % ("), text.npos);
  EXPECT_NE(text.find("←?"), text.npos);
  EXPECT_NE(text.find("no advice"), text.npos);
  EXPECT_EQ(text.find("our fastest takes"), text.npos);
  const auto json = nlohmann::json::parse(document_of(results));
  EXPECT_EQ(json["warnings"][0]["code"], "busy-machine");
  EXPECT_EQ(json["advice"][0]["fastest"][0]["is_clear"], false);
  EXPECT_EQ(json["cells"][0]["others_share"], 0.85);
  EXPECT_GT(json["cells"][0]["spread"].get<double>(), 0.9);
  EXPECT_NE(to_csv(results).find("spread,others_share\n"), std::string::npos);
  EXPECT_EQ(document_of(read_conv_results(document_of(results))), document_of(results));
  EXPECT_TRUE(nlohmann::json::parse(document_of(results_with_crossover()))["warnings"].empty());
}

TEST(ConvReport, bad_files_are_refused_with_one_line) {
  const auto good = nlohmann::json::parse(document_of(results_with_crossover()));
  const auto problem_of = [](const std::string& text) -> std::string {
    try {
      read_conv_results(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(problem_of(good.dump()), "");
  EXPECT_EQ(problem_of(good.dump() + "\n"), "");
  EXPECT_NE(problem_of(""), "");
  EXPECT_NE(problem_of("{}\n{}"), "");
  EXPECT_NE(problem_of(std::string(100'000, '[')), "");
  const struct {
    const char* path;
    nlohmann::json value;
  } changes[] = {
      {"/kind", "machine"},
      {"/schema_version", 2},
      {"/dtype", "fp31"},
      {"/measured", nlohmann::json{{"when", "today"}}},
      {"/measured", nlohmann::json{{"most_clock_hz", -1}}},
      {"/measured", nlohmann::json{{"versions", {{{"of", "a\x1b[2J"}, {"version", "1"}}}}}},
      {"/device", "a\x1b[2J"},
      {"/passes/0", "sideways"},
      {"/samples", 0},
      {"/samples", 1e30},
      {"/series/0/is_sweep", 1},
      {"/series/0/points/0/at", nullptr},
      {"/series/0/points/0/shape/kernel", {1, 2, 3}},
      {"/series/0/points/0/counts", {1, 2}},
      {"/cells/0/shape/batch", 0},
      {"/cells/0/shape/batch", std::uint64_t{1} << 63},
      {"/cells/0/status", "fast"},
      {"/cells/0/samples_s", nlohmann::json::array()},
      {"/cells/0/samples_s/0", -1},
      {"/cells/0/samples_s/0", "quick"},
      {"/cells/0/scratch_bytes", std::int64_t{1} << 62},
      {"/cells/0/kernels/0/role", "magic"},
      {"/cells/0/surprise", 1},
      {"/strategies/0/is_vendor", "yes"}};
  for (const auto& change : changes) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(change.path)] = change.value;
    EXPECT_NE(problem_of(bad.dump()), "") << change.path;
  }
  nlohmann::json missing = good;
  missing["cells"][3].erase("strategy");
  EXPECT_NE(problem_of(missing.dump()).find("cells[3]"), std::string::npos);
}

TEST(ConvReport, the_table_marks_the_fastest_and_explains_what_is_not_there) {
  ConvResults results = results_with_crossover();
  results.series[0] = conv_sweep(results.series[0].points[0].shape, "k=2:13");
  results.series[0].points.push_back({"k = 200", 200, conv_base("64,128,64,200,1", 3)});
  const std::int64_t budget = std::int64_t{500} << 20;
  const std::string text = to_text(results, {.budgets_bytes = {budget}}, {});
  EXPECT_EQ(split(text, '\n')[0],
            "forward, fp32, Imagined 1: k on b64 c3 128×128 f64 s1 p0   ms (scratch MiB)");
  const auto line_with = [&](std::string_view part) {
    for (const std::string_view line : split(text, '\n')) {
      if (line.find(part) != line.npos) return std::string(line);
    }
    return std::string();
  };
  EXPECT_NE(line_with("0.400 (1.0) ←"), "");
  EXPECT_NE(line_with("3.00 (2048) ←"), "");
  EXPECT_NE(line_with("[1] winograd: not this one"), "");
  EXPECT_NE(line_with("[2] k = 200: the kernel 200×200"), "");
  EXPECT_NE(line_with("fft overtakes unroll at k = 6"), "");
  EXPECT_NE(line_with("within 500 MiB of scratch memory: take unroll"), "");
  const std::string ascii = to_text(results, {}, {.has_unicode = false});
  EXPECT_TRUE(std::all_of(ascii.begin(), ascii.end(), [](char c) { return c > 0; }));
}

TEST(ConvReport, the_algorithms_of_a_library_share_a_column) {
  const auto seconds = [](double k_2, double k_3) {
    return [=](const ConvShape& s, ConvPass) { return s.kernel_height == 2 ? k_2 : k_3; };
  };
  const auto results = made_up_results({conv_sweep({.height = 8, .width = 8}, "k=2:3")},
                                       {{{"direct"}, seconds(5e-3, 5e-3)},
                                        {{"cudnn:pick", true}, seconds(4e-3, 4e-3)},
                                        {{"cudnn:gemm", true}, seconds(1e-3, 3e-3)},
                                        {{"cudnn:fft", true}, seconds(-1, 2e-3)}});
  const std::string text = to_text(results, {}, {});
  EXPECT_NE(text.find("cudnn best"), text.npos);
  EXPECT_NE(text.find("1.00 (0) gemm ←"), text.npos) << text;
  EXPECT_NE(text.find("2.00 (0) fft ←"), text.npos) << text;
}

TEST(ConvReport, every_line_of_the_csv_has_the_columns_of_its_head) {
  const std::string csv = to_csv(results_with_crossover());
  const auto lines = split(csv, '\n');
  ASSERT_EQ(lines.size(), 1U + 12U * 4U + 1U);
  const auto commas = std::count(lines[0].begin(), lines[0].end(), ',');
  for (std::size_t i = 1; i + 1 < lines.size(); ++i)
    EXPECT_EQ(std::count(lines[i].begin(), lines[i].end(), ','), commas) << lines[i];
}

TEST(ConvReport, pictures_of_every_series_and_pass_can_be_drawn) {
  const auto pictures = conv_pictures(results_with_crossover());
  std::set<std::string> names;
  for (const ConvPicture& picture : pictures) {
    names.insert(picture.name);
    EXPECT_EQ(test::problem_of_xml(to_svg(picture.grid)), "") << picture.name;
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"k-forward-time", "k-forward-memory", "k-forward-roles"}));
}

TEST(ConvReport, numbers_have_three_digits_and_no_exponent) {
  EXPECT_EQ(milliseconds_text(1.23456), "1235");
  EXPECT_EQ(milliseconds_text(0.0999), "99.9");
  EXPECT_EQ(milliseconds_text(0.00999), "9.99");
  EXPECT_EQ(milliseconds_text(0.000123), "0.123");
  EXPECT_EQ(milliseconds_text(1e-8), "0.0000");
  EXPECT_EQ(mebibytes_text(0), "0");
  EXPECT_EQ(mebibytes_text(1), "<0.1");
  EXPECT_EQ(mebibytes_text(std::int64_t{310} << 20), "310");
}

}  // namespace
}  // namespace strata
