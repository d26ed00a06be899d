// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/collectives.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace strata {
namespace {

Cluster small_cluster(double inside = 300e9, double between = 25e9) {
  Cluster cluster;
  cluster.devices_per_node = 8;
  cluster.nodes = 4;
  cluster.inside = {
      .name = "inside", .bytes_per_s = inside, .reached_bytes_per_s = inside, .hop_s = 1e-6};
  cluster.between = {
      .name = "net", .bytes_per_s = between, .reached_bytes_per_s = between, .hop_s = 3e-6};
  return cluster;
}

/// A ring in which every rank sends a part at a time to its neighbour: first sums, then copies.
double bytes_of_a_ring(int ranks, double bytes) {
  double sent = 0;
  for (int step = 0; step < 2 * (ranks - 1); ++step) sent += bytes / ranks;
  return sent;
}

TEST(Collectives, a_rank_sends_what_a_ring_sends_part_by_part) {
  for (const int ranks : {2, 3, 8, 64}) {
    EXPECT_NEAR(sent_bytes(CollectiveKind::all_reduce, ranks, 1e6), bytes_of_a_ring(ranks, 1e6), 1);
    EXPECT_NEAR(sent_bytes(CollectiveKind::all_gather, ranks, 1e6), bytes_of_a_ring(ranks, 1e6) / 2,
                1);
  }
  EXPECT_EQ(sent_bytes(CollectiveKind::all_reduce, 1, 1e6), 0);
}

TEST(Collectives, a_group_lies_in_as_few_nodes_as_its_stride_allows) {
  const Cluster cluster = small_cluster();
  EXPECT_EQ(places_of(cluster, {8, 1}).nodes, 1);
  EXPECT_EQ(places_of(cluster, {16, 1}).nodes, 2);
  EXPECT_EQ(places_of(cluster, {4, 8}).nodes, 4);
  EXPECT_EQ(places_of(cluster, {4, 4}).per_node, 2);
}

TEST(Collectives, eight_ranks_of_a_node_take_the_bytes_over_the_rate_and_the_steps) {
  const double time_s =
      collective_time_s(small_cluster(), {8, 1}, CollectiveKind::all_reduce, 800e6);
  EXPECT_NEAR(time_s, 52e-6 + 14e-6 + 2 * 800e6 * 7 / 8 / 300e9, 1e-9);
}

TEST(Collectives, groups_of_one_rank_per_node_share_the_network_with_their_neighbours) {
  const double one = collective_time_s(small_cluster(), {4, 8}, CollectiveKind::all_gather, 800e6);
  EXPECT_NEAR(one, 800e6 * 0.75 / 25e9, 0.1e-3);
  // All ranks of all nodes: every NIC of a node carries its share.
  const double all = collective_time_s(small_cluster(), {32, 1}, CollectiveKind::all_gather, 800e6);
  EXPECT_NEAR(all, 800e6 * 31 / 32 / 200e9, 0.2e-3);
}

TEST(Collectives, time_never_falls_with_slower_links_or_more_bytes) {
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
        CollectiveKind::all_to_all, CollectiveKind::point_to_point}) {
    for (const RankGroup group :
         {RankGroup{2, 1}, RankGroup{8, 1}, RankGroup{4, 8}, RankGroup{32, 1}}) {
      double before = 0;
      for (double bytes = 1; bytes < 1e10; bytes *= 7) {
        const double time_s = collective_time_s(small_cluster(), group, kind, bytes);
        EXPECT_GE(time_s, before);
        EXPECT_GE(collective_time_s(small_cluster(150e9, 25e9), group, kind, bytes), time_s);
        EXPECT_GE(collective_time_s(small_cluster(300e9, 12e9), group, kind, bytes), time_s);
        before = time_s;
      }
    }
  }
}

TEST(Collectives, measured_times_come_before_the_model) {
  Cluster cluster = small_cluster();
  cluster.collectives.push_back(
      {CollectiveKind::all_reduce, 8, "test", {{1e3, 20e-6}, {1e6, 40e-6}, {1e9, 10e-3}}});
  EXPECT_DOUBLE_EQ(collective_time_s(cluster, {8, 1}, CollectiveKind::all_reduce, 1e6), 40e-6);
  EXPECT_DOUBLE_EQ(collective_time_s(cluster, {8, 1}, CollectiveKind::all_reduce, 10), 20e-6);
  EXPECT_DOUBLE_EQ(collective_time_s(cluster, {8, 1}, CollectiveKind::all_reduce, 2e9), 20e-3);
}

}  // namespace
}  // namespace strata
