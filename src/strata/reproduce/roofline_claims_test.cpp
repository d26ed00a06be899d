// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/roofline_claims.hpp"

#include "strata/machine/load_machine.hpp"
#include "strata/reproduce/capture_study.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace strata {
namespace {

constexpr double latency_s = 4.2e-6;        // of v100-nersc
constexpr double flop_of_sample = 148'400;  // with which 3000 samples leave the box

/// Work of which every claim of the paper holds.
Work convolution_of_the_paper(std::string_view parameter, std::string_view pass,
                              std::int64_t value) {
  const auto size = static_cast<double>(value);
  Work work{.flop = 1'000'000'000, .bytes = 10'000'000, .launches = 1, .time_s = 1e-3};
  if (parameter == "batch") {
    work.flop *= value;
    if (pass == "forward") work.bytes *= value;
  } else if (parameter == "filters") {
    work.flop = work.flop / 64 * value;  // 100 to 800 FLOP/byte, the balance is 129.68
  } else if (parameter == "kernel") {
    work.flop *= value * value;
  } else {
    work.flop = 2 * work.flop / (value * value);  // 200 FLOP/byte at stride 1
    work.time_s /= size;
  }
  return work;
}

Work lstm_of_the_paper(std::string_view parameter, std::int64_t value) {
  const std::int64_t launches = parameter == "sequence" ? 10 * value : 160;
  Work work{.flop = 1'000'000, .bytes = 10'000, .launches = launches};
  if (parameter == "sequence") {
    work.flop *= value;
    work.bytes *= value;
  } else if (parameter == "batch") {
    work.flop = static_cast<std::int64_t>(flop_of_sample) * value;
  }
  work.time_s = latency_s * static_cast<double>(launches) / 2;
  return work;
}

RooflineStudy study_of_the_paper(Evidence evidence) {
  RooflineStudy study{load_machine("v100-nersc"), evidence, "made up", {}};
  for (const KernelSweep& sweep : kernel_sweeps()) {
    SweepResult result{sweep, {}};
    for (const DType dtype : {DType::fp16, DType::fp32}) {
      for (const std::string_view pass : {"forward", "backward"}) {
        for (const std::int64_t value : sweep.values) {
          const Work work = sweep.kernel == "conv2d"
                                ? convolution_of_the_paper(sweep.parameter, pass, value)
                                : lstm_of_the_paper(sweep.parameter, value);
          result.points.push_back({value, dtype, pass, work});
        }
      }
    }
    study.sweeps.push_back(std::move(result));
  }
  return study;
}

SweepResult& sweep_in(RooflineStudy& study, std::string_view kernel, std::string_view parameter) {
  const auto found = std::find_if(study.sweeps.begin(), study.sweeps.end(), [&](const auto& one) {
    return one.sweep.kernel == kernel && one.sweep.parameter == parameter;
  });
  EXPECT_NE(found, study.sweeps.end());
  return *found;
}

/// The last point of fp16 forward.
KernelPoint& last_point(RooflineStudy& study, std::string_view kernel, std::string_view parameter) {
  SweepResult& result = sweep_in(study, kernel, parameter);
  return result.points[result.sweep.values.size() - 1];
}

/// As found on one side: "yes", "no" or "" without a verdict, with what was found and the note.
struct RooflineVerdict {
  std::string word;
  std::string found;
  std::string note;
};

RooflineVerdict verdict_on(const RooflineStudy& study, std::string_view what) {
  const bool is_measured = study.evidence == Evidence::measured;
  const RooflineStudy predicted = study_of_the_paper(Evidence::predicted);
  const auto findings =
      is_measured ? roofline_findings(predicted, &study) : roofline_findings(study);
  for (const Finding& finding : findings) {
    if (!finding.what.starts_with(what)) continue;
    const std::optional<bool> holds = is_measured          ? finding.measured->holds
                                      : finding.is_printed ? std::optional(finding.holds)
                                                           : std::nullopt;
    return {!holds   ? ""
            : *holds ? "yes"
                     : "no",
            is_measured ? finding.measured->found : finding.found, finding.note};
  }
  ADD_FAILURE() << "no row " << what;
  return {};
}

void count_bytes(RooflineStudy& study, std::string_view parameter, DType dtype, double bytes) {
  for (KernelPoint& point : sweep_in(study, "conv2d", parameter).points) {
    if (point.dtype == dtype)
      point.counters = {{"dram_read_bytes", bytes}, {"dram_write_bytes", 0}};
  }
}

struct Claimed {
  std::string what;
  std::string kernel;     ///< whose points the verdict needs
  std::string parameter;  ///< of which sweep; both empty: of the machine alone
  void (*breaks)(RooflineStudy&);
  std::string why;
  std::string found = {};  ///< then
};

const Claimed claims_of_the_paper[] = {
    {"balance of tensor peak", "", "",
     [](RooflineStudy& study) { study.machine.memory.back().bandwidth_bytes_per_s->value *= 2; },
     "not the paper's"},
    {"tensor peak", "", "",
     [](RooflineStudy& study) {
       for (auto& peak : study.machine.peaks) peak.flop_per_s.value *= 2;
     },
     "the machine has 214.958 TFLOP/s"},
    {"FLOP with which one launch", "", "",
     [](RooflineStudy& study) { study.machine.launch_latency_s->value *= 2; }, "launch latency"},
    {"samples with which one launch", "lstm", "batch",
     [](RooflineStudy& study) {
       for (KernelPoint& point : sweep_in(study, "lstm", "batch").points) point.work.flop /= 2;
     },
     "over the 74200 FLOP of a sample's forward pass", "6000"},
    {"a larger batch keeps FLOP per byte", "conv2d", "batch",
     [](RooflineStudy& study) { last_point(study, "conv2d", "batch").work.bytes *= 2; },
     "fp16 forward goes 100 → 50", "100 → 50, 1 of 2 trajectories"},
    {"and backward it does not", "conv2d", "batch",
     [](RooflineStudy& study) {
       for (KernelPoint& point : sweep_in(study, "conv2d", "batch").points) {
         if (point.dtype == DType::fp32 && point.pass == "backward")
           point.work.bytes *= point.value;
       }
     },
     "fp32 backward stays at 100 → 100", "1600 → 6400, 1 of 2 trajectories"},
    {"more filters raise FLOP per byte", "conv2d", "filters",
     [](RooflineStudy& study) { last_point(study, "conv2d", "filters").work.bytes *= 3; },
     "fp16 forward falls from 400 to 267 at 512", "100 → 267, 3 of 4 trajectories"},
    {"512 filters become compute-bound", "conv2d", "filters",
     [](RooflineStudy& study) { last_point(study, "conv2d", "filters").work.bytes *= 8; },
     "fp16 forward has 100 of 130 FLOP/byte", "100 of 130 FLOP/byte, 3 of 4 trajectories"},
    {"a larger kernel raises FLOP per byte", "conv2d", "kernel",
     [](RooflineStudy& study) { last_point(study, "conv2d", "kernel").work.bytes *= 3; },
     "fp16 forward falls from 4900 to 2700 at 9", "900 → 2700, 3 of 4 trajectories"},
    {"at constant data movement", "conv2d", "kernel",
     [](RooflineStudy& study) { last_point(study, "conv2d", "kernel").work.bytes *= 2; },
     "fp16 forward goes 10.0 MB → 20.0 MB", "10.0 MB → 20.0 MB, 3 of 4 trajectories"},
    {"fp16 at stride 1 is compute-bound", "conv2d", "stride",
     [](RooflineStudy& study) { sweep_in(study, "conv2d", "stride").points[0].work.bytes *= 2; },
     "fp16 forward has 100 of 130 FLOP/byte", "100 of 130 FLOP/byte, 1 of 2 trajectories"},
    {"stride 1 → 2", "conv2d", "stride",
     [](RooflineStudy& study) {
       sweep_in(study, "conv2d", "stride").points[1].work.bytes = 4'900'000;
     },
     "bytes change by more than 0.50×", "0.25× FLOP, 0.49× bytes"},
    {"stride 2 → 3", "conv2d", "stride",
     [](RooflineStudy& study) { last_point(study, "conv2d", "stride").work.flop = 500'000'000; },
     "the FLOP do not fall", "1.00× FLOP, 1.00× bytes"},
    {"a larger stride is more overhead-bound", "conv2d", "stride",
     [](RooflineStudy& study) { last_point(study, "conv2d", "stride").work.time_s = 1e-3; },
     "fp16 forward falls from 0.8 % to 0.4 % at 3", "0.4 % → 0.4 %, 3 of 4 trajectories"},
    {"launch-bound whatever the batch", "lstm", "batch",
     [](RooflineStudy& study) { last_point(study, "lstm", "batch").work.time_s = 1; },
     "fp16 forward at 128 runs 1 s for 160 launches", "15 of 16 points"},
    {"launch-bound whatever the sequence", "lstm", "sequence",
     [](RooflineStudy& study) { last_point(study, "lstm", "sequence").work.time_s = 1; },
     "fp16 forward at 128 runs 1 s for 1280 launches", "15 of 16 points"},
    {"and so do the launches", "lstm", "sequence",
     [](RooflineStudy& study) { last_point(study, "lstm", "sequence").work.launches = 720; },
     "80 of the 160 launches at 16 are there whatever the length", "4.50×"},
    {"at constant FLOP per byte", "lstm", "sequence",
     [](RooflineStudy& study) { last_point(study, "lstm", "sequence").work.bytes /= 2; },
     "FLOP grow 8.00×, bytes 4.00×", "2.00×"},
    {"run time does not depend on the batch", "lstm", "batch",
     [](RooflineStudy& study) { last_point(study, "lstm", "batch").work.time_s = 1e-3; },
     "fp16 forward goes 672 µs → 1.00 ms", "672 µs → 1.00 ms, 3 of 4 trajectories"},
    {"launches do not depend on the batch", "lstm", "batch",
     [](RooflineStudy& study) { last_point(study, "lstm", "batch").work.launches = 200; },
     "fp16 forward goes 160 → 200", "160 → 200, 3 of 4 trajectories"},
    {"launches do not depend on the number of features", "lstm", "features",
     [](RooflineStudy& study) { last_point(study, "lstm", "features").work.launches = 200; },
     "fp16 forward goes 160 → 200", "160 → 200, 3 of 4 trajectories"},
    {"launches do not depend on the hidden size", "lstm", "hidden",
     [](RooflineStudy& study) { last_point(study, "lstm", "hidden").work.launches = 200; },
     "fp16 forward goes 160 → 200", "160 → 200, 3 of 4 trajectories"},
};

TEST(RooflineClaims, hold_for_data_that_is_as_the_paper_says) {
  const RooflineStudy study = study_of_the_paper(Evidence::predicted);
  for (const Claimed& claim : claims_of_the_paper) {
    const RooflineVerdict verdict = verdict_on(study, claim.what);
    EXPECT_EQ(verdict.word, "yes") << claim.what << ": " << verdict.found << " " << verdict.note;
    EXPECT_FALSE(verdict.note.empty()) << claim.what << " has no rule";
    EXPECT_EQ(verdict.note.find("predicted: "), verdict.note.npos) << verdict.note;
  }
}

TEST(RooflineClaims, say_no_and_why_for_data_that_is_not) {
  for (const Claimed& claim : claims_of_the_paper) {
    RooflineStudy study = study_of_the_paper(Evidence::predicted);
    claim.breaks(study);
    const RooflineVerdict verdict = verdict_on(study, claim.what);
    EXPECT_EQ(verdict.word, "no") << claim.what << ": " << verdict.found;
    EXPECT_NE(verdict.note.find("predicted: "), verdict.note.npos) << verdict.note;
    EXPECT_NE(verdict.note.find(claim.why), verdict.note.npos) << verdict.note;
    if (!claim.found.empty()) {
      EXPECT_EQ(verdict.found, claim.found) << claim.what;
    }
  }
}

TEST(RooflineClaims, have_no_verdict_without_their_points) {
  for (const Claimed& claim : claims_of_the_paper) {
    if (claim.kernel.empty()) continue;
    for (const Evidence evidence : {Evidence::predicted, Evidence::measured}) {
      RooflineStudy study = study_of_the_paper(evidence);
      sweep_in(study, claim.kernel, claim.parameter).points.clear();
      const RooflineVerdict verdict = verdict_on(study, claim.what);
      EXPECT_EQ(verdict.word, "") << claim.what;
      EXPECT_EQ(verdict.found, evidence == Evidence::measured ? "not measured" : "not predicted");
    }
  }
  RooflineStudy study = study_of_the_paper(Evidence::predicted);
  study.machine.launch_latency_s.reset();
  for (const char* what : {"FLOP with which one launch", "samples with which one launch",
                           "launch-bound whatever the batch"})
    EXPECT_EQ(verdict_on(study, what).found, "not predicted");
}

TEST(RooflineClaims, rates_rise_with_filters_and_kernel_or_not) {
  for (const char* parameter : {"filters", "kernel"}) {
    const auto rate_row = [&](const RooflineStudy& study) {
      for (const Finding& finding : roofline_findings(study)) {
        if (finding.observation == parameter && finding.what.starts_with("and the rate"))
          return finding;
      }
      return Finding{};
    };
    RooflineStudy study = study_of_the_paper(Evidence::predicted);
    EXPECT_TRUE(rate_row(study).holds) << parameter;
    KernelPoint& last = last_point(study, "conv2d", parameter);
    last.work.time_s *= 10;
    last.implementation = "another engine";
    EXPECT_FALSE(rate_row(study).holds) << parameter;
    EXPECT_NE(rate_row(study).note.find("another engine in place of"), std::string::npos)
        << rate_row(study).note;
    sweep_in(study, "conv2d", parameter).points.pop_back();
    EXPECT_FALSE(rate_row(study).is_printed) << parameter;
  }
}

// Kernels that end before the next one can start: the run time is that of the launches.
TEST(RooflineClaims, run_time_over_the_sequence_includes_launches) {
  RooflineStudy study = study_of_the_paper(Evidence::measured);
  for (KernelPoint& point : sweep_in(study, "lstm", "sequence").points) {
    if (point.value == 128) point.work.time_s /= 2;
    point.work.wall_s = 3e-3;
  }
  RooflineVerdict verdict = verdict_on(study, "run time grows");
  EXPECT_EQ(verdict.word, "yes");
  EXPECT_EQ(verdict.found, "8.00× (kernels 4.00×, wall 1.00×)");
  last_point(study, "lstm", "sequence").work.launches = 100;
  verdict = verdict_on(study, "run time grows");
  EXPECT_EQ(verdict.word, "no");
  EXPECT_NE(verdict.note.find("measured: 100 launches do 128 steps"), verdict.note.npos)
      << verdict.note;
  for (KernelPoint& point : sweep_in(study, "lstm", "sequence").points) point.work.time_s = 1;
  verdict = verdict_on(study, "run time grows");
  EXPECT_EQ(verdict.word, "no");
  EXPECT_NE(verdict.note.find("the kernels run longer than they take to start"), verdict.note.npos)
      << verdict.note;
  sweep_in(study, "lstm", "sequence").points.pop_back();
  sweep_in(study, "lstm", "sequence")
      .points.erase(sweep_in(study, "lstm", "sequence").points.begin());
  EXPECT_EQ(verdict_on(study, "run time grows").found, "not measured");
}

TEST(RooflineClaims, a_conversion_is_seen_in_counted_bytes_only) {
  const std::string what = "bytes that do not grow";
  RooflineStudy study = study_of_the_paper(Evidence::measured);
  EXPECT_EQ(verdict_on(study, what).found, "not measured");
  count_bytes(study, "batch", DType::fp16, 100);
  count_bytes(study, "batch", DType::fp32, 110);
  EXPECT_EQ(verdict_on(study, what).word, "yes");
  EXPECT_EQ(verdict_on(study, what).found, "1.10× counted: it converts");
  count_bytes(study, "batch", DType::fp32, 200);
  EXPECT_EQ(verdict_on(study, what).word, "no");
  EXPECT_NE(verdict_on(study, what).note.find("they grow at 3 of 3 batches"), std::string::npos);
  EXPECT_EQ(verdict_on(study_of_the_paper(Evidence::predicted), what).word, "");
}

// Zero-AI kernels: by the rules of their names, or by counters that found no FLOP at all.
TEST(RooflineClaims, launches_without_flop_are_told_by_counters_where_there_are_some) {
  const std::string what = "launches without FLOP, zero AI (fp16 forward)";
  RooflineStudy study = study_of_the_paper(Evidence::measured);
  KernelPoint& point = sweep_in(study, "conv2d", "batch").points.front();
  point.work.launches = 4;
  point.work.zero_flop_launches = 3;
  EXPECT_EQ(verdict_on(study, what).found, "3 of 4");
  point.counters = {
      {"dram_read_bytes", 1}, {"dram_write_bytes", 1}, {"fp32_flop", 0}, {"tensor_fp16_flop", 0}};
  EXPECT_EQ(verdict_on(study, what).found, "4 of 4");
  EXPECT_EQ(verdict_on(study, what).word, "yes");
  point.counters = {};
  point.work.zero_flop_launches = 0;
  EXPECT_EQ(verdict_on(study, what).word, "no");
  sweep_in(study, "conv2d", "batch").points.clear();
  EXPECT_EQ(verdict_on(study, what).found, "not measured");
}

TEST(RooflineClaims, a_claim_that_caches_break_names_both_counts) {
  RooflineStudy study = study_of_the_paper(Evidence::measured);
  for (KernelPoint& point : sweep_in(study, "conv2d", "batch").points) {
    const double share = point.value == 16 ? 0.5 : 1;
    point.counters = {{"dram_read_bytes", share * static_cast<double>(point.work.bytes)},
                      {"dram_write_bytes", 0}};
  }
  const RooflineVerdict verdict = verdict_on(study, "a larger batch keeps FLOP per byte");
  EXPECT_EQ(verdict.word, "no");
  EXPECT_NE(verdict.note.find("(bytes counted are 0.50× the definition's at 16, 1.00× at 64: "
                              "caches hold more of the smaller one)"),
            verdict.note.npos)
      << verdict.note;
}

// "Relatively constant compared with" the FLOP: a quarter of the FLOP at 0.63 and 0.52 of the
// bytes, as the V100's limit and the H200 have it, is; half of the FLOP at 0.63 is not.
TEST(RooflineClaims, bytes_are_constant_relative_to_flop) {
  const auto verdict_at = [](std::int64_t flop, std::int64_t bytes) {
    RooflineStudy study = study_of_the_paper(Evidence::predicted);
    Work& work = sweep_in(study, "conv2d", "stride").points[1].work;
    work.flop = flop;
    work.bytes = bytes;
    return verdict_on(study, "stride 1 → 2").word;
  };
  EXPECT_EQ(verdict_at(500'000'000, 6'300'000), "yes");
  EXPECT_EQ(verdict_at(500'000'000, 5'200'000), "yes");
  EXPECT_EQ(verdict_at(1'000'000'000, 6'300'000), "no");
}

// The row of a sentence says it, and rows of our own say none.
TEST(RooflineClaims, every_statement_has_its_sentence) {
  const RooflineStudy study = study_of_the_paper(Evidence::predicted);
  for (const Finding& finding : roofline_findings(study, &study)) {
    EXPECT_EQ(finding.sentence.empty(), finding.printed.empty()) << finding.what;
    EXPECT_TRUE(finding.sentence.empty() || finding.sentence.ends_with(')'))
        << "no place: " << finding.sentence;
    EXPECT_EQ(finding.sentence == "The run time is constant (LSTM over batch, figure 9)",
              finding.what.starts_with("run time does not depend"))
        << finding.what;
  }
}

CaptureCase conv2d_of(std::string framework, double kernel_s, double tensor_flop) {
  CaptureCase one;
  one.framework = std::move(framework);
  one.network = "conv2d";
  one.batch = 16;
  one.part = "forward";
  one.dtype = "fp16";
  one.kernel_s = kernel_s;
  one.counted = {{"wgmma_fp16_flop", tensor_flop}, {"fma_pipe_flop", 1e9}};
  return one;
}

Finding of_frameworks(const std::vector<CaptureCase>& cases, std::string_view what) {
  CaptureStudy study;
  study.cases = cases;
  RooflineStudy own = study_of_the_paper(Evidence::measured);
  own.machine = load_machine("h200");
  for (SweepResult& sweep : own.sweeps) sweep.points.clear();
  for (Finding& finding : frameworks_of_the_paper(study, own)) {
    if (finding.what.starts_with(what)) return finding;
  }
  return {};
}

// The paper's PyTorch was the fastest; on an H200 JAX took 34.1 µs where PyTorch took 57.9.
TEST(RooflineClaims, the_fastest_framework_is_told_by_every_comparison) {
  const std::string what = "PyTorch's kernels take less time";
  EXPECT_FALSE(of_frameworks({}, what).is_printed);
  const Finding faster =
      of_frameworks({conv2d_of("pytorch", 1e-5, 9e9), conv2d_of("jax", 2e-5, 9e9)}, what);
  EXPECT_TRUE(faster.is_printed && faster.holds);
  EXPECT_EQ(faster.found, "1 of 1 comparisons");
  const Finding slower =
      of_frameworks({conv2d_of("pytorch", 57.9e-6, 9e9), conv2d_of("jax", 34.1e-6, 9e9)}, what);
  EXPECT_FALSE(slower.holds);
  EXPECT_NE(slower.note.find("conv2d fp16 forward at batch 16: jax 34.1 µs, PyTorch 57.9 µs"),
            slower.note.npos)
      << slower.note;
}

TEST(RooflineClaims, idle_tensor_units_are_told_by_counters) {
  const std::string what = "tensor units unused";
  EXPECT_FALSE(of_frameworks({}, what).is_printed);
  const Finding used =
      of_frameworks({conv2d_of("pytorch", 1e-5, 9e9), conv2d_of("jax", 2e-5, 9e9)}, what);
  EXPECT_FALSE(used.holds);
  EXPECT_EQ(used.found, "pytorch 90 % · jax 90 %");
  EXPECT_TRUE(
      of_frameworks({conv2d_of("pytorch", 1e-5, 9e9), conv2d_of("jax", 2e-5, 1e7)}, what).holds);
}

}  // namespace
}  // namespace strata
