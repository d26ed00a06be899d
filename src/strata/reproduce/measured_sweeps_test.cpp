// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/measured_sweeps.hpp"

#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <regex>
#include <utility>

namespace strata {
namespace {

constexpr double traced_s = 1e-6;  // what each kernel takes, according to the tracing below

/// Counts 1 in every range, in a session that the sweeps want and in one that they do not.
class UnitCounters final : public RangeCounters {
 public:
  const std::string& chip() const override { return chip_; }
  CounterPlan plan(std::string_view preset) const override {
    CounterPlan plan{.preset = std::string(preset)};
    for (const char* name : {"traffic", "stalls"}) {
      PlannedSession session{.name = name, .passes = 1};
      session.columns.push_back({std::string(name) + "_bytes", "bytes", "", {}, {}});
      plan.sessions.push_back(std::move(session));
    }
    return plan;
  }
  CounterCost cost(const CounterPlan& plan) const override {
    return {static_cast<int>(plan.sessions.size()), static_cast<int>(plan.sessions.size()), 0};
  }
  CounterTable count(const CounterPlan& plan, const CountedWork& work) override {
    Names names;
    work(names);
    CounterTable table{.chip = chip_, .preset = plan.preset};
    for (const PlannedSession& session : plan.sessions)
      table.columns.push_back({session.columns.front().key, "bytes", ""});
    for (const std::string& name : names.all)
      table.ranges.push_back({name, CounterValues(table.columns.size(), 1.0)});
    return table;
  }

 private:
  struct Names final : RangeMarks {
    std::vector<std::string> all;
    void push(std::string_view name) override { all.emplace_back(name); }
    void pop() override {}
  };
  std::string chip_ = "abacus";
};

/// The CPU, with tracing: two kernels for every part, one of which only moves data.
class TracedCpu final : public TrainingDevice {
 public:
  explicit TracedCpu(DType dtype) : cpu_(cpu_training_device({.dtype = dtype})) {}
  std::string name() const override { return "traced CPU"; }
  std::vector<std::string> versions() const override { return {"test 1"}; }
  std::int64_t free_bytes() const override { return cpu_->free_bytes(); }
  std::shared_ptr<void> allocate(std::int64_t bytes) override { return cpu_->allocate(bytes); }
  void upload(void* to, const void* from, std::int64_t bytes) override {
    cpu_->upload(to, from, bytes);
  }
  void download(void* to, const void* from, std::int64_t bytes) override {
    cpu_->download(to, from, bytes);
  }
  void wait() override { cpu_->wait(); }
  KernelsOrReason kernels(const BoundGraph& bound, NodeId node, bool training) override {
    return cpu_->kernels(bound, node, training);
  }
  void fill_zero(void* to, std::int64_t bytes) override { cpu_->fill_zero(to, bytes); }
  void add(void* sum, const void* a, const void* b, std::int64_t n, DType dtype) override {
    cpu_->add(sum, a, b, n, dtype);
  }
  void update(const UpdateRule& rule, const UpdateMemory& memory) override {
    cpu_->update(rule, memory);
  }
  std::unique_ptr<Stopwatch> stopwatch(std::size_t marks) override {
    return cpu_->stopwatch(marks);
  }
  std::vector<KernelRun> trace(
      const std::function<void(const std::function<void(std::size_t)>&)>& work) override {
    std::vector<KernelRun> runs;
    work([&](std::size_t part) {
      runs.push_back({"lstm_cell", part, 0, traced_s});
      runs.push_back({"copy device to device", part, 0, traced_s, DeviceWork::copy});
    });
    return runs;
  }
  std::unique_ptr<RangeCounters> counters() override { return std::make_unique<UnitCounters>(); }

 private:
  std::unique_ptr<TrainingDevice> cpu_;
};

SweepProtocol small_protocol() {
  return {.warm_up = 1,
          .iterations = 3,
          .sweeps = {{"lstm", "batch", {4, 16}}, {"lstm", "sequence", {16}}},
          .no_counters = "nobody counts here"};
}

const MeasuredPoint& point_of(const MeasuredSweeps& sweeps, std::string_view parameter,
                              std::int64_t value, DType dtype, std::string_view pass) {
  const auto found = std::find_if(sweeps.points.begin(), sweeps.points.end(), [&](const auto& p) {
    return p.parameter == parameter && p.value == value && p.dtype == dtype && p.pass == pass;
  });
  EXPECT_NE(found, sweeps.points.end());
  return *found;
}

TEST(MeasuredSweeps, have_every_point_with_samples_or_a_reason) {
  std::size_t told = 0;
  const MeasuredSweeps sweeps = measure_sweeps(
      small_protocol(), {.open = [](DType dtype) { return cpu_training_device({.dtype = dtype}); },
                         .on_point = [&](const MeasuredSweeps&, double) { ++told; }});
  EXPECT_EQ(told, 6U);
  ASSERT_EQ(sweeps.points.size(), 12U);
  for (const MeasuredPoint& point : sweeps.points) {
    if (point.dtype == DType::fp16) {
      EXPECT_NE(point.not_run.find("fp16"), std::string::npos) << point.not_run;
      continue;
    }
    EXPECT_TRUE(point.not_run.empty()) << point.not_run;
    EXPECT_EQ(point.wall_samples_s.size(), 3U);
    EXPECT_TRUE(point.kernel_samples_s.empty());  // a CPU traces none
    EXPECT_EQ(point.no_counters, "nobody counts here");
  }
  // A shape that two sweeps have in common is measured once.
  EXPECT_EQ(point_of(sweeps, "batch", 16, DType::fp32, "forward").wall_samples_s,
            point_of(sweeps, "sequence", 16, DType::fp32, "forward").wall_samples_s);
  EXPECT_NE(point_of(sweeps, "batch", 4, DType::fp32, "forward").wall_samples_s,
            point_of(sweeps, "batch", 16, DType::fp32, "forward").wall_samples_s);
  // Four gates of (32 + 16) × 16 multiply-adds for each of 16 steps and samples, and little else.
  const MeasuredPoint& forward = point_of(sweeps, "batch", 16, DType::fp32, "forward");
  const std::int64_t products = 16 * 16 * 2 * 4 * 16 * (32 + 16);
  EXPECT_GE(forward.flop, products);
  EXPECT_LE(forward.flop, products + products / 10);
  EXPECT_GT(point_of(sweeps, "batch", 16, DType::fp32, "backward").flop, forward.flop);
}

TEST(MeasuredSweeps, take_kernels_and_launches_from_the_trace) {
  const MeasuredSweeps sweeps = measure_sweeps(
      small_protocol(), {.open = [](DType dtype) { return std::make_unique<TracedCpu>(dtype); }});
  const MeasuredPoint& point = point_of(sweeps, "batch", 4, DType::fp32, "forward");
  EXPECT_EQ(point.kernel_samples_s, std::vector<double>(3, 2 * traced_s));
  EXPECT_EQ(point.launches, 2);
  EXPECT_EQ(point.zero_flop_launches, 1);
  EXPECT_DOUBLE_EQ(point.zero_flop_s, traced_s);
}

TEST(MeasuredSweeps, keep_what_was_done_when_they_are_interrupted) {
  int asked = 0;
  const MeasuredSweeps sweeps =
      measure_sweeps({.warm_up = 1, .iterations = 1, .sweeps = small_protocol().sweeps},
                     {.open = [](DType) { return cpu_training_device({.dtype = DType::fp32}); },
                      .is_interrupted = [&] { return ++asked > 2; }});
  EXPECT_EQ(sweeps.points.size(), 4U);
}

TEST(MeasuredSweeps, count_each_pass_in_the_sessions_that_they_need) {
  SweepProtocol protocol = small_protocol();
  protocol.counts = true;
  protocol.no_counters.clear();
  const MeasuredSweeps sweeps = measure_sweeps(
      protocol, {.open = [](DType dtype) { return std::make_unique<TracedCpu>(dtype); }});
  for (const MeasuredPoint& point : sweeps.points) {
    if (point.dtype != DType::fp32) continue;
    ASSERT_EQ(point.counters.size(), 1U) << point.no_counters;
    EXPECT_EQ(point.counters.front().key, "traffic_bytes");
    EXPECT_EQ(2 * point.counters.front().value, static_cast<double>(point.launches));
    EXPECT_EQ(point.no_counters, "");
  }
}

TEST(MeasuredSweeps, have_times_where_counters_cannot_be_read) {
  SweepProtocol protocol = small_protocol();
  protocol.counts = true;
  const MeasuredSweeps sweeps = measure_sweeps(
      protocol, {.open = [](DType dtype) { return cpu_training_device({.dtype = dtype}); }});
  const MeasuredPoint& point = point_of(sweeps, "batch", 4, DType::fp32, "forward");
  EXPECT_EQ(point.wall_samples_s.size(), 3U);
  EXPECT_NE(point.no_counters, "");
}

TEST(MeasuredSweeps, fail_when_no_device_opens) {
  try {
    measure_sweeps(small_protocol(), {.open = [](DType) -> std::unique_ptr<TrainingDevice> {
                     fail(ErrorKind::environment, "no GPU here");
                   }});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_STREQ(error.what(), "no GPU here");
  }
}

/// Every point as predicted, taking `slower` times as long, with counters.
MeasuredSweeps synthetic_sweeps(double slower) {
  MeasuredSweeps sweeps{.device = "Test 9000", .warm_up = 5, .iterations = 2};
  const Machine machine = load_machine("v100-nersc");
  for (const KernelSweep& sweep : kernel_sweeps()) {
    for (const KernelPoint& point : predict_sweep(sweep, machine).points) {
      const double time_s = slower * point.work.time_s;
      MeasuredPoint measured{.kernel = std::string(sweep.kernel),
                             .parameter = std::string(sweep.parameter),
                             .value = point.value,
                             .dtype = point.dtype,
                             .pass = std::string(point.pass)};
      measured.kernel_samples_s = {0.9 * time_s, 1.1 * time_s};
      measured.wall_samples_s = {2 * time_s};
      measured.launches = point.work.launches;
      measured.flop = point.work.flop;
      measured.bytes = point.work.bytes;
      measured.counters = {{"dram_read_bytes", 100},
                           {"dram_write_bytes", 25},
                           {"fp32_flop", 4},
                           {"tensor_fp16_flop", 0.5 * static_cast<double>(point.work.flop)}};
      sweeps.points.push_back(std::move(measured));
    }
  }
  return sweeps;
}

TEST(MeasuredSweeps, are_the_same_after_a_file) {
  const MeasuredSweeps sweeps = synthetic_sweeps(3);
  const std::string text = to_json(sweeps, "strata reproduce roofline --run");
  const MeasuredSweeps back = read_measured_sweeps(text);
  EXPECT_EQ(to_json(back, "strata reproduce roofline --run"), text);
  ASSERT_EQ(back.points.size(), sweeps.points.size());
  EXPECT_EQ(back.points[7].kernel_samples_s, sweeps.points[7].kernel_samples_s);
}

std::string refusal_of_sweeps(const std::string& text) {
  try {
    read_measured_sweeps(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

TEST(MeasuredSweeps, refuse_a_file_by_naming_what_is_wrong) {
  MeasuredSweeps one = synthetic_sweeps(1);
  one.points.resize(1);
  const std::string good = to_json(one, "");
  ASSERT_EQ(refusal_of_sweeps(good), "accepted");
  const std::pair<std::string, std::string> changes[] = {
      {"\"roofline_sweeps\"", "\"prediction\""},
      {"\"schema_version\": 1", "\"schema_version\": 2"},
      {"\"conv2d\"", "\"conv3d\""},
      {"\"fp16\"", "\"fp15\""},
      {"\"forward\"", "\"sideways\""},
      {"\"launches\":1", "\"launches\":-1"},
      {"\"flop\":", "\"flops\":"},
      {"\"wall_samples_s\":[", "\"wall_samples_s\":[-1,"},
      {"\"dram_read_bytes\":100.0", "\"dram_read_bytes\":\"many\""},
  };
  for (const auto& [from, to] : changes) {
    std::string text = good;
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    const std::string refusal = refusal_of_sweeps(text);
    EXPECT_NE(refusal, "accepted") << from;
    EXPECT_NE(refusal.find("sweeps"), std::string::npos) << refusal;
  }
  EXPECT_EQ(refusal_of_sweeps("{"), "measured sweeps: no JSON");
}

// Counted bytes that stay while the FLOP grow: the caches hold what the LSTM works on.
TEST(MeasuredSweeps, a_claim_that_caches_break_says_so) {
  const RooflineStudy predicted = predict_roofline_study();
  const auto note_of = [&](const MeasuredSweeps& sweeps) {
    const RooflineStudy measured = study_of(sweeps, load_machine("v100"));
    for (const Finding& finding : roofline_findings(predicted, &measured)) {
      if (finding.what != "at constant FLOP per byte") continue;
      return fmt::format("{} {}", finding.measured->holds.value_or(false), finding.note);
    }
    return std::string();
  };
  MeasuredSweeps sweeps = synthetic_sweeps(2);
  const std::string cached = note_of(sweeps);
  EXPECT_TRUE(cached.starts_with("false")) << cached;
  EXPECT_NE(cached.find("125 B crossed to memory: caches hold the rest"), cached.npos) << cached;
  for (MeasuredPoint& point : sweeps.points) point.counters.clear();
  EXPECT_EQ(note_of(sweeps).find("caches"), std::string::npos);
}

TEST(MeasuredSweeps, stand_beside_the_prediction_in_findings_and_figures) {
  const RooflineStudy predicted = predict_roofline_study();
  MeasuredSweeps sweeps = synthetic_sweeps(2);
  // Without the longest sequence there is nothing to say about sequences.
  std::erase_if(sweeps.points, [](const MeasuredPoint& point) {
    return point.parameter == "sequence" && point.value == 128;
  });
  const RooflineStudy measured = study_of(sweeps, load_machine("v100"));
  const auto* const first = measured.sweep("conv2d", "batch").track(DType::fp16, "forward").front();
  const auto* const same = predicted.sweep("conv2d", "batch").track(DType::fp16, "forward").front();
  EXPECT_DOUBLE_EQ(first->work.time_s, 2 * same->work.time_s);
  EXPECT_EQ(first->counted_bytes(), 125);
  EXPECT_EQ(first->counted_flop(), 4 + 0.5 * static_cast<double>(same->work.flop));
  EXPECT_EQ(first->drawn_work().bytes, 125);
  EXPECT_EQ(first->drawn_work().flop, 4 + same->work.flop / 2);
  std::size_t missing = 0;
  for (const Finding& finding : roofline_findings(predicted, &measured)) {
    ASSERT_TRUE(finding.measured) << finding.what;
    missing += finding.measured->found == "not measured";
    if (finding.observation == "machine") {
      EXPECT_FALSE(finding.measured->holds) << finding.what;
    }
    if (finding.what.find("tensor units unused") == 0) {
      EXPECT_EQ(finding.measured->found, "matrix units did 50 % of the FLOP");
    }
    if (finding.what.find("stride 1") == 0) {
      EXPECT_EQ(finding.measured->found, "0.25× FLOP, 1.00× bytes counted");
    }
  }
  EXPECT_EQ(missing, 3U);
  for (const Figure& figure : roofline_figures(predicted, &measured)) {
    const bool is_bars = figure.name.find("figure-1") != std::string::npos;
    EXPECT_EQ(figure.grid.panels.size(), is_bars ? 1U : 4U) << figure.name;
    EXPECT_NE(figure.csv.find("measured,v100"), std::string::npos) << figure.name;
    EXPECT_NE(chart::to_svg(figure.grid).find("Test 9000"), std::string::npos) << figure.name;
  }
}

}  // namespace
}  // namespace strata
