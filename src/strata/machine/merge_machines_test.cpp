// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/merge_machines.hpp"

#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

namespace strata {
namespace {

Machine node_machine(const std::string& host) {
  Machine machine = load_machine("h200");
  machine.measured = Measured{host, "2026-03-0" + host.substr(host.size() - 1), {}, {}};
  return machine;
}

std::vector<MeasuredNode> nodes_of(int count) {
  std::vector<MeasuredNode> nodes;
  for (int i = 1; i <= count; ++i) {
    const std::string host = "node" + std::to_string(i);
    nodes.push_back({host + ".json", node_machine(host)});
  }
  return nodes;
}

Sourced& dram_bandwidth(MeasuredNode& node) {
  return *node.machine.memory.back().bandwidth_bytes_per_s;
}

TEST(Numbers, every_machine_has_each_under_a_name_of_its_own) {
  for (const Machine& machine : shipped_machines()) {
    std::set<std::string> paths;
    for (const MachineNumber& entry : numbers_of(machine))
      EXPECT_TRUE(paths.insert(entry.path).second) << machine.name << " " << entry.path;
    for (const std::string& path : fields_of(machine)) {
      // What may be set is there, unless the machine does not say it.
      const bool may_be_absent =
          path.ends_with("bandwidth_bytes_per_s") || path.ends_with("latency_s");
      EXPECT_TRUE(paths.count(path) == 1 || may_be_absent) << machine.name << " " << path;
    }
  }
}

TEST(Numbers, side_by_side_has_every_number_of_both) {
  const Machine a = load_machine("h100-sxm");
  const Machine b = load_machine("mi300x");
  const auto pairs = side_by_side(a, b);
  std::size_t in_a = 0;
  std::size_t in_b = 0;
  for (const NumberPair& pair : pairs) {
    in_a += pair.first.has_value();
    in_b += pair.second.has_value();
    EXPECT_TRUE(pair.first || pair.second) << pair.path;
  }
  EXPECT_EQ(in_a, numbers_of(a).size());
  EXPECT_EQ(in_b, numbers_of(b).size());
  for (const NumberPair& pair : side_by_side(a, a)) EXPECT_EQ(pair.first, pair.second);
}

TEST(Merge, equal_nodes_make_the_same_machine_and_no_outliers) {
  const MergedMachines merged = merge_machines(nodes_of(3));
  EXPECT_TRUE(merged.outliers.empty());
  EXPECT_TRUE(merged.notes.empty());
  EXPECT_EQ(merged.machine.peaks, load_machine("h200").peaks);
  EXPECT_EQ(merged.machine.measured->host, "3 nodes: node1, node2, node3");
  EXPECT_EQ(merged.machine.measured->date, "2026-03-01 to 2026-03-03");
  EXPECT_EQ(read_machine(to_json(merged.machine)), merged.machine);
}

TEST(Merge, takes_the_median_and_names_host_and_field_of_what_is_5_percent_off) {
  auto nodes = nodes_of(3);
  dram_bandwidth(nodes[0]).value = 4.70e12;
  dram_bandwidth(nodes[1]).value = 4.40e12;
  dram_bandwidth(nodes[2]).value = 4.69e12;
  const MergedMachines merged = merge_machines(nodes);
  EXPECT_EQ(merged.machine.memory.back().bandwidth_bytes_per_s->value, 4.69e12);
  ASSERT_EQ(merged.outliers.size(), 1u);
  EXPECT_EQ(merged.outliers[0].host, "node2");
  EXPECT_EQ(merged.outliers[0].path, "machine.memory.dram.bandwidth_bytes_per_s");
  EXPECT_EQ(merged.machine.measured->warnings,
            std::vector<std::string>{"node2: machine.memory.dram.bandwidth_bytes_per_s is "
                                     "4.4e+12, -6.2 % from the median 4.69e+12"});
}

TEST(Merge, three_robust_sigmas_count_from_four_nodes_on_and_beyond_one_percent) {
  auto nodes = nodes_of(5);
  const double values[] = {4.70e12, 4.701e12, 4.699e12, 4.702e12, 4.60e12};
  for (std::size_t i = 0; i < 5; ++i) dram_bandwidth(nodes[i]).value = values[i];
  ASSERT_EQ(merge_machines(nodes).outliers.size(), 1u);
  EXPECT_EQ(merge_machines(nodes).outliers[0].host, "node5");
  EXPECT_GT(merge_machines(nodes).outliers[0].robust_sigmas, 3);
  dram_bandwidth(nodes[4]).value = 4.68e12;  // more than 3 sigmas, but half a percent
  EXPECT_TRUE(merge_machines(nodes).outliers.empty());
  dram_bandwidth(nodes[4]).value = 4.60e12;
  nodes.erase(nodes.begin(), nodes.begin() + 2);  // three nodes say nothing of a spread
  EXPECT_TRUE(merge_machines(nodes).outliers.empty());
}

TEST(Merge, agrees_with_a_plain_count_of_what_is_far_from_the_middle) {
  std::mt19937 random(3);
  std::normal_distribution<double> scatter(1, 0.03);
  for (int round = 0; round < 20; ++round) {
    auto nodes = nodes_of(9);
    std::vector<double> values;
    for (auto& node : nodes) {
      dram_bandwidth(node).value = 4.5e12 * scatter(random);
      values.push_back(dram_bandwidth(node).value);
    }
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const double median = sorted[4];
    std::vector<double> distances;
    for (const double value : values) distances.push_back(std::fabs(value - median));
    std::vector<double> by_distance = distances;
    std::sort(by_distance.begin(), by_distance.end());
    std::size_t expected = 0;
    for (const double distance : distances) {
      const bool is_unlikely = distance > 3 * 1.4826 * by_distance[4] && distance > 0.01 * median;
      expected += distance > 0.05 * median || is_unlikely;
    }
    EXPECT_EQ(merge_machines(nodes).outliers.size(), expected);
  }
}

TEST(Merge, says_which_versions_differ_and_what_only_some_nodes_give) {
  auto nodes = nodes_of(3);
  nodes[0].machine.measured->versions = {{"driver", "580"}};
  nodes[1].machine.measured->versions = {{"driver", "570"}};
  nodes[2].machine.measured->versions = {{"driver", "580"}};
  for (MeasuredNode& node : nodes) node.machine.launch_latency_s.reset();
  nodes[1].machine.launch_latency_s = Sourced{4e-6, "measured"};
  const MergedMachines merged = merge_machines(nodes);
  EXPECT_EQ(merged.notes,
            (std::vector<std::string>{"driver differs: 570 (1 node), 580 (2 nodes)",
                                      "machine.launch_latency_s is given by 1 of 3 nodes"}));
  EXPECT_EQ(merged.machine.launch_latency_s->value, 4e-6);
}

TEST(Merge, refuses_what_is_not_alike) {
  const auto refusal = [](const std::vector<MeasuredNode>& nodes) -> std::string {
    try {
      merge_machines(nodes);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(nodes_of(1)), "merge expects the files of at least two nodes, got 1");
  auto nodes = nodes_of(2);
  nodes[1].machine.measured.reset();
  EXPECT_EQ(refusal(nodes), "node2.json: expected a measured machine, but it has no 'measured'");
  nodes = nodes_of(2);
  nodes[1].machine.title = "Another";
  EXPECT_EQ(refusal(nodes),
            "node2.json: expected another gpu 'NVIDIA H200 SXM 141 GB' as in node1.json, got gpu "
            "'Another'");
}

}  // namespace
}  // namespace strata
