// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/capture_study.hpp"

#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/reproduce/capture_claims.hpp"
#include "strata/reproduce/printed_points.hpp"

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

Finding found_of(const CaptureStudy& study, std::string_view id, std::string_view network,
                 const RooflineStudy* own = nullptr) {
  for (const Finding& one : reproduce_capture(study, own)) {
    if (one.sentence == capture_claim(id).sentence && one.network == network) return one;
  }
  ADD_FAILURE() << id;
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

/// Five shares at the five batches, of what a claim follows.
CaptureStudy study_with(std::string_view id, std::array<double, 5> shares) {
  return changed_study([&](CaptureCase& one) {
    const auto at = std::find(captured_batches.begin(), captured_batches.end(), one.batch);
    const double share = shares[static_cast<std::size_t>(at - captured_batches.begin())];
    one.network = "vgg16";
    if (id == "broadcast") one.class_s["collective"] = share * one.kernel_s;
    if (id.starts_with("winograd")) one.class_s["convolution winograd"] = share * one.kernel_s;
    if (id == "max-pool") one.pool_backward_s = share * one.kernel_s;
    if (id == "launches") one.launch_api_s = share * one.api_s;
  });
}

TEST(CaptureStudy, shares_over_the_batch_are_judged_on_both_sides) {
  struct Side {
    std::string_view id;
    std::array<double, 5> shares;
    bool holds;
  };
  const Side sides[] = {
      {"broadcast", {0.45, 0.3, 0.2, 0.1, 0.05}, true},  // as printed
      {"broadcast", {0.01, 0.0099, 0.0098, 0.0097, 0.0096}, false},
      {"broadcast", {0.45, 0.3, 0.5, 0.1, 0.05}, false},
      {"broadcast", {0.45, 0.45, 0.45, 0.45, 0.45}, false},
      {"winograd-k80", {0.05, 0.1, 0.3, 0.2, 0.1}, true},  // as printed
      {"winograd-k80", {0.05, 0.01, 0.06, 0.3, 0.05}, false},
      {"winograd-k80", {0.3, 0.3, 0.31, 0.3, 0.3}, false},
      {"winograd-p40", {0.05, 0.1, 0.2, 0.3, 0.4}, true},  // as printed
      {"winograd-p40", {0.05, 0.1, 0.3, 0.2, 0.1}, false},
      {"winograd-p40", {0, 0, 0, 0, 0}, false},
      {"max-pool", {0.01, 0.02, 0.03, 0.04, 0.06}, true},  // as printed
      {"max-pool", {0.05, 0.01, 0.01, 0.01, 0.051}, false},
      {"max-pool", {0.05, 0.05, 0.05, 0.05, 0.051}, false},
      {"launches", {0.99, 0.99, 0.98, 0.98, 0.7}, true},  // as printed
      {"launches", {0.99, 0.8, 0.98, 0.98, 0.7}, false},
      {"launches", {0.95, 0.95, 0.95, 0.95, 0.96}, false},
  };
  for (const Side& side : sides) {
    const Finding one = found_of(study_with(side.id, side.shares), side.id, "vgg16");
    EXPECT_TRUE(one.is_printed) << side.id;
    EXPECT_EQ(one.holds, side.holds) << side.id << ": " << one.found << "; " << one.note;
  }
  for (const FollowedClaim& claim : followed_claims())
    for (const bool holds : {false, true})
      EXPECT_TRUE(std::any_of(std::begin(sides), std::end(sides), [&](const Side& side) {
        return side.id == claim.id && side.holds == holds;
      })) << claim.id;
}

TEST(CaptureStudy, a_no_says_why) {
  const CaptureStudy plain = made_up_study();
  expect_verdict(found_of(plain, "winograd-k80", "alexnet"), false,
                 "at batch 16 most convolution time is convolution winograd (40 %");
  expect_verdict(found_of(plain, "max-pool", "alexnet"), false, "no kernel is known");
  expect_verdict(found_of(changed_study([](CaptureCase& one) {
                            one.pool_backward_s = one.kernel_s / static_cast<double>(one.batch);
                            if (one.batch == 64) one.class_s["gemm"] = 0.9 * one.kernel_s;
                          }),
                          "max-pool", "alexnet"),
                 false, "gemm grows most, by 30 points");
  const auto few = [](CaptureCase& one) { one.launch_api_s = 0.7e-3; };
  expect_verdict(found_of(changed_study(few), "launches", "alexnet"), false,
                 "other calls take 300 µs of 1.00 ms at batch 4");
  expect_verdict(found_of(changed_study([&](CaptureCase& one) {
                            few(one);
                            one.call_s = {{"cudaLaunchKernel", 0.7e-3}, {"cudaFree", 0.3e-3}};
                          }),
                          "launches", "alexnet"),
                 false, "at batch 4 also cudaFree 30 %");
  const Finding one_gpu = found_of(plain, "broadcast", "alexnet");
  EXPECT_FALSE(one_gpu.is_printed);
  EXPECT_NE(one_gpu.note.find("one GPU broadcasts nothing"), std::string::npos);
}

/// A step at batch 4 whose GPU works as long as it takes, with this share of copies.
CaptureStudy busy_study(double copies_at_4, double copies_at_64) {
  return changed_study([&](CaptureCase& one) {
    one.wall_s = 1.1 * one.busy_s;
    const double share = one.batch == 4 ? copies_at_4 : copies_at_64;
    one.copy_s = share / (1 - share) * one.kernel_s;
  });
}

// Measured copies, idle time and counters decide, and no definition of the network.
TEST(CaptureStudy, a_small_batch_is_memory_bound_by_what_was_measured) {
  // As the report says: transfers take less and less of a device that is busy.
  expect_verdict(found_of(busy_study(0.4, 0.05), "memory", "alexnet"), true, "kernels run most");
  const Finding more = found_of(busy_study(0.02, 0.13), "memory", "alexnet");
  expect_verdict(more, false, "copies have no larger share");
  EXPECT_EQ(more.found, "2 → 13 %; 9 → 9 %");
  const Finding host = found_of(made_up_study(), "memory", "alexnet");
  expect_verdict(host, false, "the device waits for the host in 83 % of the step");
  // GEMM alone and not one copy: nothing is left to bind it to memory.
  expect_verdict(found_of(changed_study([](CaptureCase& one) {
                            one.wall_s = one.busy_s;
                            one.copy_s = 0;
                            one.class_s = {{"gemm", one.kernel_s}};
                          }),
                          "memory", "alexnet"),
                 false, "copies have no larger share");
  RooflineStudy own;
  own.machine = load_machine("h200");
  const double bytes_per_s = roofs_of(own.machine).outer().bytes_per_s;
  for (const double share : {0.2, 0.8}) {
    CaptureStudy counted = busy_study(0.02, 0.13);
    for (CaptureCase& one : counted.cases)
      one.counted = {{"dram_read_bytes", share * bytes_per_s * one.kernel_s},
                     {"dram_write_bytes", 0.0}};
    expect_verdict(found_of(counted, "memory", "alexnet", &own), share > 0.6,
                   share > 0.6 ? "DRAM at 80 %" : "DRAM at 20 %");
  }
}

TEST(CaptureStudy, kernels_differ_where_their_number_or_algorithm_does) {
  expect_verdict(found_of(made_up_study(), "batches", "alexnet"), false, "the same at every batch");
  const auto with_launches = [](double launches) {
    return changed_study([=](CaptureCase& one) {
      if (one.batch == 4) one.launches = launches;
    });
  };
  expect_verdict(found_of(with_launches(99), "batches", "alexnet"), false, "");  // noise
  expect_verdict(found_of(with_launches(90), "batches", "alexnet"), true, "");
  const Finding algorithms = found_of(changed_study([](CaptureCase& one) {
                                        if (one.batch == 4) one.class_s["convolution fft"] = 1e-6;
                                      }),
                                      "batches", "alexnet");
  expect_verdict(algorithms, true, "");
  EXPECT_NE(algorithms.found.find("other algorithms"), std::string::npos);
  // From the report's own logs, whatever was captured.
  const Finding gpus = found_of({}, "gpus", "alexnet, resnet18");
  expect_verdict(gpus, true, "from the report's logs");
  EXPECT_NE(gpus.found.find("P40: explicit_convolve_sgemm"), std::string::npos);
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
  EXPECT_EQ(low.found, "0.016 % (1.00 µs of 6.40 ms)");
  for (CaptureCase& one : study.cases) one.concurrent_s = 0.5 * one.busy_s;
  expect_verdict(found_of(study, "concurrency", "alexnet"), false, "several streams");
}

TEST(CaptureStudy, the_mean_of_copies_bounds_how_many_are_slow) {
  EXPECT_FALSE(found_of(made_up_study(), "slow-copies", "alexnet").is_printed);
  RooflineStudy own;
  own.machine = load_machine("h200");
  const double link = link_of(own.machine).value();
  const auto of_rate = [&](double share) {
    return found_of(
        changed_study([&](CaptureCase& one) { one.copy_s = one.copy_bytes / (share * link); }),
        "slow-copies", "alexnet", &own);
  };
  const Finding fast = of_rate(0.99);
  expect_verdict(fast, false, "a step copies its images, 1.00 MB, at once");
  EXPECT_TRUE(fast.found.starts_with("at most 2 %")) << fast.found;
  const Finding slow = of_rate(0.9);  // up to 20 % may be slow: sums do not tell
  EXPECT_FALSE(slow.is_printed);
  EXPECT_NE(slow.note.find("single copies are not in these results"), std::string::npos);
  EXPECT_FALSE(found_of(made_up_study(), "overlap", "alexnet").is_printed);
}

TEST(CaptureStudy, calls_are_judged_by_name) {
  CaptureStudy study = changed_study([](CaptureCase& one) { one.network = "vgg16"; });
  EXPECT_FALSE(found_of(study, "clean-up", "vgg16").is_printed);
  EXPECT_FALSE(found_of(study, "steady-queries", "vgg16").is_printed);
  for (CaptureCase& one : study.cases)
    one.call_s = {
        {"cudaLaunchKernel", 0.9e-3}, {"cudaEventDestroy", 0.1e-3}, {"cudaGetDevice", 1e-5}};
  expect_verdict(found_of(study, "clean-up", "vgg16"), true, "holds from 1 %");
  expect_verdict(found_of(study, "steady-queries", "vgg16"), true, "holds below 1.5×");
  for (CaptureCase& one : study.cases)
    one.call_s = {{"cudaFree", 1e-3}, {"cudaGetDevice", 1e-5 * static_cast<double>(one.batch)}};
  expect_verdict(found_of(study, "clean-up", "vgg16"), false, "cudaFree 100 %");
  expect_verdict(found_of(study, "steady-queries", "vgg16"), false, "follows the kernels");
  const Finding whole = found_of(study, "queries", "resnet18");
  EXPECT_FALSE(whole.is_printed);
  EXPECT_NE(whole.note.find("strata capture of a whole run"), std::string::npos);
}

TEST(CaptureStudy, what_is_counted_or_missing_says_so) {
  const CaptureStudy study = made_up_study();
  expect_verdict(found_of(study, "flop", "all"), true, "counted from the layers");
  const Finding missing = found_of(study, "winograd-p40", "vgg16");
  EXPECT_EQ(missing.found, "not measured");
  EXPECT_FALSE(missing.is_printed);
  const std::vector<Finding> all = reproduce_capture(study);
  const Finding& overhead = all.back();
  EXPECT_EQ(overhead.observation, "overhead");
  EXPECT_EQ(overhead.found, "+1.00 %");
  EXPECT_FALSE(overhead.is_printed);
}

TEST(CaptureStudy, figures_have_a_picture_each_with_the_batches_as_printed) {
  const CaptureStudy study = changed_study([](CaptureCase& one) {
    one.call_s = {{"cudaLaunchKernel", 1e-4}, {"cudaGetDevice", 1e-5}};
  });
  const std::vector<Figure> figures = capture_figures(study);
  const auto named = [&](std::string_view name) -> const Figure& {
    const auto found = std::find_if(figures.begin(), figures.end(),
                                    [&](const Figure& figure) { return figure.name == name; });
    EXPECT_NE(found, figures.end()) << name;
    return found == figures.end() ? figures.front() : *found;
  };
  EXPECT_NE(named("capture-winograd").csv.find("alexnet,16,0.4\n"), std::string::npos);
  EXPECT_NE(named("capture-launches").csv.find("alexnet,64,0.5\n"), std::string::npos);
  // What the report prints stands in the pictures: 45 % of broadcasts at batch 4.
  std::vector<Figure> drawn = figures;
  draw_printed_points(reproduce_capture(study), drawn);
  for (const Figure& figure : drawn) {
    if (figure.name != "capture-broadcasts" && figure.name != "capture-launches") continue;
    const auto& series = figure.grid.panels.at(0).series;
    ASSERT_EQ(series.size(), 2U) << figure.name;
    EXPECT_EQ(series.back().points.at(0).y, figure.name == "capture-launches" ? 1.0 : 0.45);
  }
  EXPECT_EQ(named("capture-winograd").grid.panels.at(0).x.categories,
            (std::vector<std::string>{"4", "8", "16", "32", "64"}));
  EXPECT_EQ(named("capture-flop").grid.panels.at(0).series.size(), 3U);
  EXPECT_EQ(named("capture-api-donut").grid.panels.at(0).ring.slices.size(), 2U);
  EXPECT_EQ(named("capture-api-donut").grid.panels.at(0).ring.slices.at(0).hint,
            "cudaLaunchKernel: 100 µs");
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
