// SPDX-License-Identifier: Apache-2.0
// Counters and recorded times against kernels of which both are known beforehand.
#include "strata/gpu/device_trace.hpp"
#include "strata/gpu/range_counters.hpp"
#include "strata/measure/ceilings/cuda/kernels.cuh"
#include "tests/device/on_device.hpp"

#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <map>
#include <set>

namespace strata::test {
namespace {

using cuda::DeviceBuffer;
using cuda::FmaRun;

/// A crash inside a library that has no symbols for a debugger still says from where it was called.
void say_where_it_crashed(int signal) {
  std::array<void*, 64> frames{};
  const int depth = backtrace(frames.data(), static_cast<int>(frames.size()));
  backtrace_symbols_fd(frames.data(), depth, STDERR_FILENO);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

constexpr std::uint32_t seed = 5;

/// Values of one range by column.
using Values = std::map<std::string, std::optional<double>>;

class Counters : public OnDevice {
 protected:
  void SetUp() override {
    std::signal(SIGSEGV, say_where_it_crashed);
    OnDevice::SetUp();
    if (IsSkipped()) return;
    try {
      counters_ = open_range_counters(device_.index);
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  void add_fma(const FmaRun& run) {
    runs_.push_back(run);
    const auto bytes = static_cast<std::size_t>(fma_elements(run) * bytes_per_element(run.dtype));
    buffers_.emplace_back(bytes);
    cuda::fill_small_integers(buffers_.back().get(), fma_elements(run), run.dtype, seed, stream());
    bench().synchronize();
  }
  void run_fma(std::size_t index) {
    cuda::run_fma(runs_[index], buffers_[index].get(), buffers_[index].get(), stream());
  }

  std::vector<Values> count(std::string_view preset, const CountedWork& work) {
    const CounterPlan plan = counters_->plan(preset);
    for (const AbsentColumn& column : plan.absent)
      ADD_FAILURE() << column.key << ": " << column.reason;
    const CounterTable table = counters_->count(plan, work);
    std::vector<Values> all;
    for (const RangeCounts& range : table.ranges) {
      Values values;
      EXPECT_EQ(range.values.size(), table.columns.size());
      for (std::size_t i = 0; i < range.values.size(); ++i)
        values[table.columns[i].key] = range.values[i];
      all.push_back(std::move(values));
      names_.push_back(range.range);
    }
    return all;
  }

  std::vector<FmaRun> runs_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<std::string> names_;
  std::unique_ptr<RangeCounters> counters_;
};

double value(const Values& values, const char* key) {
  const auto found = values.find(key);
  return found == values.end() ? std::nan("") : found->second.value_or(std::nan(""));
}

// Three ranges, two of the same name: each has the FLOP of its own kernels, to the last one.
TEST_F(Counters, flop_of_multiply_adds_are_exact_in_each_range) {
  for (const int rounds : {16, 48, 32}) add_fma({.blocks = device_.sm_count * 2, .rounds = rounds});
  const auto work = [&](RangeMarks& marks) {
    const char* const names[] = {"a", "b", "a"};
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      marks.push(names[i]);
      run_fma(i);
      if (i == 1) run_fma(i);
      bench().synchronize();
      marks.pop();
    }
  };
  const std::vector<Values> ranges = count("full", work);
  ASSERT_EQ(names_, (std::vector<std::string>{"a", "b", "a"}));
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const double flop = fma_flop(runs_[i]) * (i == 1 ? 2 : 1);
    EXPECT_DOUBLE_EQ(value(ranges[i], "fp32_flop"), flop) << i;
    EXPECT_EQ(value(ranges[i], "fp64_flop"), 0) << i;
    EXPECT_EQ(value(ranges[i], "tensor_bf16_flop"), 0) << i;
    // The pipe also does the few integer products of addresses.
    EXPECT_GE(value(ranges[i], "fma_pipe_flop"), flop) << i;
    EXPECT_LE(value(ranges[i], "fma_pipe_flop"), flop * 1.05) << i;
  }
}

TEST_F(Counters, a_copy_moves_its_bytes_once) {
  constexpr std::int64_t bytes = std::int64_t{1} << 30;  // many times the L2
  const DeviceBuffer from(bytes), to(bytes);
  cuda::fill_pattern(from.get(), bytes, seed, stream());
  bench().synchronize();
  const auto work = [&](RangeMarks& marks) {
    marks.push("copy");
    cuda::stream_once(AccessMix::copy, {.out = to.get(), .a = from.get()}, bytes, seed, stream());
    bench().synchronize();
    marks.pop();
  };
  const std::vector<Values> ranges = count("paper", work);
  ASSERT_EQ(ranges.size(), 1U);
  const Values& copy = ranges[0];
  EXPECT_NEAR(value(copy, "dram_read_bytes") / bytes, 1, 0.02);
  EXPECT_NEAR(value(copy, "dram_write_bytes") / bytes, 1, 0.06);  // the last ones stay in the L2
  EXPECT_NEAR(value(copy, "l2_read_bytes") / bytes, 1, 0.001);
  EXPECT_NEAR(value(copy, "l2_write_bytes") / bytes, 1, 0.001);
  EXPECT_EQ(value(copy, "global_load_bytes"), static_cast<double>(bytes));
  EXPECT_EQ(value(copy, "global_store_bytes"), static_cast<double>(bytes));
  EXPECT_NEAR(value(copy, "gld_efficiency"), 1, 0.001);
  EXPECT_NEAR(value(copy, "gst_efficiency"), 1, 0.001);
  EXPECT_GT(value(copy, "load_store_share"), 0.01);
  EXPECT_LT(value(copy, "load_store_share"), 0.9);
  EXPECT_GT(value(copy, "stall_data_access"), 0.5);
  double stalls = 0;
  for (const auto& [key, share] : copy) {
    if (key.starts_with("stall_") && key != "stall_data_access") stalls += share.value_or(0);
  }
  EXPECT_NEAR(stalls, 1, 1e-6);
  EXPECT_GT(value(copy, "occupancy"), 0.5);  // a grid of many waves keeps the SMs full
}

// 16-byte reads side by side, without bank conflicts: every access moves all that it can.
TEST_F(Counters, shared_memory_that_is_read_without_conflicts_is_used_whole) {
  const int blocks = device_.sm_count;
  constexpr std::int64_t passes = 50;
  const DeviceBuffer checksums(static_cast<std::size_t>(blocks) * cuda::shared_threads_per_block *
                               sizeof(std::uint32_t));
  const auto work = [&](RangeMarks& marks) {
    marks.push("read");
    cuda::read_shared(checksums.get<std::uint32_t>(), blocks, passes, seed, stream());
    bench().synchronize();
    marks.pop();
  };
  const std::vector<Values> ranges = count("efficiency", work);
  ASSERT_EQ(ranges.size(), 1U);
  // The tile is written once before it is read.
  EXPECT_EQ(value(ranges[0], "shared_bytes"),
            static_cast<double>(blocks * (passes + 1) * cuda::shared_tile_bytes));
  EXPECT_NEAR(value(ranges[0], "shared_efficiency"), 1, 0.02);
}

TEST_F(Counters, what_was_not_accessed_has_no_efficiency) {
  add_fma({.blocks = device_.sm_count, .rounds = 8});
  const std::vector<Values> ranges = count("efficiency", [&](RangeMarks& marks) {
    marks.push("fma");
    run_fma(0);
    bench().synchronize();
    marks.pop();
  });
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].at("shared_efficiency"), std::nullopt);
  EXPECT_EQ(value(ranges[0], "shared_bytes"), 0);
  EXPECT_TRUE(ranges[0].at("gst_efficiency").has_value());
}

// So many blocks per SM that all are resident: at first blocks × 256 of 2048 threads. The scheduler
// takes the oldest warp, and one block keeps the multipliers busy, so blocks may end one after the
// other: on the mean (n + 1) / 2 of n are resident at least.
TEST_F(Counters, occupancy_is_what_the_grid_makes_it) {
  for (const int blocks_per_sm : {1, 2, 4})
    add_fma({.blocks = device_.sm_count * blocks_per_sm, .rounds = 2000});
  const auto work = [&](RangeMarks& marks) {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      marks.push("fma");
      run_fma(i);
      bench().synchronize();
      marks.pop();
    }
  };
  const std::vector<Values> ranges = count("efficiency", work);
  ASSERT_EQ(ranges.size(), 3U);
  const double blocks[] = {1, 2, 4};
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const double resident = value(ranges[i], "occupancy") * 2048 / 256;
    EXPECT_LE(resident, blocks[i] * 1.01) << i;
    EXPECT_GE(resident, (blocks[i] + 1) / 2 * 0.97) << i;
    EXPECT_NEAR(value(ranges[i], "warp_execution_efficiency"), 1, 0.001) << i;
    EXPECT_LE(value(ranges[i], "ipc"), 4) << i;
  }
  EXPECT_GT(value(ranges[2], "ipc"), 3);
}

// One session after the other on the same profiler, of each kind in each order.
TEST_F(Counters, sessions_follow_each_other) {
  add_fma({.blocks = device_.sm_count, .rounds = 8});
  const auto work = [&](RangeMarks& marks) {
    for (const char* name : {"a", "b"}) {
      marks.push(name);
      run_fma(0);
      bench().synchronize();
      marks.pop();
    }
  };
  const CounterPlan all = counters_->plan("full");
  std::vector<const PlannedSession*> order;
  for (const PlannedSession& session : all.sessions) order.push_back(&session);
  for (auto each = all.sessions.rbegin(); each != all.sessions.rend(); ++each)
    order.push_back(&*each);
  for (const PlannedSession* session : order) {
    CounterPlan one{.preset = session->name};
    one.sessions.push_back(*session);
    const CounterTable table = counters_->count(one, work);
    ASSERT_EQ(table.ranges.size(), 2U);
    for (const RangeCounts& range : table.ranges)
      EXPECT_EQ(range.values.size(), session->columns.size()) << session->name;
  }
}

// A range with three kernels becomes three, each with the FLOP of its own.
TEST_F(Counters, kernels_of_a_range_are_counted_apart) {
  for (const int rounds : {16, 48, 32}) add_fma({.blocks = device_.sm_count * 2, .rounds = rounds});
  const auto work = [&](RangeMarks& marks) {
    marks.push("three");
    for (std::size_t i = 0; i < runs_.size(); ++i) run_fma(i);
    bench().synchronize();
    marks.pop();
    marks.push("one");
    run_fma(0);
    bench().synchronize();
    marks.pop();
  };
  for (const char* preset : {"roofline", "full"}) {
    const CounterTable table = counters_->count_kernels(counters_->plan(preset), work);
    ASSERT_EQ(table.ranges.size(), 4U) << preset;
    const std::string key = std::string(preset) == "full" ? "fp32_flop" : "fma_pipe_flop";
    for (std::size_t i = 0; i < table.ranges.size(); ++i) {
      EXPECT_EQ(table.ranges[i].range, i < 3 ? "three" : "one");
      EXPECT_NE(table.ranges[i].kernel.find("fma"), std::string::npos) << table.ranges[i].kernel;
      const double flop = fma_flop(runs_[i % 3]);
      for (std::size_t k = 0; k < table.columns.size(); ++k) {
        if (table.columns[k].key != key) continue;
        EXPECT_GE(table.ranges[i].values[k].value_or(0), flop) << preset << " " << i;
        EXPECT_LE(table.ranges[i].values[k].value_or(0), flop * 1.05) << preset << " " << i;
      }
    }
  }
}

TEST_F(Counters, passes_are_told_before_and_an_error_in_the_work_leaves_no_session_behind) {
  const CounterCost cost = counters_->cost(counters_->plan("roofline"));
  EXPECT_EQ(cost.passes, 1);
  EXPECT_EQ(cost.sass_passes, 0);
  add_fma({.blocks = device_.sm_count, .rounds = 8});
  int runs = 0;
  const auto breaks_off = [&](RangeMarks& marks) {
    marks.push("x");
    if (++runs == 2) fail(ErrorKind::input, "enough");
    run_fma(0);
    bench().synchronize();
    marks.pop();
  };
  EXPECT_THROW(counters_->count(counters_->plan("roofline"), breaks_off), Error);
  runs = 2;
  const std::vector<Values> after = count("roofline", breaks_off);
  ASSERT_EQ(after.size(), 1U);
  EXPECT_GT(value(after[0], "fma_pipe_flop"), 0);
}

// The lab times strategies while the profiler is open, between two counts.
TEST_F(Counters, an_open_profiler_does_not_change_times) {
  add_fma({.blocks = device_.sm_count * 4, .rounds = 4000});
  const auto kernel_s = [&] {
    double best = 1e9;
    for (int i = 0; i < 20; ++i) {
      const cuda::Event begin, end;
      begin.record(stream());
      run_fma(0);
      end.record(stream());
      best = std::min(best, end.seconds_since(begin));
    }
    return best;
  };
  kernel_s();
  const auto work = [&](RangeMarks& marks) {
    marks.push("fma");
    run_fma(0);
    bench().synchronize();
    marks.pop();
  };
  count("efficiency", work);
  const double open_s = kernel_s();
  counters_.reset();
  const double closed_s = kernel_s();
  RecordProperty("open_us", std::to_string(1e6 * open_s));
  RecordProperty("closed_us", std::to_string(1e6 * closed_s));
  EXPECT_NEAR(open_s / closed_s, 1, 0.02) << open_s << " " << closed_s;
}

TEST_F(Counters, recording_and_counting_exclude_each_other) {
  EXPECT_THROW(begin_device_trace(), Error);
  counters_.reset();
  const auto trace = begin_device_trace();
  EXPECT_THROW(open_range_counters(device_.index), Error);
}

class Trace : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped()) return;
    try {
      begin_device_trace();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_F(Trace, kernels_belong_to_their_parts_and_last_as_long_as_events_say) {
  const FmaRun run{.blocks = device_.sm_count * 4, .rounds = 20'000};
  const DeviceBuffer numbers(static_cast<std::size_t>(fma_elements(run)) * sizeof(float));
  cuda::fill_small_integers(numbers.get(), fma_elements(run), DType::fp32, seed, stream());
  const auto launch = [&] { cuda::run_fma(run, numbers.get(), numbers.get(), stream()); };
  launch();
  bench().synchronize();
  const cuda::Event begin, end;
  const auto trace = begin_device_trace();
  launch();  // before the first part
  trace->begin_part(3);
  begin.record(stream());
  launch();
  launch();
  end.record(stream());
  trace->begin_part(1);
  STRATA_CUDA_CALL(cudaMemsetAsync(numbers.get(), 0, 1024, stream()));
  launch();
  bench().synchronize();
  const DeviceActivity activity = trace->end();
  EXPECT_EQ(activity.dropped, 0);
  EXPECT_EQ(activity.untimed, 0);
  std::map<std::optional<std::size_t>, int> kernels;
  double in_part_3_s = 0;
  std::int64_t filled_bytes = 0;
  for (const DeviceRecord& record : activity.records) {
    if (record.work == DeviceWork::fill) {
      EXPECT_EQ(record.part, 1U);
      filled_bytes += record.bytes;
      continue;
    }
    ASSERT_EQ(record.work, DeviceWork::kernel);
    EXPECT_NE(record.name.find("fma"), std::string::npos) << record.name;
    ++kernels[record.part];
    if (record.part == std::size_t{3}) in_part_3_s += record.seconds;
    EXPECT_GE(record.begin_s, 0);
  }
  EXPECT_EQ(filled_bytes, 1024);
  EXPECT_EQ(kernels,
            (std::map<std::optional<std::size_t>, int>{{std::nullopt, 1}, {1, 1}, {3, 2}}));
  const double by_events_s = end.seconds_since(begin);
  EXPECT_LE(in_part_3_s, by_events_s * 1.001);
  EXPECT_GE(in_part_3_s, by_events_s - 40e-6) << by_events_s;
}

TEST_F(Trace, kernels_of_a_graph_carry_one_call_and_its_part) {
  const FmaRun run{.blocks = device_.sm_count, .rounds = 100};
  const DeviceBuffer numbers(static_cast<std::size_t>(fma_elements(run)) * sizeof(float));
  cuda::fill_small_integers(numbers.get(), fma_elements(run), DType::fp32, seed, stream());
  bench().synchronize();
  const cuda::GraphExec graph(stream(), [&] {
    for (int i = 0; i < 5; ++i) cuda::run_fma(run, numbers.get(), numbers.get(), stream());
  });
  const auto trace = begin_device_trace();
  trace->begin_part(0);
  graph.launch(stream());
  trace->begin_part(1);
  graph.launch(stream());
  bench().synchronize();
  std::map<std::size_t, std::set<std::uint32_t>> calls;
  std::map<std::size_t, int> kernels;
  for (const DeviceRecord& record : trace->end().records) {
    ASSERT_TRUE(record.part.has_value());
    calls[*record.part].insert(record.correlation);
    ++kernels[*record.part];
  }
  EXPECT_EQ(kernels, (std::map<std::size_t, int>{{0, 5}, {1, 5}}));
  EXPECT_EQ(calls[0].size(), 1U);
  EXPECT_EQ(calls[1].size(), 1U);
}

TEST_F(Trace, records_beyond_the_limit_are_counted_not_kept) {
  const auto trace = begin_device_trace({.most_records = 10});
  for (int i = 0; i < 25; ++i) cuda::launch_empty(1, 32, 0, stream());
  bench().synchronize();
  const DeviceActivity activity = trace->end();
  EXPECT_EQ(activity.records.size(), 10U);
  EXPECT_EQ(activity.dropped, 15);
}

}  // namespace
}  // namespace strata::test
