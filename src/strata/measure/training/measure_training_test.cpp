// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/training/measure_training.hpp"

#include "strata/graph/builder.hpp"
#include "strata/measure/training/reference_device_test.hpp"

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
  EXPECT_NEAR(row_named(profile, "hidden", "forward").spent.time_s, reference::kernel_s, exactly);
  EXPECT_EQ(row_named(profile, "hidden", "forward").spent.flop, 4 * 6 * (2 * 5 + 1));
  // Weight and bias are updated one after the other, and are one row.
  EXPECT_NEAR(row_named(profile, "hidden", "update").spent.time_s, 2 * reference::update_s,
              exactly);
  EXPECT_EQ(row_named(profile, "hidden", "update").op, "update");
  EXPECT_EQ(row_named(profile, "loss", "backward_input").op, "loss");
  ASSERT_EQ(measured.iteration_s.size(), 3U);
  for (const double time : measured.iteration_s)
    EXPECT_NEAR(time, 9 * reference::kernel_s + 4 * reference::update_s, exactly);
  for (const MeasuredRow& row : measured.rows) EXPECT_EQ(row.samples_s.size(), 3U);
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
  EXPECT_EQ(row.spent.launches, 2);
  EXPECT_NEAR(row.spent.time_s, 2 * reference::update_s, exactly);
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
  EXPECT_NEAR(row.spent.time_s, reference::kernel_s, exactly);
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
  EXPECT_EQ(none.rows.front().not_run, "interrupted");
}

TEST(MeasureTraining, lists_a_layer_that_does_not_run_with_its_reason) {
  Setting setting;
  setting.device.settings.without = {"tanh"};
  const TrainingMeasurement measured = setting.measured();
  const ProfileRow& row = row_named(measured.profile, "bent", "forward");
  EXPECT_EQ(row.spent.time_s, 0);
  EXPECT_EQ(row.spent.flop, 0);
  const auto at = static_cast<std::size_t>(&row - measured.profile.rows.data());
  EXPECT_EQ(measured.rows[at].not_run, "no loops for tanh");
}

TEST(MeasureTraining, keeps_what_was_seen_of_the_device) {
  Setting setting;
  setting.device.settings.is_watched = true;
  const TrainingMeasurement measured = setting.measured();
  EXPECT_EQ(measured.conditions.clock_hz, 2e9);
  EXPECT_NE(std::find(measured.notes.begin(), measured.notes.end(), "hot"), measured.notes.end());
}

TEST(MeasureTraining, tells_kernels_that_only_move_data) {
  EXPECT_TRUE(only_moves_data("[CUDA memset]"));
  EXPECT_TRUE(only_moves_data("void cudnn::ops::nchwToNhwcKernel<float>"));
  EXPECT_FALSE(only_moves_data("sm90_xmma_fprop_implicit_gemm_f32f32"));
}

}  // namespace
}  // namespace strata
