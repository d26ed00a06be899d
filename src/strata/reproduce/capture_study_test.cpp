// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/capture_study.hpp"

#include "strata/base/error.hpp"
#include "strata/reproduce/capture_shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

/// Two steps of a network: a kernel before its backward part and one within it, each long after its
/// launch; one kernel outside of both steps.
Recording made_up_recording() {
  Recording recording;
  std::uint64_t correlation = 0;
  const auto launch = [&](std::int64_t at, const char* name) {
    ApiRecord call;
    call.time = {at, at + 10};
    call.correlation = ++correlation;
    call.name = recording.names.id_of("cudaLaunchKernel");
    recording.calls.push_back(call);
    KernelRecord kernel;
    kernel.time = {at + 5000, at + 5100};
    kernel.correlation = correlation;
    kernel.name = recording.names.id_of(name);
    kernel.device = 0;
    recording.kernels.push_back(kernel);
  };
  const auto range = [&](std::int64_t begin, std::int64_t end, const char* name) {
    RangeRecord one;
    one.time = {begin, end};
    one.name = recording.names.id_of(name);
    recording.ranges.push_back(one);
  };
  launch(50, "warm_up");
  for (const std::int64_t begin : {100, 1100}) {
    range(begin, begin + 900, "study:pytorch:alexnet:4");
    range(begin + 400, begin + 800, "backward part");
    launch(begin + 100, "cudnn::winograd_nonfused::winogradForwardData4x4<float>");
    launch(begin + 500, "void at::native::max_pool_backward_nchw<float, float>(float const*)");
  }
  sort_by_start(recording);
  return recording;
}

TEST(CaptureStudy, steps_are_ranges_and_kernels_belong_to_their_launch) {
  const std::vector<CaptureCase> cases = cases_of_ranges(made_up_recording);
  ASSERT_EQ(cases.size(), 2U);
  const CaptureCase& whole = cases[0];
  EXPECT_EQ(whole.part, "iteration");
  EXPECT_EQ(whole.batch, 4);
  EXPECT_EQ(whole.steps, 2);
  EXPECT_DOUBLE_EQ(whole.launches, 2);
  EXPECT_NEAR(whole.kernel_s, 200e-9, 1e-15);
  EXPECT_NEAR(whole.wall_s, 900e-9, 1e-15);
  EXPECT_NEAR(whole.pool_backward_s, 100e-9, 1e-15);
  EXPECT_NEAR(whole.launch_api_s, whole.api_s, 1e-15);
  EXPECT_NEAR(whole.call_s.at("cudaLaunchKernel"), 20e-9, 1e-15);
  const CaptureCase& backward = cases[1];
  EXPECT_EQ(backward.part, "backward");
  EXPECT_DOUBLE_EQ(backward.launches, 1);
}

TEST(CaptureStudy, counted_work_is_that_of_a_step_where_every_kernel_was_counted) {
  const auto counted = [] {
    Recording recording = made_up_recording();
    recording.counters.names = {recording.names.id_of("dram__bytes_read.sum"),
                                recording.names.id_of("dram__bytes_write.sum")};
    recording.counters.units = {0, 0};
    for (std::size_t kernel = 0; kernel < recording.kernels.size(); ++kernel) {
      recording.counters.values.push_back(1000);
      // The last kernel of the last step has no count of what it wrote.
      const bool is_last = kernel + 1 == recording.kernels.size();
      recording.counters.values.push_back(is_last ? std::nan("") : 10);
    }
    return recording;
  };
  const std::vector<CaptureCase> cases = cases_of_ranges(counted);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_DOUBLE_EQ(cases[0].counted.at("dram_read_bytes"), 2000);
  EXPECT_FALSE(cases[0].counted.contains("dram_write_bytes"));
  CaptureStudy study;
  study.cases = cases;
  EXPECT_EQ(read_capture_study(to_json(study)).cases[0].counted, cases[0].counted);
  EXPECT_TRUE(cases_of_ranges(made_up_recording)[0].counted.empty());
}

CaptureStudy made_up_study() {
  CaptureStudy study;
  study.device = "made up";
  for (const std::int64_t batch : captured_batches) {
    for (const char* part : {"iteration", "backward"}) {
      CaptureCase one;
      one.framework = "pytorch";
      one.network = "alexnet";
      one.batch = batch;
      one.part = part;
      one.steps = 5;
      const auto size = static_cast<double>(batch);
      one.launches = 100;
      one.kernel_s = 1e-4 * size;
      one.busy_s = one.kernel_s;
      one.wall_s = 2e-3 + one.kernel_s;
      one.copy_s = 1e-4;
      one.copy_bytes = 1e6;
      one.class_s = {{"convolution winograd", 0.4 * one.kernel_s}, {"gemm", 0.6 * one.kernel_s}};
      one.api_s = 1e-3;
      one.launch_api_s = batch == 64 ? 0.5e-3 : 0.97e-3;
      study.cases.push_back(one);
    }
  }
  study.overheads = {{"strata", {100, 100, 100}, {101, 100.5, 140}}};
  return study;
}

Finding found_of(const CaptureStudy& study, std::string_view about, std::string_view network,
                 const RooflineStudy* own = nullptr) {
  for (const Finding& one : reproduce_capture(study, own)) {
    if (one.observation == about && one.network == network) return one;
  }
  ADD_FAILURE() << about;
  return {};
}

template <class Change>
CaptureStudy changed_study(const Change& change) {
  CaptureStudy study = made_up_study();
  for (CaptureCase& one : study.cases) change(one);
  return study;
}

void expect_verdict(const Finding& one, bool holds, std::string_view note) {
  EXPECT_TRUE(one.is_printed) << one.observation;
  EXPECT_EQ(one.holds, holds) << one.observation << ": " << one.found;
  EXPECT_TRUE(one.note.starts_with("holds ")) << one.note;
  EXPECT_NE(one.note.find(note), std::string::npos) << one.note;
}

TEST(CaptureStudy, shares_over_the_batch_hold_or_say_why_not) {
  const CaptureStudy plain = made_up_study();
  expect_verdict(found_of(plain, "Winograd", "alexnet"), false,
                 "at batch 16 most convolution time is convolution winograd (40 %");
  expect_verdict(found_of(changed_study([](CaptureCase& one) {
                            if (one.batch == 16) one.class_s["convolution winograd"] *= 2;
                          }),
                          "Winograd", "alexnet"),
                 true, "holds where 16");
  expect_verdict(found_of(plain, "max-pool", "alexnet"), false, "no kernel is known");
  expect_verdict(found_of(changed_study([](CaptureCase& one) {
                            one.pool_backward_s =
                                static_cast<double>(one.batch) * 1e-3 * one.kernel_s;
                          }),
                          "max-pool", "alexnet"),
                 true, "holds where 64");
  expect_verdict(found_of(changed_study([](CaptureCase& one) {
                            one.pool_backward_s = one.kernel_s / static_cast<double>(one.batch);
                            if (one.batch == 64) one.class_s["gemm"] = 0.9 * one.kernel_s;
                          }),
                          "max-pool", "alexnet"),
                 false, "gemm grows most, by 30 points");
  expect_verdict(found_of(plain, "launches", "alexnet"), true, "holds above 90 %");
  const auto few = [](CaptureCase& one) { one.launch_api_s = 0.7e-3; };
  expect_verdict(found_of(changed_study(few), "launches", "alexnet"), false,
                 "other calls take 300 µs of 1.00 ms at batch 4");
  expect_verdict(found_of(changed_study([&](CaptureCase& one) {
                            few(one);
                            one.call_s = {{"cudaLaunchKernel", 0.7e-3}, {"cudaFree", 0.3e-3}};
                          }),
                          "launches", "alexnet"),
                 false, "at batch 4 also cudaFree 30 %");
}

TEST(CaptureStudy, a_broadcast_has_a_verdict_where_several_gpus_made_one) {
  const Finding one_gpu = found_of(made_up_study(), "broadcast", "alexnet");
  EXPECT_FALSE(one_gpu.is_printed);
  EXPECT_NE(one_gpu.note.find("one GPU broadcasts nothing"), std::string::npos);
  expect_verdict(found_of(changed_study([](CaptureCase& one) {
                            one.class_s["collective"] =
                                one.kernel_s / static_cast<double>(one.batch);
                          }),
                          "broadcast", "alexnet"),
                 true, "holds where batch 4");
  expect_verdict(found_of(changed_study([](CaptureCase& one) {
                            one.class_s["collective"] = 0.45 * one.kernel_s;
                          }),
                          "broadcast", "alexnet"),
                 false, "does not fall");
}

TEST(CaptureStudy, kernels_differ_where_their_number_or_algorithm_does) {
  expect_verdict(found_of(made_up_study(), "kernels", "alexnet"), false, "the same at every batch");
  expect_verdict(found_of(changed_study([](CaptureCase& one) {
                            if (one.batch == 4) one.launches = 99;
                          }),
                          "kernels", "alexnet"),
                 true, "");
  const Finding algorithms = found_of(changed_study([](CaptureCase& one) {
                                        if (one.batch == 4) one.class_s["convolution fft"] = 1e-6;
                                      }),
                                      "kernels", "alexnet");
  expect_verdict(algorithms, true, "");
  EXPECT_NE(algorithms.found.find("other algorithms"), std::string::npos);
  const Finding gpus = found_of(made_up_study(), "kernels", "any");
  EXPECT_FALSE(gpus.is_printed);
  EXPECT_EQ(gpus.note, "one GPU was measured: made up");
}

TEST(CaptureStudy, printed_values_stand_once_at_the_batch_they_were_printed_for) {
  const std::vector<Finding> all = reproduce_capture(made_up_study());
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](const Finding& one) { return one.observation == "concurrency"; }),
            1);
  CaptureStudy study = changed_study(
      [](CaptureCase& one) { one.concurrent_s = one.batch == 64 ? 1e-6 : one.busy_s; });
  const Finding low = found_of(study, "concurrency", "alexnet");
  expect_verdict(low, true, "holds below 1 %");
  EXPECT_EQ(low.found, "1.00 µs of 6.40 ms (0.016 %)");
  for (CaptureCase& one : study.cases) one.concurrent_s = 0.5 * one.busy_s;
  expect_verdict(found_of(study, "concurrency", "alexnet"), false, "several streams");
}

TEST(CaptureStudy, what_needs_the_machine_has_a_verdict_with_it) {
  for (const char* about : {"copies", "memory"})
    EXPECT_FALSE(found_of(made_up_study(), about, "alexnet").is_printed) << about;
  RooflineStudy own;
  for (const Machine& machine : shipped_machines()) {
    if (machine.name == "h200") own.machine = machine;
  }
  ASSERT_FALSE(own.machine.links.empty());
  // 1 MB in 100 µs is 10 GB/s.
  expect_verdict(found_of(made_up_study(), "copies", "alexnet", &own), true, "below half");
  expect_verdict(found_of(changed_study([](CaptureCase& one) { one.copy_s = 1e-5; }), "copies",
                          "alexnet", &own),
                 false, "a step copies its images, 1.00 MB, at once");
  expect_verdict(found_of(made_up_study(), "memory", "alexnet", &own), true, "holds where batch 4");
  for (Peak& peak : own.machine.peaks) peak.flop_per_s.value = 1e9;
  expect_verdict(found_of(made_up_study(), "memory", "alexnet", &own), false, "reuse each byte");
}

TEST(CaptureStudy, clean_up_calls_need_calls_by_name) {
  CaptureStudy study = changed_study([](CaptureCase& one) { one.network = "vgg16"; });
  EXPECT_FALSE(found_of(study, "clean-up", "vgg16").is_printed);
  for (CaptureCase& one : study.cases)
    one.call_s = {{"cudaLaunchKernel", 0.9e-3}, {"cudaEventDestroy", 0.1e-3}};
  expect_verdict(found_of(study, "clean-up", "vgg16"), true, "holds from 1 %");
  for (CaptureCase& one : study.cases) one.call_s = {{"cudaFree", 1e-3}};
  expect_verdict(found_of(study, "clean-up", "vgg16"), false, "cudaFree 100 %");
}

TEST(CaptureStudy, what_is_counted_or_missing_says_so) {
  const CaptureStudy study = made_up_study();
  expect_verdict(found_of(study, "FLOP", "all"), true, "counted from the layers");
  const Finding missing = found_of(study, "Winograd", "vgg16");
  EXPECT_EQ(missing.found, "not measured");
  EXPECT_FALSE(missing.is_printed);
  const Finding overhead = found_of(study, "overhead", "resnet50");
  EXPECT_EQ(overhead.found, "+1.00 %");
  EXPECT_FALSE(overhead.is_printed);
}

TEST(CaptureStudy, figures_follow_winograd_launches_and_flop_over_the_batch) {
  const std::vector<Figure> figures = capture_figures(made_up_study());
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_NE(figures[0].csv.find("alexnet,16,\"Winograd, of kernel time\",0.4\n"), std::string::npos)
      << figures[0].csv;
  EXPECT_NE(figures[0].csv.find("alexnet,64,\"launches, of API time in backward\",0.5\n"),
            std::string::npos);
  EXPECT_EQ(figures[1].name, "capture-flop");
  EXPECT_EQ(figures[1].grid.panels.at(0).series.size(), 3U);
  for (const Figure& figure : figures) EXPECT_NE(chart::to_svg(figure.grid), "") << figure.name;
}

TEST(CaptureStudy, is_read_as_it_was_written) {
  const CaptureStudy study = made_up_study();
  const CaptureStudy again = read_capture_study(to_json(study));
  EXPECT_EQ(to_json(again), to_json(study));
  EXPECT_EQ(again.cases.size(), 10U);
  EXPECT_THROW(read_capture_study("{}"), Error);
  EXPECT_THROW(read_capture_study("no JSON"), Error);
}

}  // namespace
}  // namespace strata
