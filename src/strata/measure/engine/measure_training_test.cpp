// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/measure_training.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/builder.hpp"
#include "strata/measure/engine/reference_device_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata {
namespace {

constexpr double exactly = 1e-12;

/// Two layers, on a device whose clock the test knows.
struct Setting {
  std::size_t network_nodes = 0;
  Graph graph;
  BoundGraph bound;
  reference::Device device;
  MeasureOptions options;

  Setting() {
    GraphBuilder b("two layers");
    const Dim batch = b.symbols().parameter("batch", 4);
    const TensorId x = b.input("x", {batch, 5});
    const TensorId hidden = b.add("hidden", Linear{6}, {x});
    const TensorId bent = b.add("bent", Unary{UnaryKind::tanh}, {hidden});
    b.add("classes", Linear{3}, {bent});
    const Graph plain = std::move(b).finish();
    network_nodes = plain.nodes.size();
    graph = with_loss(plain, Loss::automatic);
    bound = bind_graph(graph, {{"batch", 4}}, DType::fp64);
    options.network_nodes = network_nodes;
    options.iterations = 3;
    options.engine.rule.learning_rate = 0.1;
  }

  TrainingMeasurement measured(const MeasureHooks& hooks = {}) {
    return measure_training(bound, device, options, hooks);
  }
};

const ProfileRow& row_named(const Profile& profile, std::string_view layer, std::string_view pass) {
  const auto place =
      std::find_if(profile.rows.begin(), profile.rows.end(),
                   [&](const ProfileRow& row) { return row.layer == layer && row.pass == pass; });
  if (place == profile.rows.end()) {
    ADD_FAILURE() << "no row " << layer << " " << pass;
    return profile.rows.front();
  }
  return *place;
}

TEST(MeasureTraining, times_every_row_and_the_whole) {
  Setting setting;
  const TrainingMeasurement measured = setting.measured();
  const Profile& profile = measured.profile;
  EXPECT_EQ(profile.evidence, Evidence::measured);
  // Four forward, with the loss; five backward, as nothing needs the gradient of x; two updates.
  ASSERT_EQ(profile.rows.size(), 4U + 5U + 2U);
  EXPECT_NEAR(row_named(profile, "hidden", "forward").totals.time_s, reference::kernel_s, exactly);
  EXPECT_EQ(row_named(profile, "hidden", "forward").totals.flop, 4 * 6 * (2 * 5 + 1));
  // Weight and bias are updated one after the other, and are one row.
  EXPECT_NEAR(row_named(profile, "hidden", "update").totals.time_s, 2 * reference::update_s,
              exactly);
  EXPECT_EQ(row_named(profile, "hidden", "update").op, "update");
  EXPECT_EQ(row_named(profile, "loss", "backward_input").op, "loss");
  ASSERT_EQ(measured.iteration_s.size(), 3U);
  for (const double time : measured.iteration_s)
    EXPECT_NEAR(time, 9 * reference::kernel_s + 4 * reference::update_s, exactly);
  for (const ProfileRow& row : profile.rows) EXPECT_EQ(row.samples_s.size(), 3U);
  EXPECT_EQ(profile.iteration_from, TimeFrom::layer_runs);
  EXPECT_NEAR(iteration_of(profile).time_s, 9 * reference::kernel_s + 4 * reference::update_s,
              exactly);
  EXPECT_GT(profile.peak_memory_bytes.value(), 0);
  EXPECT_EQ(measured.iterations_run, 5);
  EXPECT_LT(measured.loss_after.value(), measured.loss_before.value());
  EXPECT_EQ(measured.samples, 4);
  EXPECT_FALSE(measured.is_interrupted);
}

TEST(MeasureTraining, takes_the_time_of_kernels_where_they_are_traced) {
  Setting setting;
  setting.device.settings.traces = true;
  setting.options.times_whole_apart = true;
  const TrainingMeasurement measured = setting.measured();
  const ProfileRow& row = row_named(measured.profile, "hidden", "update");
  EXPECT_EQ(row.totals.launches, 2);
  EXPECT_NEAR(row.totals.time_s, 2 * reference::update_s, exactly);
  ASSERT_TRUE(row.wall_s.has_value());
  EXPECT_EQ(measured.kernels.size(), 13U);
  EXPECT_EQ(measured.iteration_s.size(), 3U);
  EXPECT_EQ(measured.iterations_run, 2 + 3 + 3 + 3);
}

TEST(MeasureTraining, does_not_count_what_tracing_shows_beyond_the_marks) {
  Setting setting;
  setting.device.settings.traces = true;
  setting.device.settings.traced_slowdown = 1.5;
  const TrainingMeasurement measured = setting.measured();
  const ProfileRow& row = row_named(measured.profile, "hidden", "forward");
  EXPECT_NEAR(row.totals.time_s, reference::kernel_s, exactly);
  const bool is_noted = std::any_of(
      measured.notes.begin(), measured.notes.end(),
      [](const std::string& note) { return note.find("traced kernels took 50 %") == 0; });
  EXPECT_TRUE(is_noted);
}

TEST(MeasureTraining, times_a_recording_or_says_why_not) {
  Setting setting;
  setting.options.wants_recording = true;
  const TrainingMeasurement without = setting.measured();
  EXPECT_TRUE(without.recorded_s.empty());
  EXPECT_NE(without.no_recording, "");
  setting.device.settings.records = true;
  const TrainingMeasurement with = setting.measured();
  EXPECT_EQ(with.recorded_s.size(), 3U);
  EXPECT_EQ(with.no_recording, "");
}

TEST(MeasureTraining, keeps_what_was_measured_before_it_was_stopped) {
  Setting setting;
  setting.options.iterations = 100;
  std::size_t timed = 0;
  const MeasureHooks hooks{.on_progress =
                               [&](std::string_view phase, std::size_t done, std::size_t) {
                                 if (phase == "timing layers") timed = done;
                               },
                           .is_interrupted = [&] { return timed == 4; }};
  const TrainingMeasurement measured = setting.measured(hooks);
  EXPECT_TRUE(measured.is_interrupted);
  EXPECT_TRUE(measured.has_times());
  EXPECT_EQ(measured.iteration_s.size(), 4U);

  const TrainingMeasurement none = setting.measured({.is_interrupted = [] { return true; }});
  EXPECT_TRUE(none.is_interrupted);
  EXPECT_FALSE(none.has_times());
  EXPECT_EQ(none.profile.rows.front().not_run, "interrupted");
}

TEST(MeasureTraining, lists_a_layer_that_does_not_run_with_its_reason) {
  Setting setting;
  setting.device.settings.without = {"tanh"};
  const TrainingMeasurement measured = setting.measured();
  const ProfileRow& row = row_named(measured.profile, "bent", "forward");
  EXPECT_EQ(row.totals.time_s, 0);
  EXPECT_EQ(row.totals.flop, 0);
  EXPECT_EQ(row.not_run, "no loops for tanh");
}

TEST(MeasureTraining, refuses_a_network_that_does_not_run_at_all) {
  Setting setting;
  for (const Node& node : setting.graph.nodes) {
    setting.device.settings.without.insert(std::string(name_of(node.op)));
  }
  try {
    setting.measured();
    FAIL() << "there was nothing to measure";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(std::string(error.what()).find("no layer of it runs on"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("no loops for"), std::string::npos) << error.what();
  }
}

TEST(MeasureTraining, refuses_a_network_that_does_nothing) {
  GraphBuilder b("a shape");
  const TensorId x = b.input("x", {4, 6});
  b.add("reshaped", Reshape{{Dim(24)}}, {x});
  const Graph graph = std::move(b).finish();
  const BoundGraph bound = bind_graph(graph, {});
  const auto device = cpu_training_device({});
  MeasureOptions options;
  options.network_nodes = graph.nodes.size();
  options.engine.training.inference = true;
  try {
    measure_training(bound, *device, options);
    FAIL() << "there was nothing to measure";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(std::string(error.what()).find("there is nothing to measure"), std::string::npos);
  }
}

TEST(MeasureTraining, keeps_what_was_seen_of_the_device) {
  Setting setting;
  setting.device.settings.is_watched = true;
  const TrainingMeasurement measured = setting.measured();
  EXPECT_EQ(measured.conditions.clock_hz, 2e9);
  EXPECT_NE(std::find(measured.notes.begin(), measured.notes.end(), "hot"), measured.notes.end());
}

TEST(MeasureTraining, says_how_kernels_were_chosen) {
  Setting setting;
  setting.device.settings.notes = {"3 choices remembered"};
  const TrainingMeasurement measured = setting.measured();
  EXPECT_NE(std::find(measured.notes.begin(), measured.notes.end(), "3 choices remembered"),
            measured.notes.end());
}

TEST(MeasureTraining, parameters_that_are_updated_together_are_their_layers_row) {
  Setting apart, together;
  together.device.settings.updates_together = 32;
  const TrainingMeasurement one = apart.measured(), other = together.measured();
  ASSERT_EQ(one.profile.rows.size(), other.profile.rows.size());
  for (const std::string_view layer : {"hidden", "classes"}) {
    const Totals a = row_named(one.profile, layer, "update").totals;
    const Totals b = row_named(other.profile, layer, "update").totals;
    EXPECT_EQ(a.launches, 2);
    EXPECT_EQ(b.launches, 1);
    EXPECT_NEAR(b.time_s, 2 * reference::update_s, 1e-12);
    EXPECT_EQ(a.flop, b.flop);
    EXPECT_EQ(a.in_bytes, b.in_bytes);
    EXPECT_EQ(a.out_bytes, b.out_bytes);
  }
}

TEST(MeasureTraining, rows_name_what_computed_them) {
  Setting setting;
  setting.device.settings.traces = true;
  const Profile profile = setting.measured().profile;
  EXPECT_EQ(row_named(profile, "hidden", "forward").implementation, "linear loops");
  EXPECT_EQ(row_named(profile, "bent", "backward_input").implementation, "tanh loops");
}

// The tracer calls a copy "copy device to device", which no list of names foresees; kernels are
// told by the rules that ship (data/kernels).
TEST(MeasureTraining, what_only_moves_data_is_told_by_the_kind_of_work_and_the_rules_of_names) {
  EXPECT_TRUE(only_moves_data({.name = "copy device to device", .work = DeviceWork::copy}));
  EXPECT_TRUE(only_moves_data({.name = "fill", .work = DeviceWork::fill}));
  EXPECT_FALSE(only_moves_data({.name = "copy_gradients_and_scale"}));
  EXPECT_TRUE(only_moves_data({.name = "void cudnn::ops::nchwToNhwcKernel<float>"}));
  EXPECT_FALSE(only_moves_data({.name = "sm90_xmma_fprop_implicit_gemm_f32f32"}));
  EXPECT_TRUE(only_moves_data({.name = "void strata::transpose_tiles<unsigned short>(long)"}));
  EXPECT_TRUE(only_moves_data({.name = "void strata::copy_items<uint4>(uint4*)"}));
  EXPECT_TRUE(only_moves_data({.name = "void strata::look_up_items<uint4>(uint4*)"}));
  EXPECT_TRUE(only_moves_data({.name = "strata::convert_numbers(void*, DType, void const*)"}));
  EXPECT_FALSE(only_moves_data({.name = "void strata::gather_windows<float>(float*)"}));
}

TEST(MeasureTraining, counts_each_row_in_runs_of_their_own) {
  Setting setting;
  setting.device.settings.counts = true;
  setting.options.metrics = "paper";
  CounterCost told;
  const TrainingMeasurement measured =
      setting.measured({.on_counting = [&](const CounterCost& cost, double least_s) {
        told = cost;
        EXPECT_GT(least_s, 3 * (9 * reference::kernel_s + 4 * reference::update_s));
      }});
  EXPECT_EQ(told.passes, 3);
  EXPECT_EQ(told.sass_passes, 1);
  const Profile& profile = measured.profile;
  EXPECT_EQ(profile.counters.preset, "paper");
  EXPECT_EQ(profile.counters.reason, "");
  EXPECT_EQ(profile.counters.columns.size(), 3U);
  ASSERT_EQ(profile.counters.absent.size(), 1U);
  EXPECT_NEAR(counter_of(profile, row_named(profile, "hidden", "forward"), "instructions").value(),
              1e6 * reference::kernel_s, 1e-6);
  // Two parts, weight and bias: instructions add up, a share does not.
  const ProfileRow& update = row_named(profile, "hidden", "update");
  EXPECT_NEAR(counter_of(profile, update, "instructions").value(), 2e6 * reference::update_s, 1e-6);
  EXPECT_NEAR(counter_of(profile, update, "time_of_day").value(), reference::update_s, 1e-9);
  EXPECT_EQ(counter_of(profile, update, "dram_read_bytes"), std::nullopt);
  // Times are those of the runs without counters, and so are the iterations of the loss.
  EXPECT_NEAR(row_named(profile, "hidden", "forward").totals.time_s, reference::kernel_s, exactly);
  EXPECT_EQ(measured.iterations_run, 5);
  EXPECT_TRUE(profile.counted_kernels.empty());
}

TEST(MeasureTraining, leaves_out_counters_that_patch_kernels_when_asked_to) {
  Setting setting;
  setting.device.settings.counts = true;
  setting.options.metrics = "paper";
  setting.options.patches_kernels = false;
  const Profile profile = setting.measured().profile;
  EXPECT_EQ(profile.counters.columns.size(), 2U);
  ASSERT_EQ(profile.counters.absent.size(), 2U);
  EXPECT_EQ(profile.counters.absent.back().key, "fp32_flop");
}

TEST(MeasureTraining, counts_in_groups_where_a_profiler_holds_few_ranges) {
  GraphBuilder b("deep");
  TensorId x = b.input("x", {b.symbols().parameter("batch", 4), 5});
  for (int i = 0; i < 60; ++i) x = b.add("bent" + std::to_string(i), Linear{5}, {x});
  Setting setting;
  setting.options.network_nodes = 60;
  setting.graph = with_loss(std::move(b).finish(), Loss::automatic);
  setting.bound = bind_graph(setting.graph, {{"batch", 4}}, DType::fp64);
  setting.device.settings.counts = true;
  setting.options.metrics = "roofline";
  const Profile whole = setting.measured().profile;
  setting.device.settings.most_ranges = 100;
  const Profile grouped = setting.measured().profile;
  EXPECT_EQ(grouped.counters.reason, "");
  ASSERT_EQ(grouped.rows.size(), whole.rows.size());
  for (std::size_t i = 0; i < whole.rows.size(); ++i) {
    EXPECT_NEAR(counter_of(grouped, grouped.rows[i], "instructions").value(),
                counter_of(whole, whole.rows[i], "instructions").value(), 1e-6)
        << i;
  }
  setting.device.settings.most_ranges = 99;  // fewer than a group
  EXPECT_EQ(setting.measured().profile.counters.reason, "too many ranges");
}

TEST(MeasureTraining, counts_kernels_apart_or_says_why_not) {
  Setting setting;
  setting.device.settings.counts = true;
  setting.options.metrics = "roofline";
  setting.options.counts_kernels = true;
  const Profile without = setting.measured().profile;
  EXPECT_EQ(without.counters.reason, "");
  EXPECT_NE(without.counters.no_kernels_reason, "");
  setting.device.settings.counts_kernels = true;
  const Profile with = setting.measured().profile;
  EXPECT_EQ(with.counters.no_kernels_reason, "");
  EXPECT_EQ(with.counted_kernels.size(), 13U);
  EXPECT_EQ(with.rows[with.counted_kernels.back().row].pass, "update");
  EXPECT_EQ(with.counted_kernels.back().name, "update");
}

TEST(MeasureTraining, keeps_the_times_where_counters_cannot_be_read) {
  Setting setting;
  setting.options.metrics = "paper";
  const TrainingMeasurement none = setting.measured();
  EXPECT_EQ(none.profile.counters.reason, "reference device has no counters that Strata reads");
  EXPECT_TRUE(none.has_times());
  setting.device.settings.counts = true;
  setting.device.settings.refuses_counting = "counters are for root only";
  EXPECT_EQ(setting.measured().profile.counters.reason, "counters are for root only");
  setting.device.settings.refuses_counting = "";
  bool is_counting = false;
  const TrainingMeasurement stopped =
      setting.measured({.on_progress = [&](std::string_view phase, std::size_t,
                                           std::size_t) { is_counting = phase == "counting"; },
                        .is_interrupted = [&] { return is_counting; }});
  EXPECT_TRUE(stopped.is_interrupted);
  EXPECT_TRUE(stopped.has_times());
  EXPECT_EQ(stopped.profile.counters.reason, "interrupted");
}

}  // namespace
}  // namespace strata
