// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/trace_tables.hpp"

#include "strata/capture/made_up_trace_test.hpp"
#include "strata/capture/read_recording.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/capture/steps.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace strata {
namespace {

struct Expected {
  const char* file;
  std::int64_t kernels, kernel_ns, busy_ns, two_ns, span_ns;
  std::int64_t copies, copy_bytes, copy_ns;
  std::int64_t calls, call_ns;
  double most_other;  ///< share of kernel time that no rule knows
};

// Added up by a script of thirty lines in Python (json, decimal) that shares nothing with Strata:
// times as decimals × 1000, busy and two-at-once by a sweep over the sorted ends.
// MI250: the copies have no bytes; their calls do, 2 × 2560, which the script does not look at.
constexpr Expected shared_traces[] = {
    {"alexnet_forward_a100", 79, 10692000, 10630000, 62000, 12840244000, 16, 244403360, 55503000,
     361, 42297605000, 0.001},
    {"cuda_event_sync", 4, 49000, 49000, 0, 263000, 1, 1, 2000, 12, 157000, 0.74},  // a spin kernel
    {"train_a100_control", 8568, 446813000, 369257000, 77556000, 463441000, 228, 2245323516,
     53498000, 24692, 144417000, 0.001},
    {"train_a100_nccl", 2700, 162532340, 155215315, 7317025, 660551005, 960, 307323096, 2262781,
     8740, 44633816, 0.001},
    {"train_mi250_minitoy", 14, 110881, 110881, 0, 8594445, 2, 5120, 38161, 21, 6804576, 0.001},
    {"train_sampled_rank0", 1154, 606519000, 547303000, 59216000, 1222818000, 40, 214067131,
     1297000, 1204, 11050000, 0.001}};

TEST(TraceTables, shared_traces_add_up_as_an_independent_script_says) {
  const char* models = std::getenv("STRATA_MODELS");
  const std::filesystem::path folder =
      std::filesystem::path(models == nullptr ? "" : models) / "traces";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "STRATA_MODELS has no traces";
  for (const Expected& expected : shared_traces) {
    SCOPED_TRACE(expected.file);
    const auto recordings = read_recordings(folder / (std::string(expected.file) + ".json.gz"));
    ASSERT_EQ(recordings.size(), 1U);
    const TraceTables tables = make_trace_tables(recordings[0]);
    EXPECT_EQ(tables.kernels.calls, expected.kernels);
    EXPECT_EQ(tables.kernels.total_ns, expected.kernel_ns);
    ASSERT_EQ(tables.devices.size(), 1U);
    const DeviceRow& device = tables.devices[0];
    EXPECT_EQ(device.kernel_busy_ns, expected.busy_ns);
    EXPECT_EQ(device.concurrent_ns, expected.two_ns);
    EXPECT_EQ(device.span_ns, expected.span_ns);
    std::int64_t idle = 0;
    for (const std::int64_t ns : device.idle_ns) idle += ns;
    EXPECT_EQ(idle, device.all_idle_ns());
    std::int64_t copies = 0;
    std::int64_t copy_bytes = 0;
    std::int64_t copy_ns = 0;
    for (const CopyRow& row : tables.by_copy) {
      copies += row.time.calls;
      copy_bytes += row.bytes;
      copy_ns += row.time.total_ns;
    }
    EXPECT_EQ(copies, expected.copies);
    EXPECT_EQ(copy_bytes, expected.copy_bytes);
    EXPECT_EQ(copy_ns, expected.copy_ns);
    std::int64_t calls = 0;
    std::int64_t call_ns = 0;
    for (const ApiRow& row : tables.by_api) {
      calls += row.time.calls;
      call_ns += row.time.total_ns;
    }
    EXPECT_EQ(calls, expected.calls);
    EXPECT_EQ(call_ns, expected.call_ns);
    std::int64_t other = 0;
    std::int64_t layers = 0;
    for (const ClassRow& row : tables.by_class)
      other += row.name == "other" ? row.time.total_ns : 0;
    for (const LayerRow& row : tables.by_layer) layers += row.time.total_ns;
    EXPECT_LE(static_cast<double>(other),
              expected.most_other * static_cast<double>(expected.kernel_ns));
    EXPECT_EQ(layers, expected.kernel_ns);
    EXPECT_FALSE(profile_of(recordings[0]).rows.empty());
  }
}

// One kernel to 100; then a gap of each cause, in thousands of nanoseconds.
TEST(TraceTables, each_gap_is_given_to_its_cause) {
  MadeUpTrace made;
  made.kernel({0, 100'000}, {0, 10});
  made.kernel({150'000, 200'000}, {130'000, 155'000});  // 30 until the launch: host; then 20
  made.call({200'000, 240'000}, "cudaDeviceSynchronize");
  made.kernel({260'000, 300'000}, {250'000, 255'000});  // 40 sync, 10 host, 10 launch
  made.range({300'000, 350'000}, "enumerate(DataLoader)#x", RangeKind::user);
  made.kernel({360'000, 400'000}, {355'000, 356'000});  // 50 input, 5 host, 5 launch
  made.recording.copies.push_back({.time = {400'000, 430'000}, .bytes = 9, .device = 0});
  made.kernel({440'000, 500'000}, {390'000, 391'000});  // 30 copy; queued before: 10 launch
  made.kernel({600'000, 610'000}, {480'000, 481'000});  // queued: 10 launch, 90 queued
  const TraceTables tables = made.tables();
  ASSERT_EQ(tables.devices.size(), 1U);
  const DeviceRow& row = tables.devices[0];
  const auto idle = [&](IdleCause cause) { return row.idle_ns[static_cast<std::size_t>(cause)]; };
  EXPECT_EQ(row.gaps, 5);
  EXPECT_EQ(row.longest_gap_ns, 100'000);
  EXPECT_EQ(idle(IdleCause::host), 45'000);
  EXPECT_EQ(idle(IdleCause::sync), 40'000);
  EXPECT_EQ(idle(IdleCause::input), 50'000);
  EXPECT_EQ(idle(IdleCause::copy), 30'000);
  EXPECT_EQ(idle(IdleCause::launch), 20'000 + 10'000 + 5'000 + 10'000 + 10'000);
  EXPECT_EQ(idle(IdleCause::queued), 90'000);
  EXPECT_EQ(idle(IdleCause::unknown), 0);
  EXPECT_EQ(row.copy_exposed_ns, 30'000);
}

TEST(TraceTables, kernels_belong_to_the_innermost_layer_and_backward_to_its_forward) {
  MadeUpTrace made;
  made.range({0, 1000}, "ProfilerStep#1", RangeKind::user);
  made.range({10, 100}, "nn.Module: Conv2d_0", RangeKind::call);
  made.range({20, 90}, "aten::conv2d", RangeKind::framework, 5);
  made.kernel({40, 60}, {30, 35}, "cudnn_fprop_kernel");
  made.range({200, 300}, "autograd::engine::evaluate_function: ConvolutionBackward0",
             RangeKind::framework, 5, true);
  made.kernel({240, 260}, {230, 235}, "xmma_wgrad_kernel");
  made.range({400, 500}, "fc1 backward", RangeKind::nvtx);
  made.kernel({440, 470}, {430, 435}, "sgemm");
  made.range({600, 700}, "Optimizer.step#SGD.step", RangeKind::user);
  made.kernel({640, 645}, {630, 635}, "axpy");
  made.kernel({800, 801}, {790, 795}, "lonely");
  const Profile profile = [&] {
    sort_by_start(made.recording);
    return profile_of(made.recording);
  }();
  ASSERT_EQ(profile.rows.size(), 5U);
  const auto is = [&](std::size_t row, std::string_view layer, std::string_view pass) {
    EXPECT_EQ(profile.rows[row].layer, layer);
    EXPECT_EQ(profile.rows[row].pass, pass);
  };
  is(0, "Conv2d_0", "forward");
  is(1, "Conv2d_0", "backward_weight");
  is(2, "fc1", "backward");
  is(3, "Optimizer.step#SGD.step", "update");
  is(4, "lonely", "forward");
  EXPECT_EQ(made.tables().steps.count, 1U);
}

TEST(TraceTables, a_profile_is_of_the_step_of_median_time) {
  MadeUpTrace made;
  for (std::int64_t step = 0; step < 3; ++step) {
    const std::int64_t at = 1000 * step;
    const std::int64_t longer = step == 1 ? 50 : step;  // 10, 60, 12
    made.kernel({at + 10, at + 20 + longer}, {at, at + 1}, "a");
    made.kernel({at + 100 + longer, at + 101 + longer}, {at + 50, at + 51}, "b");
  }
  sort_by_start(made.recording);
  const Profile profile = profile_of(made.recording);
  ASSERT_EQ(profile.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(profile.rows[0].totals.time_s, 12e-9);
  EXPECT_EQ(profile.rows[0].totals.launches, 1);
  EXPECT_EQ(iteration_of(profile).from, TimeFrom::step);
  EXPECT_DOUBLE_EQ(iteration_of(profile).time_s, 93e-9);  // 91, 141 and 93
  EXPECT_EQ(make_trace_tables(made.recording).steps.median_ns, 93);
}

TEST(TraceTables, memory_is_followed_by_address_where_a_free_has_no_size) {
  Recording recording;
  recording.memory = {{.at_ns = 1, .address = 1, .bytes = 100, .device = 0},
                      {.at_ns = 2, .address = 2, .bytes = 50, .device = 0},
                      {.at_ns = 3, .address = 1, .bytes = 0, .device = 0, .is_allocation = false},
                      {.at_ns = 4, .address = 3, .bytes = 70, .device = 0}};
  const TraceTables tables = make_trace_tables(recording);
  ASSERT_EQ(tables.memory.size(), 1U);
  EXPECT_EQ(tables.memory[0].peak_bytes, 150);
  EXPECT_EQ(tables.memory[0].allocations, 3);
  EXPECT_EQ(tables.memory[0].frees, 1);
  EXPECT_EQ(tables.memory[0].allocated_bytes, 220);
}

// CUDA's occupancy calculator for compute capability 8.0: 2048 threads, 65536 registers, 164 KB.
TEST(TraceTables, occupancy_and_what_limits_it) {
  const RecordedDevice device{.compute_major = 8,
                              .warp_size = 32,
                              .max_threads_per_multiprocessor = 2048,
                              .registers_per_multiprocessor = 65536,
                              .shared_bytes_per_multiprocessor = 167936};
  const auto of = [&](std::uint32_t threads, std::uint32_t registers, std::uint32_t shared) {
    return *occupancy_of(
        {.block = {threads, 1, 1}, .registers = registers, .dynamic_shared_bytes = shared}, device);
  };
  EXPECT_DOUBLE_EQ(of(256, 32, 0).share, 1);
  EXPECT_EQ(of(256, 32, 0).limit, OccupancyLimit::none);
  EXPECT_DOUBLE_EQ(of(256, 128, 0).share, 0.25);
  EXPECT_EQ(of(256, 128, 0).limit, OccupancyLimit::registers);
  EXPECT_DOUBLE_EQ(of(128, 32, 81920).share, 8.0 / 64);
  EXPECT_EQ(of(128, 32, 81920).limit, OccupancyLimit::shared_memory);
  EXPECT_DOUBLE_EQ(of(32, 16, 0).share, 0.5);
  EXPECT_EQ(of(32, 16, 0).limit, OccupancyLimit::block_size);
}

}  // namespace
}  // namespace strata
