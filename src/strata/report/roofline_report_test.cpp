// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/report/chart/scene.hpp"
#include "strata/report/chart/well_formed_test.hpp"
#include "strata/report/roofline_summary.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <variant>

namespace strata {
namespace {

const Machine& paper_v100() {
  static const Machine machine = load_machine("v100-nersc");
  return machine;
}

ProfileRow row_of(std::string layer, std::int64_t flop, std::int64_t bytes, double time_s,
                  std::int64_t launches = 1) {
  ProfileRow row;
  row.layer = std::move(layer);
  row.pass = "forward";
  row.op = "convolution";
  row.totals.flop = flop;
  row.totals.in_bytes = bytes;
  row.totals.time_s = time_s;
  row.totals.launches = launches;
  if (flop > 0) row.arithmetic = {{DType::fp16, true, flop}};
  if (flop == 0) row.totals.zero_flop_launches = launches;
  if (flop == 0) row.totals.zero_flop_s = time_s;
  return row;
}

/// Compute-bound and twice as slow as the roof; memory-bound; in the box; data movement only.
Profile four_kinds() {
  Profile profile;
  profile.subject = {.network = "n", .title = "Net", .dtype = "fp16", .machine = "v100-nersc"};
  profile.rows = {row_of("dense", 107'479'040'000, 1'000'000, 2e-3),
                  row_of("thin", 1'000'000, 8'288'000, 1e-5),
                  row_of("small", 1'000'000, 10'000, 1e-6, 3), row_of("copy", 0, 8'288'000, 2e-5)};
  return profile;
}

RooflineSummary summary_of(const Profile& profile, RooflineBy by = RooflineBy::row) {
  return summarize_roofline({{"net", profile}}, paper_v100(), {}, by, /*is_trajectory=*/false);
}

TEST(RooflineReport, says_that_there_is_nothing_to_place) {
  Profile profile = four_kinds();
  profile.rows.clear();
  try {
    summary_of(profile);
    ADD_FAILURE() << "placed nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(std::string(error.what()).find("net: it has no row to place under a roof"),
              std::string::npos);
  }
}

TEST(RooflineReport, each_row_says_what_bounds_it_and_how_far_it_is) {
  const RooflineSummary summary = summary_of(four_kinds());
  ASSERT_EQ(summary.series.size(), 1U);
  const auto& rows = summary.series[0].rows;
  EXPECT_EQ(bound_text(rows[0].point), "compute");
  EXPECT_NEAR(rows[0].point.distance, 2, 1e-12);
  EXPECT_EQ(bound_text(rows[1].point), "memory (DRAM)");
  EXPECT_NEAR(rows[1].point.distance, 1, 1e-12);
  EXPECT_EQ(bound_text(rows[2].point), "launch, else memory (DRAM)");
  EXPECT_TRUE(rows[3].point.is_zero_flop);
  EXPECT_TRUE(summary.notes.empty());

  const std::string text = to_text(summary, 10, {});
  for (const char* part :
       {"Net, fp16, predicted", "fp16 matrix 107.5 TFLOP/s", "balance 129.68", "2.00×", "no FLOP",
        "1 of 6 launches, 1 % of the time", "6 × 4.20 µs = 25.2 µs"}) {
    EXPECT_NE(text.find(part), text.npos) << part << "\n" << text;
  }
}

TEST(RooflineReport, only_the_slowest_rows_are_shown) {
  const std::string text = to_text(summary_of(four_kinds()), 1, {});
  EXPECT_NE(text.find("dense forward"), text.npos);
  EXPECT_EQ(text.find("copy forward"), text.npos);
  EXPECT_NE(text.find("3 more, 2 %"), text.npos) << text;
}

TEST(RooflineReport, what_is_above_the_roof_is_pointed_out) {
  Profile profile = four_kinds();
  profile.evidence = Evidence::measured;
  profile.rows[1].totals.time_s = 1e-6;
  const RooflineSummary summary = summary_of(profile);
  ASSERT_EQ(summary.notes.size(), 1U);
  EXPECT_EQ(summary.notes[0].find("1 row above the roof: the profile is of another machine"), 0U);
  profile.columns.has_launches = false;
  EXPECT_EQ(summary_of(profile).notes.size(), 2U);
}

TEST(RooflineReport, it_says_why_a_row_can_be_above_the_roof) {
  Profile profile = four_kinds();
  profile.evidence = Evidence::measured;
  profile.rows[0].totals.time_s /= 4;
  profile.rows[0].implementation = "cuDNN winograd";
  const RooflineSummary summary = summary_of(profile);
  ASSERT_EQ(summary.notes.size(), 1U);
  EXPECT_EQ(summary.notes[0],
            "1 row above the roof: Winograd's algorithm and the FFT do fewer operations than are "
            "counted");
}

/// A convolution by definition and as the FFT does it: a third of the FLOP, eight times the bytes.
Profile by_fft() {
  Profile profile;
  profile.evidence = Evidence::measured;
  profile.subject = {.network = "n", .title = "Net", .dtype = "fp32", .machine = "v100-nersc"};
  profile.counters.columns = {{"dram_read_bytes", "bytes", ""},
                              {"dram_write_bytes", "bytes", ""},
                              {"fma_pipe_flop", "flop", ""}};
  profile.rows = {row_of("conv", 30'000'000'000, 60'000'000, 2e-3),
                  row_of("plain", 10'000'000'000, 60'000'000, 2e-3)};
  for (ProfileRow& row : profile.rows) {
    row.layer_class = "dense";
    row.arithmetic.clear();
  }
  profile.rows[0].implementation = "engine 50: fft";
  profile.rows[0].counters = {240e6, 240e6, 6e9};
  profile.rows[1].counters = {40e6, 20e6, 11e9};
  return profile;
}

TEST(RooflineReport, what_was_counted_is_judged_and_the_definition_stands_beside_it) {
  const RooflineSummary summary = summary_of(by_fft());
  const RooflineRow& row = summary.series[0].rows[0];
  EXPECT_EQ(row.point.intensity, 12.5);
  EXPECT_EQ(row.point.bound, Bound::memory);
  ASSERT_TRUE(row.definition);
  EXPECT_EQ(row.definition->point.intensity, 500);
  EXPECT_EQ(row.definition->point.bound, Bound::compute);

  const std::string text = to_text(summary, 10, {});
  for (const char* part :
       {"definition", "0.20× FLOP, 8.00× bytes, other algorithm", "1.00× FLOP, 1.00× bytes",
        "1 row does far fewer operations than the definition: conv forward 0.20× (engine 50: fft)",
        "upper bound"}) {
    EXPECT_NE(text.find(part), text.npos) << part << "\n" << text;
  }
  const auto json = nlohmann::json::parse(to_json(summary, {.command = "x"}));
  const auto& first = json["profiles"][0]["rows"][0];
  EXPECT_EQ(first["flop"], 30'000'000'000);
  EXPECT_EQ(first["bytes"], 60'000'000);
  EXPECT_EQ(first["counted_flop"], 6'000'000'000);
  EXPECT_EQ(first["counted_bytes"], 480'000'000);
  EXPECT_EQ(first["flop_per_byte"], 12.5);
  EXPECT_EQ(first["definition_flop_per_byte"], 500);
  EXPECT_EQ(first["algorithm"], "fewer_operations");
  EXPECT_EQ(first["is_counted_flop_upper_bound"], true);
  EXPECT_EQ(json["profiles"][0]["rows"][1]["algorithm"], "as_defined");
  const std::string csv = to_csv(summary);
  EXPECT_NE(csv.find(",6000000000,480000000,500,fewer_operations\n"), csv.npos) << csv;
}

TEST(RooflineReport, rows_without_counters_have_one_symbol_and_counted_ones_two) {
  const auto points_of = [](const Profile& profile, RooflineKind kind) {
    std::size_t closed = 0;
    std::size_t open = 0;
    for (const chart::Series& series : roofline_chart(summary_of(profile), kind).series) {
      if (series.stroke == chart::Stroke::dotted) continue;  // joins the two
      (series.is_filled ? closed : open) += series.points.size();
    }
    return std::pair(closed, open);
  };
  Profile without = by_fft();
  without.counters = {};
  for (ProfileRow& row : without.rows) row.counters.clear();
  for (const RooflineKind kind : {RooflineKind::classic, RooflineKind::complexity}) {
    EXPECT_EQ(points_of(by_fft(), kind), std::pair(std::size_t{2}, std::size_t{2}));
    EXPECT_EQ(points_of(without, kind), std::pair(std::size_t{2}, std::size_t{0}));
  }
  EXPECT_TRUE(summary_of(without).notes.empty());
  const auto json = nlohmann::json::parse(to_json(summary_of(without), {.command = "x"}));
  const auto& first = json["profiles"][0]["rows"][0];
  for (const char* key : {"counted_flop", "counted_bytes", "definition_flop_per_byte", "algorithm"})
    EXPECT_TRUE(first[key].is_null()) << key;
}

TEST(RooflineReport, json_and_csv_have_the_numbers_of_the_rows) {
  const RooflineSummary summary = summary_of(four_kinds());
  const auto json = nlohmann::json::parse(to_json(summary, {.command = "x"}));
  EXPECT_EQ(json["kind"], "roofline");
  const auto& row = json["profiles"][0]["rows"][2];
  EXPECT_EQ(row["bound"], "launch");
  EXPECT_EQ(row["complexity_bound"], "memory");
  EXPECT_EQ(row["launches"], 3);
  EXPECT_DOUBLE_EQ(row["overhead_s"].get<double>(), 3 * 4.2e-6);
  EXPECT_EQ(json["profiles"][0]["total"]["flop"], 107'479'040'000 + 2'000'000);
  const std::string csv = to_csv(summary);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  const std::string head = csv.substr(0, csv.find('\n'));
  const std::string last = csv.substr(csv.find("net,copy"));
  EXPECT_EQ(std::count(head.begin(), head.end(), ','), std::count(last.begin(), last.end(), ','));
}

TEST(RooflineReport, a_profile_without_time_has_only_the_complexity_picture) {
  Profile profile = four_kinds();
  profile.columns.has_time = false;
  for (ProfileRow& row : profile.rows) row.totals.time_s = row.totals.zero_flop_s = 0;
  const RooflineSummary summary = summary_of(profile);
  EXPECT_THROW(roofline_chart(summary, RooflineKind::time), Error);
  EXPECT_FALSE(roofline_chart(summary, RooflineKind::complexity).series.empty());
  const auto json = nlohmann::json::parse(to_json(summary, {}));
  EXPECT_TRUE(json["profiles"][0]["rows"][0]["bound"].is_null());
}

const chart::Series* series_named(const chart::Chart& chart, std::string_view name,
                                  bool is_filled) {
  for (const chart::Series& series : chart.series) {
    if (series.name == name && series.is_filled == is_filled &&
        series.marker != chart::Marker::none)
      return &series;
  }
  return nullptr;
}

TEST(RooflinePicture, symbols_are_where_the_formulas_put_them) {
  const RooflineSummary summary = summary_of(four_kinds());
  const chart::Chart classic = roofline_chart(summary, RooflineKind::classic);
  const chart::Series* dense = series_named(classic, "compute-bound", true);
  ASSERT_NE(dense, nullptr);
  EXPECT_NEAR(dense->points[0].x, 107'479.04, 1e-6);
  EXPECT_NEAR(dense->points[0].y, 107.47904e12 / 2, 1);

  const chart::Chart time = roofline_chart(summary, RooflineKind::time);
  const chart::Series* thin = series_named(time, "memory-bound", false);
  ASSERT_NE(thin, nullptr);
  ASSERT_EQ(thin->points.size(), 1U);  // data movement has no place on a logarithmic axis
  EXPECT_NEAR(thin->points[0].x, 1e-5, 1e-18);
  EXPECT_NE(time.subtitle.find("1 without FLOP or bytes not shown"), std::string::npos);

  const chart::Chart combined = roofline_chart(summary, RooflineKind::combined);
  const chart::Series* closed = series_named(combined, "compute-bound", true);
  const chart::Series* open = series_named(combined, "", false);
  ASSERT_TRUE(closed != nullptr && open != nullptr);
  EXPECT_NEAR(open->points[0].y / closed->points[0].y, 2, 1e-9);  // its distance from the roof
  EXPECT_NEAR(open->points[0].x / closed->points[0].x, 2, 1e-9);
  // The boxes of the fewest and the most launches.
  ASSERT_EQ(combined.bands.size(), 2U);
  EXPECT_NEAR(*combined.bands[0].x_to, 4.2e-6 * 828.8e9, 1);
  EXPECT_NEAR(*combined.bands[1].y_to, 3 * 4.2e-6 * 107.47904e12, 1);
}

TEST(RooflinePicture, profiles_with_labels_are_joined_in_their_order) {
  Profile small = four_kinds();
  Profile large = four_kinds();
  for (ProfileRow& row : large.rows) row.totals.flop *= 2;
  const RooflineSummary summary =
      summarize_roofline({{"batch=1", small}, {"batch=2", large}}, paper_v100(), {},
                         RooflineBy::layer, /*is_trajectory=*/true);
  const chart::Chart chart = roofline_chart(summary, RooflineKind::complexity);
  const chart::Series* dense = series_named(chart, "dense", true);
  ASSERT_NE(dense, nullptr);
  EXPECT_EQ(dense->stroke, chart::Stroke::solid);
  ASSERT_EQ(dense->points.size(), 2U);
  EXPECT_EQ(dense->points[0].label, "1");
  EXPECT_EQ(dense->points[1].label, "2");
  EXPECT_LT(dense->points[0].y, dense->points[1].y);
}

TEST(RooflinePicture, bytes_of_inner_levels_have_symbols_of_their_own) {
  Machine machine = paper_v100();
  machine.memory[1].bandwidth_bytes_per_s = Sourced{2e12, "test"};
  Profile profile = four_kinds();
  profile.rows[0].levels = {{"L2", 5'000'000}};
  const RooflineSummary summary =
      summarize_roofline({{"net", profile}}, machine, {}, RooflineBy::row, false);
  const chart::Chart chart = roofline_chart(summary, RooflineKind::classic);
  const chart::Series* inner = series_named(chart, "over L2 bytes", false);
  ASSERT_NE(inner, nullptr);
  EXPECT_NEAR(inner->points[0].x, 107'479'040'000 / 5e6, 1e-6);
  const auto diagonals =
      std::count_if(chart.lines.begin(), chart.lines.end(),
                    [](const auto& line) { return line.direction == chart::Direction::diagonal; });
  EXPECT_EQ(diagonals, 2);
}

TEST(RooflinePicture, any_profile_gives_pictures_without_overlaps) {
  std::mt19937 random(3);
  const auto below = [&](unsigned limit) { return static_cast<std::int64_t>(random() % limit); };
  for (int i = 0; i < 12; ++i) {
    Profile profile;
    profile.subject.title = "<random & \"hostile\">";
    for (std::int64_t k = below(12); k >= 0; --k) {
      profile.rows.push_back(row_of("layer " + std::to_string(k), 1 + below(4'000'000'000),
                                    1 + below(4'000'000'000), 1e-9 * double(1 + below(1'000'000)),
                                    below(30)));
    }
    const RooflineSummary summary = summary_of(profile);
    for (const RooflineKind kind : {RooflineKind::classic, RooflineKind::complexity,
                                    RooflineKind::time, RooflineKind::combined}) {
      const chart::Chart chart = roofline_chart(summary, kind);
      EXPECT_EQ(test::problem_of_xml(chart::to_svg(chart)), "");
      const chart::Scene scene = chart::laid_out({.panels = {chart}, .columns = 1});
      std::vector<const chart::TextShape*> texts;
      for (const chart::Shape& shape : scene.shapes) {
        const auto* text = std::get_if<chart::TextShape>(&shape);
        if (text == nullptr) continue;
        for (const chart::TextShape* other : texts)
          EXPECT_FALSE(overlap(corners_of(*text), corners_of(*other)))
              << text->text << " / " << other->text;
        texts.push_back(text);
      }
    }
  }
}

}  // namespace
}  // namespace strata
