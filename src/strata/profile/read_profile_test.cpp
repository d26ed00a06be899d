// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/read_profile.hpp"

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

// A document with one row; `row` replaces what stands there.
std::string document(const std::string& rows, const std::string& head = {}) {
  return R"({"schema_version": 1, "kind": "prediction", "evidence": "predicted", )" + head +
         R"("layers": [)" + rows + "]}";
}

const std::string full_row =
    R"({"layer": "conv", "pass": "forward", "op": "convolution", "block": "stem", "class": "dense",
        "steps": 2, "time_s": 0.5, "compute_time_s": 0.25, "stall_time_s": 0.25, "flop": 100,
        "traffic_in_bytes": 30, "traffic_out_bytes": 12, "refetch_bytes": 3, "launches": 3,
        "zero_flop_launches": 1, "zero_flop_time_s": 0.125, "wall_time_s": 0.75, "cause": null,
        "arithmetic": [{"dtype": "fp16", "unit": "matrix", "flop": 90},
                       {"dtype": "fp32", "unit": "vector", "flop": 10}],
        "levels": [{"level": "L2", "bytes": 99}], "somebody": "else's"})";

std::string class_of_row(const std::string& name) {
  const std::string row =
      R"({"layer": "a", "pass": "forward", "time_s": 1, "flop": 1, "traffic_in_bytes": 1,
          "traffic_out_bytes": 1, "class": ")" +
      name + "\"}";
  return read_profile(document(row)).rows.front().layer_class;
}

std::string refusal(const std::string& text) {
  try {
    read_profile(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
    return error.what();
  }
  return "nothing refused";
}

TEST(ReadProfile, ReadsTheClassNamesOfOlderFiles) {
  EXPECT_EQ(class_of_row("type I"), "dense");
  EXPECT_EQ(class_of_row("type II"), "pointwise");
  EXPECT_EQ(class_of_row("dense"), "dense");
  EXPECT_EQ(class_of_row("other"), "other");
}

TEST(ReadProfile, the_iteration_is_what_the_file_says) {
  const std::string head =
      R"("totals": {"time_s": 0.75, "time_from": "simulation", "drain_time_s": 0.25,
                    "footprint_bytes": 99, "fits_device": null}, )";
  const Profile profile = read_profile(document(full_row, head));
  EXPECT_EQ(iteration_of(profile).time_s, 0.75);
  EXPECT_EQ(iteration_of(profile).from, TimeFrom::simulation);
  EXPECT_EQ(iteration_of(profile).drain_s, 0.25);
  EXPECT_EQ(profile.peak_memory_bytes, 99);
  // As files were before they said how the time was obtained, and as others write them.
  const Profile older = read_profile(document(full_row, R"("totals": {"time_s": 2}, )"));
  EXPECT_EQ(iteration_of(older).from, TimeFrom::simulation);
  EXPECT_EQ(iteration_of(older).time_s, 2);
  const Profile recorded = read_profile(document(
      full_row,
      R"("totals": {"time_s": 2, "time_from": "step", "busy_time_s": 0.5, "overlap_time_s": 0,
                    "gap_time_s": 1.5, "host_time_s": null, "launches": 1},
         "idle": [{"cause": "host", "time_s": 1}, {"cause": "sync", "time_s": 0.5}], )"));
  EXPECT_EQ(iteration_of(recorded).from, TimeFrom::step);
  EXPECT_EQ(iteration_of(recorded).gaps_s, 1.5);
  EXPECT_EQ(recorded.recorded->busy_s, 0.5);
  EXPECT_FALSE(recorded.recorded->host_s.has_value());
  EXPECT_EQ(recorded.recorded->idle, (std::vector<IdleShare>{{"host", 1}, {"sync", 0.5}}));
  const Profile plain = read_profile(document(full_row));
  EXPECT_EQ(iteration_of(plain).from, TimeFrom::rows);
  EXPECT_EQ(iteration_of(plain).time_s, 0.75);  // its wall time
  EXPECT_NE(refusal(document(full_row, R"("totals": {"time_s": -1}, )")).find("totals.time_s"),
            std::string::npos);
  EXPECT_NE(refusal(document(full_row, R"("totals": {"time_s": 1, "time_from": "a guess"}, )"))
                .find("totals.time_from"),
            std::string::npos);
}

TEST(ReadProfile, what_is_measured_of_a_row_arrives) {
  const Profile profile = read_profile(document(
      R"({"layer": "a", "pass": "forward", "time_s": 1, "samples_s": [1, 2], "kernel_samples_s": [1],
          "roof_time_s": 0.5, "not_run": null, "implementation": "winograd4"},
         {"layer": "b", "pass": "forward", "time_s": 0, "not_run": "no kernel"})"));
  EXPECT_EQ(profile.rows[0].samples_s, (std::vector<double>{1, 2}));
  EXPECT_EQ(profile.rows[0].timed_samples_s(), std::vector<double>{1});
  EXPECT_EQ(profile.rows[0].roof_s, 0.5);
  EXPECT_EQ(profile.rows[0].not_run, "");
  EXPECT_EQ(profile.rows[1].not_run, "no kernel");
}

TEST(ReadProfile, what_moved_while_a_row_ran_arrives_whole_or_not_at_all) {
  const auto row = [](const std::string& more) {
    return document(R"({"layer": "a", "pass": "forward", "time_s": 1, "flop": 1,
                        "traffic_in_bytes": 2, "traffic_out_bytes": 3)" +
                    more + "}");
  };
  const Profile profile = read_profile(row(R"(, "moved_in_bytes": 5, "moved_out_bytes": 7)"));
  EXPECT_EQ(profile.rows[0].moved, (MovedBytes{5, 7}));
  EXPECT_FALSE(read_profile(row("")).rows[0].moved) << "older files";
  EXPECT_NE(refusal(row(R"(, "moved_in_bytes": 5)")).find("go together"), std::string::npos);
  EXPECT_NE(refusal(row(R"(, "moved_in_bytes": 9223372036854775807, "moved_out_bytes": 1)"))
                .find("more than 64 bits"),
            std::string::npos);
}

TEST(ReadProfile, every_number_of_a_row_arrives) {
  const Profile profile = read_profile(
      document(full_row,
               R"("model": {"name": "resnet50", "title": "ResNet-50", "dtype": "fp16", "batch": 32},
         "machine": {"name": "v100", "title": "V100"}, )"));
  EXPECT_EQ(profile.evidence, Evidence::predicted);
  EXPECT_EQ(profile.subject.title, "ResNet-50");
  EXPECT_EQ(profile.subject.dtype, "fp16");
  EXPECT_EQ(profile.subject.machine, "v100");
  ASSERT_EQ(profile.rows.size(), 1U);
  const ProfileRow& row = profile.rows.front();
  EXPECT_EQ(row.layer + row.pass + row.op + row.block + row.layer_class,
            "convforwardconvolutionstemdense");
  EXPECT_EQ(row.totals.steps, 2);
  EXPECT_EQ(row.totals.time_s, 0.5);
  EXPECT_EQ(row.totals.flop, 100);
  EXPECT_EQ(row.totals.traffic_bytes(), 42);
  EXPECT_EQ(row.totals.launches, 3);
  EXPECT_EQ(row.totals.zero_flop_launches, 1);
  EXPECT_EQ(row.totals.zero_flop_s, 0.125);
  EXPECT_EQ(row.wall_s, 0.75);
  EXPECT_EQ(row.arithmetic,
            (std::vector<TypedFlop>{{DType::fp16, true, 90}, {DType::fp32, false, 10}}));
  EXPECT_EQ(row.levels, (std::vector<LevelBytes>{{"L2", 99}}));
  const ProfileColumns& columns = profile.columns;
  EXPECT_TRUE(columns.has_time && columns.has_flop && columns.has_bytes && columns.has_launches);
}

TEST(ReadProfile, a_column_that_no_row_has_is_said_to_be_absent) {
  const Profile profile =
      read_profile(document(R"({"layer": "a", "pass": "forward", "time_s": 1})"));
  EXPECT_TRUE(profile.columns.has_time);
  EXPECT_FALSE(profile.columns.has_flop || profile.columns.has_bytes);
  EXPECT_FALSE(profile.columns.has_launches);
}

TEST(ReadProfile, files_from_before_launches_count_steps) {
  const Profile profile = read_profile(
      document(R"({"layer": "a", "pass": "forward", "time_s": 1, "steps": 7, "flop": 0})"));
  EXPECT_TRUE(profile.columns.has_launches);
  EXPECT_EQ(profile.rows[0].totals.launches, 7);
  EXPECT_EQ(profile.rows[0].totals.zero_flop_launches, 7);
  EXPECT_EQ(profile.rows[0].totals.zero_flop_s, 1);
}

TEST(ReadProfile, control_characters_do_not_reach_a_terminal) {
  const Profile profile = read_profile(document(R"({"layer": "a\u001b[2J", "pass": "forward"})"));
  EXPECT_EQ(profile.rows[0].layer, "a\\u{1b}[2J");
}

// Such a row made rates infinite: 5e-324 s is what rounding leaves of a time.
TEST(ReadProfile, a_time_that_only_rounding_leaves_is_none) {
  const Profile profile =
      read_profile(document(R"({"layer": "a", "pass": "forward", "time_s": 5e-324, "flop": 2})"));
  EXPECT_EQ(profile.rows[0].totals.time_s, 0);
}

// Such a row made what-ifs negative.
TEST(ReadProfile, refuses_launches_without_flop_that_take_longer_than_their_row) {
  EXPECT_EQ(refusal(document(R"({"layer": "a", "pass": "forward", "time_s": 0.001, "flop": 0,
                                 "launches": 1, "zero_flop_time_s": 1})")),
            "profile.layers[0]: 'zero_flop_time_s', 1, is more than the row's 'time_s', 0.001");
}

TEST(ReadProfile, refuses_what_is_wrong_and_says_where) {
  EXPECT_EQ(refusal("[1"), "not a JSON document");
  EXPECT_EQ(refusal("[]"), "profile: expected an object, got array");
  EXPECT_EQ(refusal("{}"), "profile: 'schema_version' is missing");
  EXPECT_EQ(refusal(R"({"schema_version": 2})"), "profile.schema_version: expected 1, got 2");
  EXPECT_EQ(refusal(R"({"schema_version": 1, "kind": "machines"})"),
            "a document of kind 'machines' has no rows ('layers'), so it is no profile");
  EXPECT_EQ(refusal(document("")), "profile.layers: there are no rows");
  EXPECT_EQ(refusal(document("3")), "profile.layers[0]: expected an object, got number");
  EXPECT_EQ(refusal(document(R"({"pass": "forward"})")), "profile.layers[0]: 'layer' is missing");
  const auto with = [](const std::string& field) {
    return refusal(document(R"({"layer": "a", "pass": "forward", )" + field + "}"));
  };
  EXPECT_EQ(with(R"("flop": 1.5)"),
            "profile.layers[0].flop: expected a whole number from 0, got 1.5");
  EXPECT_EQ(with(R"("flop": -1)"),
            "profile.layers[0].flop: expected a whole number from 0, got -1");
  EXPECT_EQ(with(R"("flop": "many")"),
            "profile.layers[0].flop: expected a whole number, got string");
  EXPECT_EQ(with(R"("flop": 18446744073709551615)"),
            "profile.layers[0].flop: 18446744073709551615 needs more than 64 bits");
  EXPECT_EQ(with(R"("time_s": -1)"), "profile.layers[0].time_s: must not be negative, got -1");
  EXPECT_EQ(with(R"("time_s": 1e300)"),
            "profile.layers[0].time_s: 1e+300 seconds is too long for a profile");
  EXPECT_EQ(with(R"("traffic_in_bytes": 1)"),
            "profile.layers[0]: 'traffic_in_bytes' and 'traffic_out_bytes' go together");
  EXPECT_EQ(with(R"("arithmetic": [{"dtype": "fp3", "unit": "vector", "flop": 1}])"),
            "profile.layers[0].arithmetic[0].dtype: unknown data type 'fp3'");
  EXPECT_EQ(
      refusal(document(R"({"layer": "a", "pass": "b", "time_s": 1}, {"layer": "a", "pass": "b"})")),
      "profile.layers[1]: 'time_s' is missing, which profile.layers[0] has");
  EXPECT_EQ(with(R"("flop": 3, "arithmetic": [{"dtype": "fp32", "unit": "vector", "flop": 4}])"),
            "profile.layers[0].arithmetic: adds up to more than the row's 'flop', 3");
  const std::string big = R"({"layer": "a", "pass": "b", "flop": 9000000000000000000})";
  EXPECT_EQ(refusal(document(big + ", " + big)),
            "the counts of all rows together need more than 64 bits");
}

TEST(ReadProfile, a_network_file_is_not_taken_for_a_profile) {
  EXPECT_TRUE(looks_like_profile(document(full_row)));
  EXPECT_FALSE(looks_like_profile(R"({"strata_network": 1, "layers": []})"));
  EXPECT_FALSE(looks_like_profile("[net]\nbatch=1"));
}

TEST(ReadProfile, errors_of_files_name_them) {
  const test::TemporaryFolder folder;
  const auto path = folder.file("bad.json", "{}");
  try {
    load_profile(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), path.string() + ": profile: 'schema_version' is missing");
  }
  EXPECT_THROW(load_profile(folder.path() / "nothing.json"), Error);
  EXPECT_THROW(load_profile(folder.path()), Error);
}

}  // namespace
}  // namespace strata
