// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/expert_split.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/sequence_builder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace strata {
namespace {

/// So many experts, each on words of its own; `prefix` is what their modules are called.
Graph network_of(std::int64_t count, const std::string& prefix, bool gathers = true) {
  SequenceBuilder b("moe", 2, 8);
  const TensorId x = b.features("x", 16);
  std::vector<TensorId> results;
  for (std::int64_t i = 0; i < count; ++i) {
    const GraphBuilder::Scope expert(b, prefix + std::to_string(i));
    const TensorId numbers = b.stored("numbers", {4}, TensorKind::constant, DType::int64);
    const TensorId own = gathers ? b.add("words", Gather{1}, {x, numbers}) : x;
    results.push_back(b.linear("w2", b.unary("act", UnaryKind::silu, b.linear("w1", own, 32)), 16));
  }
  b.output(b.linear("head", b.add("join", Concat{1}, results), 4));
  return std::move(b).finish();
}

std::string why_not(const Graph& graph, std::int64_t ranks) {
  try {
    check_experts(graph, find_experts(graph), ranks);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    return error.what();
  }
  return {};
}

TEST(Experts, are_found_by_the_names_of_their_modules) {
  const Graph graph = network_of(4, "layers.0.block_sparse_moe.experts.");
  const ExpertList list = find_experts(graph);
  ASSERT_EQ(list.layers.size(), 1U);
  EXPECT_EQ(list.layers[0].count, 4);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const std::string& name = graph.nodes[id].name;
    const std::size_t at = name.find("experts.");
    EXPECT_EQ(list.places[id].is_expert(), at != std::string::npos) << name;
    if (at == std::string::npos) continue;
    EXPECT_EQ(list.places[id].expert, name[at + 8] - '0') << name;
  }
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(graph.nodes[list.layers[0].takes[i]].name.ends_with(".words"));
    EXPECT_TRUE(graph.nodes[list.layers[0].gives[i]].name.ends_with(".w2"));
  }
}

TEST(Experts, numbers_of_a_stranger_cost_nothing) {
  for (const char* prefix :
       {"experts.9999999", "experts.99999999999999999999", "my_experts.", "experts.x"}) {
    const ExpertList list = find_experts(network_of(3, prefix));
    for (const ExpertLayer& layer : list.layers) EXPECT_LE(layer.takes.size(), 3U);
  }
  EXPECT_TRUE(find_experts(network_of(3, "my_experts.")).layers.empty());
}

TEST(Experts, each_rank_keeps_its_share_of_every_layer) {
  const Graph graph = network_of(8, "experts.");
  const ExpertList list = find_experts(graph);
  for (const std::int64_t ranks : {1, 2, 4, 8}) {
    std::size_t kept = 0;
    for (NodeId id = 0; id < graph.nodes.size(); ++id)
      kept += list.places[id].is_expert() && stays(list, list.places[id], ranks) ? 1 : 0;
    EXPECT_EQ(kept, 4U * 8 / static_cast<std::size_t>(ranks));
  }
}

TEST(Experts, say_why_they_cannot_be_spread) {
  EXPECT_EQ(why_not(network_of(8, "experts."), 4), "");
  EXPECT_NE(why_not(network_of(6, "experts."), 4).find("ep=4 does not divide the 6 experts"),
            std::string::npos);
  EXPECT_NE(why_not(network_of(4, "branch."), 2).find("moe has no experts"), std::string::npos);
  EXPECT_NE(why_not(network_of(4, "experts.", false), 2).find("do not each gather"),
            std::string::npos);
}

}  // namespace
}  // namespace strata
