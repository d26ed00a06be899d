// SPDX-License-Identifier: Apache-2.0
// What reading an ONNX file takes: memory that does not grow with the weights, and time that grows
// with the nodes and no faster. The figures themselves are in bench/onnx_bench.cpp; the bounds here
// are wide enough for a busy machine and an unoptimised build, and still fail for a copy of the
// weights or a pass that looks at all nodes for each.
#include "onnx_large_models.hpp"
#include "strata/cost/cost.hpp"
#include "strata/graph/bind.hpp"
#include "strata/importers/onnx/onnx.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>

namespace strata {
namespace {

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// The least of several runs: what others do on the machine only adds.
double seconds_per_node(std::int64_t nodes) {
  const std::string text = large_models::chain_of(nodes);
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 3; ++run) {
    const double start = processor_seconds();
    const Graph graph = read_onnx_text(text, "chain.onnx");
    EXPECT_EQ(costs_of(bind_graph(graph, {})).size(), static_cast<std::size_t>(nodes));
    best = std::min(best, processor_seconds() - start);
  }
  return best / static_cast<double>(nodes);
}

TEST(OnnxScale, time_is_linear_in_the_nodes) {
  const double few = seconds_per_node(5'000);
  const double many = seconds_per_node(50'000);
  EXPECT_LT(many, 3 * few) << "seconds per node; ten times as many would be quadratic";
}

TEST(OnnxScale, weights_are_passed_over) {
  const large_models::SparseModel model;
  ASSERT_GT(std::filesystem::file_size(model.path()), std::uintmax_t{2} << 30);
  if (!large_models::restart_peak_memory())
    GTEST_SKIP() << "the peak of memory cannot be restarted";
  const double before = large_models::peak_memory_bytes();
  const double start = processor_seconds();
  const Graph graph = read_onnx(model.path());
  EXPECT_LT(processor_seconds() - start, 1.0);
  EXPECT_LT(large_models::peak_memory_bytes() - before, 100e6);
  EXPECT_EQ(graph.nodes.size(), static_cast<std::size_t>(large_models::SparseModel::layers));
}

}  // namespace
}  // namespace strata
