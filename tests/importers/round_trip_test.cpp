// SPDX-License-Identifier: Apache-2.0
// What `strata convert` promises: every network that Strata can read or build, written in its own
// format, reads back as the same network with the same costs.
#include "counts.hpp"
#include "strata/importers/importers.hpp"
#include "strata/importers/network/network.hpp"
#include "tests/network_format/same_graph.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace strata {
namespace {

bool is_same(const PassCost& a, const PassCost& b) {
  return a.mac == b.mac && a.flop == b.flop && a.accesses == b.accesses;
}

bool is_same(const NodeCost& a, const NodeCost& b) {
  const auto is_same_saved = [](const Saved& x, const Saved& y) {
    return x.name == y.name && x.bytes == y.bytes;
  };
  return a.is_counted == b.is_counted && is_same(a.forward, b.forward) &&
         is_same(a.backward_input, b.backward_input) &&
         is_same(a.backward_weight, b.backward_weight) &&
         std::equal(a.saved.begin(), a.saved.end(), b.saved.begin(), b.saved.end(), is_same_saved);
}

void expect_same_costs(const Graph& a, const Graph& b, const Binding& sizes) {
  const std::vector<NodeCost> first = costs_of(bind_graph(a, sizes));
  const std::vector<NodeCost> second = costs_of(bind_graph(b, sizes));
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    ASSERT_TRUE(is_same(first[i], second[i])) << a.nodes[i].name;
  }
}

void expect_round_trip(const Graph& graph) {
  const std::string text = write_network(graph);
  const Graph again = read_network(text, "round_trip.json");
  ASSERT_EQ(difference(graph, again), "");
  EXPECT_EQ(write_network(again), text);
  expect_same_costs(graph, again, {});
  const auto& sizes = graph.symbols.parameters();
  const bool has_batch = std::any_of(sizes.begin(), sizes.end(),
                                     [](const Parameter& size) { return size.name == "batch"; });
  // A batch that the network cannot take (grouped frames) is refused for both.
  if (has_batch) expect_same_costs(graph, again, {{"batch", 48}});
}

TEST(RoundTrip, every_built_in_network) {
  for (const Network& network : networks()) {
    SCOPED_TRACE(std::string(network.name));
    expect_round_trip(build_network(network.name));
  }
}

TEST(RoundTrip, every_file_of_the_collection) {
  if (!collection()) GTEST_SKIP() << no_collection;
  std::size_t files = 0;
  for (const std::string_view extension : {".onnx", ".json", ".prototxt", ".cfg"}) {
    for (const auto& file : files_below(*collection(), extension)) {
      SCOPED_TRACE(file.lexically_relative(*collection()).string());
      Graph graph;
      try {
        graph = import_model(file);
      } catch (const Error&) {
        continue;  // the tests of each format say which files are refused, and why
      }
      try {
        expect_round_trip(graph);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
      ++files;
    }
  }
  EXPECT_GE(files, 200U);
}

}  // namespace
}  // namespace strata
