// SPDX-License-Identifier: Apache-2.0
#include "strata/report/trace_network.hpp"

#include "strata/capture/recorded_network_test.hpp"
#include "strata/report/trace_report.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

class TraceNetworkReport : public testing::Test {
 protected:
  TraceNetworkReport() : bound_(bind_graph(graph_, {{"batch", 2}})) {
    RecordingForge forge;
    forge_step(forge, graph_, [](const Node& node) { return node.name; });
    forge.launch("fill_kernel", {});  // of nobody
    recording_ = forge.finish();
    report_ = make_trace_report("forged", recording_, nullptr, &bound_);
  }

  Graph graph_ = build_network("lenet5");
  BoundGraph bound_;
  Recording recording_;
  TraceReport report_;
};

TEST_F(TraceNetworkReport, SaysWhatWasFoundAndWhatNot) {
  ASSERT_TRUE(report_.network);
  const std::string text = to_text(*report_.network);
  EXPECT_NE(text.find("LeNet-5, batch 2, fp32, training"), text.npos) << text;
  EXPECT_NE(text.find("11 of 11 have kernels"), text.npos) << text;
  EXPECT_NE(text.find("by the names of weights"), text.npos) << text;
  EXPECT_NE(text.find("no layer  in no range forward (1, "), text.npos) << text;
}

TEST_F(TraceNetworkReport, TablesHaveItsRows) {
  const std::string text = network_layers_text(*report_.profile, 3, {});
  EXPECT_NE(text.find("FLOP/s"), text.npos) << text;
  EXPECT_NE(text.find("more"), text.npos) << text;
  const std::string csv = to_csv(std::span(&report_, 1), TraceView::layer);
  EXPECT_NE(csv.find("forged,c1,forward,convolution,"), csv.npos) << csv;
  std::size_t lines = 0;
  for (const char c : csv) lines += c == '\n' ? 1 : 0;
  EXPECT_EQ(lines, report_.profile->rows.size() + 1);
}

TEST_F(TraceNetworkReport, FindingsOfOtherAlgorithmsTakeTheirPlace) {
  const std::size_t before = report_.findings.size();
  add_slower_algorithms(report_, {});
  EXPECT_EQ(report_.findings.size(), before);
  const std::vector<MeasuredAlternative> faster = {{"c1", "forward", "fft", 1e-12, "f"},
                                                   {"c3", "forward", "fft", 1e-12, "f"}};
  add_slower_algorithms(report_, faster);
  ASSERT_EQ(report_.findings.size(), before + 1);
  for (std::size_t i = 1; i < report_.findings.size(); ++i) {
    const bool is_about_time = kind_of(report_.findings[i].code).is_about_time;
    EXPECT_TRUE(!is_about_time || report_.findings[i - 1].cost_s >= report_.findings[i].cost_s);
  }
}

}  // namespace
}  // namespace strata
