// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/framework/operations.hpp"
#include "strata/framework/small_network_test.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace strata {
namespace {

using small_network::Lines;
using small_network::Net;

/// Four experts of a linear layer and an activation, each on two words of eight.
Net network_with_experts(const FrameworkOptions& options) {
  Net net;
  GraphBuilder& b = net.builder;
  const TensorId x = b.input("x", {1, 8, 16});
  std::vector<TensorId> results;
  for (int i = 0; i < 4; ++i) {
    const GraphBuilder::Scope expert(b, fmt::format("experts.{}", i));
    const TensorId numbers = b.stored("numbers", {2}, TensorKind::constant, DType::int64);
    const TensorId words = b.add("words", Gather{1}, {x, numbers});
    results.push_back(
        b.add("act", Unary{}, {b.add("fc", Linear{.features = 32, .bias = false}, {words})}));
  }
  b.add("join", Concat{1}, results);
  net.finish(options);
  return net;
}

// One product of four, a kernel over the activations of all: an expert has a quarter of each, and
// of the call.
TEST(GroupedExperts, have_operations_that_are_those_of_all_with_a_share_for_each) {
  const Net apart = network_with_experts({});
  const Net grouped = network_with_experts({.experts = ExpertKernels::grouped});
  EXPECT_EQ(apart.lines("experts.1.fc forward"), (Lines{"linear.forward_no_bias fp32 1 2 32 16"}));
  EXPECT_EQ(grouped.lines("experts.1.fc forward"),
            (Lines{"linear.forward_no_bias fp32 4 2 32 16"}));
  EXPECT_EQ(grouped.lines("experts.1.act forward"), (Lines{"relu.forward fp32 256"}));
  EXPECT_EQ(grouped.lines("experts.1.words forward"), apart.lines("experts.1.words forward"));
  ASSERT_EQ(apart.operations.operations.size(), grouped.operations.operations.size());
  ASSERT_EQ(apart.operations.calls.size(), grouped.operations.calls.size());
  for (std::size_t i = 0; i < apart.operations.operations.size(); ++i) {
    const FrameworkOperation& one = apart.operations.operations[i];
    const FrameworkOperation& all = grouped.operations.operations[i];
    EXPECT_NEAR(all.dims[0] * all.share, one.dims[0], 1e-9)
        << small_network::line_of(one);  // the same work
  }
  double calls = 0;
  for (const HostCall& call : grouped.operations.calls) calls += call.share;
  // Of four calls of fc and act each, forward and backward, one is left.
  EXPECT_NEAR(static_cast<double>(grouped.operations.calls.size()) - calls, 4 * 3, 1e-9);
  const Net of_rank = network_with_experts({.experts = ExpertKernels::grouped, .expert_ranks = 2});
  EXPECT_EQ(of_rank.lines("experts.1.fc forward"),
            (Lines{"linear.forward_no_bias fp32 2 2 32 16"}));
}

TEST(GroupedExperts, are_refused_with_a_compiler) {
  Net net;
  net.framework = "pytorch-compile";
  net.builder.add("fc", Linear{.features = 4}, {net.builder.input("x", {2, 8})});
  EXPECT_THROW(net.finish({.experts = ExpertKernels::grouped}), Error);
}

}  // namespace
}  // namespace strata
