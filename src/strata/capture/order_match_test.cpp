// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/order_match.hpp"

#include <gtest/gtest.h>

#include <random>

namespace strata {
namespace {

OrderedWork call_of(std::string kernel_class) {
  return {.name = kernel_class, .classes = {{kernel_class}}, .is_call = true};
}
OrderedWork run_of(std::vector<std::string> classes) {
  OrderedWork run{.name = "", .classes = {}, .is_call = false};
  for (std::string& one : classes) run.classes.push_back({std::move(one)});
  return run;
}

struct Nodes {
  std::vector<Node> all;
  std::vector<const Node*> pointers() const {
    std::vector<const Node*> result;
    for (const Node& node : all) result.push_back(&node);
    return result;
  }
};

Nodes nodes_of(const std::string& letters) {
  Nodes nodes;
  for (const char letter : letters) {
    Node node;
    node.name = std::string(1, letter);
    if (letter == 'c') node.op = Convolution{};
    if (letter == 'b') node.op = BatchNorm{};
    if (letter == 'r') node.op = Unary{};
    if (letter == '+') node.op = Elementwise{};
    if (letter == 'p') node.op = Pool{};
    nodes.all.push_back(node);
  }
  return nodes;
}

TEST(OrderMatch, FindsTheOneWay) {
  const Nodes nodes = nodes_of("cb+rc");
  const OrderMatch match =
      match_by_order({call_of("convolution"), call_of("normalisation"), run_of({"element_wise"}),
                      call_of("element_wise"), call_of("convolution"), run_of({"softmax", "loss"})},
                     nodes.pointers());
  ASSERT_EQ(match.refusal, "");
  EXPECT_EQ(match.nodes[2], (std::vector<std::size_t>{2}));
  EXPECT_EQ(match.nodes[3], (std::vector<std::size_t>{3}));
  EXPECT_TRUE(match.nodes[5].empty());
}

TEST(OrderMatch, RefusesWhatDoesNotFit) {
  const Nodes nodes = nodes_of("cbrp");
  const OrderMatch match = match_by_order(
      {call_of("convolution"), call_of("convolution"), call_of("element_wise"), call_of("pooling")},
      nodes.pointers());
  EXPECT_NE(match.refusal.find("'convolution'"), std::string::npos) << match.refusal;
  EXPECT_NE(match.refusal.find("'b'"), std::string::npos) << match.refusal;
  // A layer too many, a call too many.
  EXPECT_NE(match_by_order({call_of("convolution")}, nodes_of("cc").pointers()).refusal, "");
  EXPECT_NE(
      match_by_order({call_of("pooling"), call_of("pooling")}, nodes_of("p").pointers()).refusal,
      "");
  EXPECT_NE(match_by_order({run_of({"element_wise"})}, nodes_of("r").pointers()).refusal, "");
}

TEST(OrderMatch, RefusesWhatFitsInSeveralWays) {
  // Which of the two runs is the addition cannot be told.
  const OrderMatch match =
      match_by_order({run_of({"element_wise"}), call_of("element_wise"), run_of({"element_wise"})},
                     nodes_of("r+").pointers());
  EXPECT_NE(match.refusal.find("several"), std::string::npos) << match.refusal;
}

TEST(OrderMatch, KeepsWhatNamesTold) {
  // Two ways without it: the second and the third addition are equal to kernels.
  std::vector<OrderedWork> work = {call_of("convolution"), run_of({"element_wise"}),
                                   call_of("element_wise"), run_of({"element_wise"})};
  const Nodes nodes = nodes_of("c+r");
  ASSERT_NE(match_by_order(work, nodes.pointers()).refusal, "");
  work[2].known = {2};
  const OrderMatch match = match_by_order(work, nodes.pointers());
  ASSERT_EQ(match.refusal, "");
  EXPECT_EQ(match.nodes[1], (std::vector<std::size_t>{1}));
  EXPECT_EQ(match.nodes[2], (std::vector<std::size_t>{2}));
  EXPECT_TRUE(match.nodes[3].empty());
  // Out of order, or with something between its nodes: no way.
  work[2].known = {0};
  EXPECT_NE(match_by_order(work, nodes.pointers()).refusal, "");
  work[2].known = {0, 2};
  EXPECT_NE(match_by_order(work, nodes.pointers()).refusal, "");
}

/// Every way to give pieces of work nodes in order, counted by trying all of them.
int ways_by_trying(const std::vector<OrderedWork>& work, const std::vector<const Node*>& nodes,
                   std::size_t i, std::size_t j) {
  if (i == work.size()) return j == nodes.size() ? 1 : 0;
  int ways = 0;
  const std::size_t most = work[i].is_call ? 1 : work[i].classes.size();
  for (std::size_t m = work[i].is_call ? 1 : 0; m <= most && j + m <= nodes.size(); ++m) {
    bool fits = true;
    for (std::size_t k = 0; k < m; ++k) {
      bool one_fits = false;
      for (std::size_t c = 0; c < work[i].classes.size(); ++c) {
        const bool is_its_own = m != work[i].classes.size() || c == k;
        one_fits = one_fits || (is_its_own && can_be(nodes[j + k]->op, work[i].classes[c]));
      }
      fits = fits && one_fits;
    }
    if (fits) ways += ways_by_trying(work, nodes, i + 1, j + m);
  }
  return ways;
}

TEST(OrderMatch, CountsWaysAsTryingAllOfThemDoes) {
  std::mt19937 random(7);
  int unique = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto below = [&](std::size_t n) {
      return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
    };
    constexpr std::string_view letters = "cbr+p";
    const std::vector<std::string> classes = {"convolution", "normalisation", "element_wise",
                                              "pooling"};
    std::string text;
    for (std::size_t i = below(5); i < 5; ++i) text += letters[below(letters.size())];
    const Nodes nodes = nodes_of(text);
    std::vector<OrderedWork> work = {call_of(classes[below(4)])};
    for (std::size_t i = below(5); i < 5; ++i) {
      if (below(3) == 0 && work.back().is_call) {
        work.push_back(below(2) == 0 ? run_of({classes[below(4)]})
                                     : run_of({classes[below(4)], classes[below(4)]}));
      } else {
        work.push_back(call_of(classes[below(4)]));
      }
    }
    const int ways = ways_by_trying(work, nodes.pointers(), 0, 0);
    const OrderMatch match = match_by_order(work, nodes.pointers());
    EXPECT_EQ(match.refusal.empty(), ways == 1) << text << ": " << match.refusal;
    unique += ways == 1 ? 1 : 0;
  }
  EXPECT_GT(unique, 10);
}

}  // namespace
}  // namespace strata
