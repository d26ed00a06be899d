// SPDX-License-Identifier: Apache-2.0
// The figures of the thesis: their tables say what `strata predict --preset thesis` says, and every
// file is written.
#include "strata/base/temporary_folder_test.hpp"
#include "strata/base/text.hpp"
#include "strata/reproduce/write_figures.hpp"
#include "strata/strata.hpp"
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>

namespace strata::test {
namespace {

// The first, a middle and the last capacity: computing all of them takes too long for a test.
constexpr ThesisGrid few_points{.step_mb = 488, .long_step_mb = 976};

const std::vector<Figure>& figures() {
  static const std::vector<Figure> made = analytical_figures(thesis_results(few_points));
  return made;
}

using Row = std::map<std::string, std::string>;

std::vector<Row> rows_of(const std::string& name) {
  for (const Figure& figure : figures()) {
    if (figure.name != name) continue;
    std::vector<Row> rows;
    std::vector<std::string_view> columns;
    for (const std::string_view line : split(figure.csv, '\n')) {
      const std::vector<std::string_view> cells = split(line, ',');
      if (columns.empty()) {
        columns = cells;
      } else if (!line.empty()) {
        Row& row = rows.emplace_back();
        EXPECT_EQ(cells.size(), columns.size()) << line;
        for (std::size_t i = 0; i < cells.size(); ++i) row[std::string(columns[i])] = cells[i];
      }
    }
    return rows;
  }
  ADD_FAILURE() << "no figure " << name;
  return {};
}

PredictionTotals predicted(const Row& row) {
  PredictRequest request = thesis_request();
  request.bounds = WantBounds::not_at_all;
  request.wants_alternatives = false;
  set_option(request, "capacity", row.at("capacity_bytes") + "B");
  set_option(request, "throughput", row.at("flop_per_s") + "FLOP/s");
  set_option(request, "bandwidth", row.at("bytes_per_s") + "B/s");
  if (row.contains("prefetch")) set_option(request, "prefetch", row.at("prefetch"));
  if (row.contains("offload")) set_option(request, "offload", row.at("offload"));
  if (row.contains("batch")) request.sizes.batch = std::stoll(row.at("batch"));
  const Graph graph = load_model(row.at("network"));
  return predict_model(graph, load_machine("rtx-2080-ti"), request).summary.totals;
}

void expect_as_predicted(const std::string& figure) {
  std::set<std::string> networks;
  for (const Row& row : rows_of(figure)) {
    networks.insert(row.at("network"));
    // Of the network with the most steps one capacity is enough.
    if (row.at("network").starts_with("gnmt") && row.at("capacity_bytes") != "25165824") continue;
    const PredictionTotals totals = predicted(row);
    const std::map<std::string, double> expected = {
        {"time_s", totals.time_s},
        {"traffic_in_bytes", static_cast<double>(totals.traffic_in_bytes)},
        {"traffic_out_bytes", static_cast<double>(totals.traffic_out_bytes)},
        {"traffic_bytes", static_cast<double>(totals.traffic_bytes())},
        {"average_bandwidth_bytes_per_s", totals.average_bandwidth_bytes_per_s},
        {"samples_per_s", totals.samples_per_s}};
    std::size_t compared = 0;
    for (const auto& [column, value] : expected) {
      if (!row.contains(column)) continue;
      EXPECT_EQ(std::stod(row.at(column)), value) << figure << " " << column;
      ++compared;
    }
    EXPECT_GE(compared, 1U) << figure;
  }
  EXPECT_EQ(networks.size(), 4U) << figure;
}

// One test for all: each test is a process of its own and would compute the points again.
TEST(Figures, their_tables_say_what_predict_says) {
  for (const char* figure : {"prefetch-gain", "offload-gain", "figure-5.2-traffic",
                             "figure-5.3-time", "figure-5.4-bandwidth", "figure-5.6-batch"}) {
    expect_as_predicted(figure);
  }
}

TEST(Figures, the_kinds_of_layers_add_up_to_the_time) {
  std::map<std::pair<std::string, std::string>, double> sums;
  std::map<std::pair<std::string, std::string>, double> shares;
  for (const Row& row : rows_of("figure-5.5-layer-types")) {
    const std::pair point(row.at("network"), row.at("capacity_bytes"));
    sums[point] += std::stod(row.at("time_s"));
    shares[point] += std::stod(row.at("share"));
  }
  EXPECT_EQ(sums.size(), 4U * 5U);
  for (const auto& [point, share] : shares) EXPECT_NEAR(share, 1, 1e-9) << point.first;
  const Row point{{"network", "transformer_thesis"},
                  {"capacity_bytes", "67108864"},
                  {"flop_per_s", "13.45e12"},
                  {"bytes_per_s", "616e9"}};
  EXPECT_NEAR(sums.at({"transformer_thesis", "67108864"}), predicted(point).time_s, 1e-12);
}

/// One number for type II: what the table calls so and what the legend does.
TEST(Figures, the_kinds_of_type_two_add_up_to_what_the_table_says) {
  const std::set<std::string> second(layer_kinds + first_kinds,
                                     layer_kinds + first_kinds + second_kinds);
  EXPECT_TRUE(second.contains("dropout"));
  double share = 0;
  for (const Row& row : rows_of("figure-5.5-layer-types")) {
    if (row.at("network") == "transformer_thesis" && row.at("capacity_bytes") == "25165824" &&
        second.contains(row.at("layer_kind")))
      share += std::stod(row.at("share"));
  }
  PredictRequest request = thesis_request();
  request.bounds = WantBounds::not_at_all;
  request.wants_alternatives = false;
  set_option(request, "capacity", "24MiB");
  const PredictionSummary summary =
      predict_model(load_model("transformer_thesis"), load_machine("rtx-2080-ti"), request).summary;
  double pointwise_s = 0;
  for (const ProfileGroup& group : summary.by_class) {
    if (group.name == "pointwise") pointwise_s = group.totals.time_s;
  }
  EXPECT_NEAR(share, pointwise_s / summary.totals.time_s, 1e-9);
}

TEST(Figures, figure_five_one_has_a_mark_for_every_layer) {
  for (const Figure& figure : figures()) {
    if (figure.name != "figure-5.1-roofline") continue;
    std::size_t marks = 0;
    for (const chart::Chart& panel : figure.grid.panels) {
      for (const chart::Series& series : panel.series) marks += series.points.size();
      EXPECT_EQ(panel.lines.back().stroke, chart::Stroke::dashed);
      EXPECT_EQ(panel.lines.back().direction, chart::Direction::vertical);
    }
    EXPECT_EQ(marks, rows_of(figure.name).size());
  }
}

TEST(Figures, every_one_is_written_as_table_and_picture) {
  const TemporaryFolder folder;
  const auto place = folder.path() / "new" / "figures";
  make_figure_folder(place);
  make_figure_folder(place);  // once more is no error
  write_figures(place, figures());
  EXPECT_EQ(figures().size(), 10U);
  for (const Figure& figure : figures()) {
    for (const char* ending : {".csv", ".svg"}) {
      std::ifstream file(place / (figure.name + ending));
      std::string first;
      EXPECT_TRUE(std::getline(file, first)) << figure.name << ending;
      EXPECT_TRUE(first.starts_with(ending == std::string(".svg") ? "<svg " : "network,"));
    }
  }
}

TEST(Figures, a_place_that_is_a_file_and_pictures_that_go_nowhere_are_refused) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "taken") << "text";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--out", "taken"}, {"--out", "taken/below"}, {"--png"}}) {
    std::vector<std::string> command{STRATA_BINARY, "reproduce", "analytical"};
    command.insert(command.end(), words.begin(), words.end());
    const Outcome outcome = run_words(command, {.folder = folder.path()});
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with("error: "));
  }
}

}  // namespace
}  // namespace strata::test
