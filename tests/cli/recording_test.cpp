// SPDX-License-Identifier: Apache-2.0
// Recordings in the commands that take a profile, as a black box: their time is that of their step.
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace strata::test {
namespace {

using Json = nlohmann::json;

/// Three steps as PyTorch's profiler writes them. In each a product of 10 ms, while whose last 4 a
/// copying kernel runs on another stream, then a host that computes, a launch, and 5 ms of
/// communication.
class TrainingTrace {
 public:
  explicit TrainingTrace(int host_ms) {
    for (int step = 0; step < 3; ++step) {
      const int start = now_;
      launch(10, 0, 7, "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_tn_align4>");
      launch(4, 6, 20, "void at::native::vectorized_elementwise_kernel<4, Copy>");
      now_ += 10'000 + 1000 * host_ms;
      launch(5, 0, 7, "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)");
      now_ += 6000;
      add("user_annotation", "ProfilerStep#" + std::to_string(step), start - 50, now_ - start, {});
    }
  }

  std::string written_to(const TemporaryFolder& folder, const std::string& name) const {
    const std::string path = (folder.path() / name).string();
    Json device = {{"id", 0},
                   {"name", "NVIDIA A100-SXM4-40GB"},
                   {"totalGlobalMem", 42297524224},
                   {"numSms", 108}};
    std::ofstream(path) << Json{{"schemaVersion", 1},
                                {"deviceProperties", Json::array({device})},
                                {"traceEvents", events_}};
    return path;
  }

 private:
  void launch(int ms, int after_ms, int stream, const std::string& kernel) {
    const int correlation = ++correlations_;
    add("cuda_runtime", "cudaLaunchKernel", now_ - 10 + stream, 8, {{"correlation", correlation}});
    add("kernel", kernel, now_ + 10 + 1000 * after_ms, 1000 * ms,
        {{"correlation", correlation},
         {"device", 0},
         {"stream", stream},
         {"grid", {1000, 1, 1}},
         {"block", {256, 1, 1}}});
  }
  void add(const std::string& category, const std::string& name, int at, int length, Json args) {
    events_.push_back({{"ph", "X"},
                       {"cat", category},
                       {"name", name},
                       {"pid", 1},
                       {"tid", 1},
                       {"ts", at},
                       {"dur", length},
                       {"args", std::move(args)}});
  }

  Json events_ = Json::array();
  int now_ = 1'000'000;
  int correlations_ = 0;
};

Json document_in(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

TEST(RecordingCommands, CompareComparesStepsAndItsThresholdToo) {
  const TemporaryFolder folder;
  const std::string before = TrainingTrace(60).written_to(folder, "before.json");
  const std::string after = TrainingTrace(20).written_to(folder, "after.json");
  const Outcome compared = run({"compare", before, after, "--threshold", "5%"});
  EXPECT_EQ(compared.exit_code, 1) << compared.out << compared.err;
  for (const char* part : {"iteration", "75.0 ms", "35.0 ms", "all kernels", "19.0 ms",
                           "idle: host", "at the same time", "−4.00 ms", "no: beyond"})
    EXPECT_NE(compared.out.find(part), compared.out.npos) << part << '\n' << compared.out;
  EXPECT_EQ(compared.out.find("rows are added up"), compared.out.npos);
  EXPECT_EQ(run({"compare", before, before, "--threshold", "5%"}).exit_code, 0);
}

TEST(RecordingCommands, WhatTraceWritesSaysTheSameAsTheRecording) {
  const TemporaryFolder folder;
  const std::string trace = TrainingTrace(60).written_to(folder, "t.json");
  const std::string written = (folder.path() / "written.json").string();
  ASSERT_EQ(run({"trace", trace, "--json", written}).exit_code, 0);
  const Json totals = document_in(written)["totals"];
  EXPECT_EQ(totals["time_from"], "step");
  EXPECT_NEAR(totals["time_s"], 75e-3, 1e-9);
  EXPECT_NEAR(totals["busy_time_s"], 19e-3, 1e-9);
  EXPECT_NEAR(totals["overlap_time_s"], 4e-3, 1e-9);
  EXPECT_NEAR(totals["gap_time_s"], 60e-3, 1e-9);
  const Outcome compared = run({"compare", trace, written, "--json", "-"});
  const Json both = Json::parse(compared.out)["totals"];
  EXPECT_EQ(both["a"]["time_s"], both["b"]["time_s"]);
  EXPECT_EQ(both["a"]["gap_time_s"], both["b"]["gap_time_s"]);
  const Json from_trace = Json::parse(run({"explain", trace, "--json", "-"}).out);
  const Json from_json = Json::parse(run({"explain", written, "--json", "-"}).out);
  EXPECT_EQ(from_trace["findings"], from_json["findings"]);
}

TEST(RecordingCommands, ExplainBeginsWithTheFindingsOfTrace) {
  const TemporaryFolder folder;
  const std::string trace = TrainingTrace(60).written_to(folder, "t.json");
  const std::string written = (folder.path() / "written.json").string();
  ASSERT_EQ(run({"trace", trace, "--json", written}).exit_code, 0);
  const Json traced = document_in(written)["processes"][0]["findings"];
  const Json explained = Json::parse(run({"explain", trace, "--json", "-"}).out);
  EXPECT_NEAR(explained["time_s"], 75e-3, 1e-9);
  EXPECT_EQ(explained["time_from"], "step");
  ASSERT_FALSE(traced.empty());
  EXPECT_EQ(traced[0]["code"], "host-gaps");
  ASSERT_GE(explained["findings"].size(), traced.size());
  // They are the same, and cost as much of the step as of all that was recorded.
  for (std::size_t i = 0; i < traced.size(); ++i) {
    Json of_step = explained["findings"][i];
    EXPECT_NEAR(of_step["cost_s"], 75e-3 * of_step["cost_share"].get<double>(), 1e-9);
    of_step["cost_s"] = traced[i]["cost_s"];
    EXPECT_EQ(of_step, traced[i]);
  }
  const Outcome text = run({"explain", trace});
  EXPECT_NE(text.out.find(": 75.0 ms a step"), text.out.npos) << text.out;
  EXPECT_NE(text.out.find("of the step, as over all that was recorded"), text.out.npos) << text.out;
}

TEST(RecordingCommands, TheSameFileTwiceIsRefused) {
  const TemporaryFolder folder;
  const std::string trace = TrainingTrace(60).written_to(folder, "t.json");
  const std::string again = (folder.path() / "." / "t.json").string();
  const Outcome twice = run({"trace", trace, again});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_NE(twice.err.find("are the same file"), twice.err.npos) << twice.err;
  const std::string other = TrainingTrace(20).written_to(folder, "u.json");
  EXPECT_EQ(run({"trace", trace, other}).exit_code, 0);
}

TEST(RecordingCommands, ATraceWithoutKernelsSaysWhatToRecord) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "cpu.json").string();
  std::ofstream(path) << R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op",
    "name": "aten::relu", "pid": 1, "tid": 1, "ts": 1000, "dur": 5}]})";
  const Outcome shown = run({"trace", path});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("no kernel is recorded"), shown.out.npos) << shown.out;
  EXPECT_NE(shown.out.find("ProfilerActivity.CUDA"), shown.out.npos) << shown.out;
  EXPECT_EQ(shown.out.find("nothing stands out"), shown.out.npos) << shown.out;
}

}  // namespace
}  // namespace strata::test
