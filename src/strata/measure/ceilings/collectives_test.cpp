// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/collectives.hpp"

#include "strata/base/error.hpp"
#include "strata/machine/cluster_file.hpp"
#include "strata/machine/load_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace strata {
namespace {

/// GPUs whose collectives take a known time: 20 µs, 2 µs a step, and bytes at 100 GB/s.
class KnownGroup : public GpuGroup {
 public:
  explicit KnownGroup(int devices, double noise = 0) : noise_(noise) {
    for (int i = 0; i < devices; ++i) {
      DeviceInfo device;
      device.index = i;
      device.name = "NVIDIA H100 80GB HBM3";
      devices_.push_back(device);
    }
  }
  std::string library() const override { return "NCCL 2.0.0"; }
  const std::vector<DeviceInfo>& devices() const override { return devices_; }
  void join(int ranks, std::int64_t) override {
    ranks_ = ranks;
    joined.push_back(ranks);
  }
  double seconds_of(CollectiveKind kind, std::int64_t bytes, int repeats) override {
    EXPECT_EQ(bytes % (4 * ranks_), 0);
    EXPECT_GE(repeats, 1);
    ++calls_;
    asked.insert({kind, ranks_});
    return time_s(kind, ranks_, static_cast<double>(bytes)) * (1 + noise_ * (calls_ % 3 - 1));
  }
  static double time_s(CollectiveKind kind, int ranks, double bytes) {
    const double n = ranks, half_steps = n - 1;
    if (kind == CollectiveKind::point_to_point) return 20e-6 + bytes / 100e9;
    const double steps = kind == CollectiveKind::all_reduce ? 2 * half_steps : half_steps;
    return 20e-6 + steps * 2e-6 + steps / n * bytes / 100e9;
  }

  std::vector<int> joined;
  std::set<std::pair<CollectiveKind, int>> asked;

 private:
  std::vector<DeviceInfo> devices_;
  double noise_ = 0;
  int ranks_ = 0;
  int calls_ = 0;
};

TEST(Collectives, of_every_kind_and_group_are_found_again) {
  KnownGroup group(6);
  const Cluster cluster = measure_collectives(group, load_machine("h100-sxm"));
  EXPECT_EQ(group.joined, (std::vector<int>{2, 4, 6}));
  EXPECT_EQ(cluster.collectives.size(), 3 * 4 + 1U);  // point to point once
  for (const MeasuredCollective& one : cluster.collectives) {
    EXPECT_LE(one.points.front().bytes, 64);
    EXPECT_GT(one.points.back().bytes, 0.99 * (1 << 30));
    for (const MeasuredCollective::Point& point : one.points) {
      const double known_s = KnownGroup::time_s(one.kind, static_cast<int>(one.ranks), point.bytes);
      EXPECT_NEAR(point.time_s, known_s, 1e-9 * known_s) << name_of(one.kind);
    }
  }
}

// Bus bandwidth is what a rank sends over the time: 100 GB/s less what latency takes of 1 GiB; and
// 2 µs a step.
TEST(Collectives, links_follow_from_the_all_reduce) {
  KnownGroup group(8);
  const Cluster cluster = measure_collectives(group, load_machine("h100-sxm"));
  EXPECT_NEAR(cluster.inside.reached_bytes_per_s, 100e9, 0.01 * 100e9);
  EXPECT_NEAR(cluster.inside.hop_s, 2e-6, 0.01e-6);
  EXPECT_GT(cluster.inside.bytes_per_s, cluster.inside.reached_bytes_per_s);  // of the machine
  EXPECT_NE(cluster.inside.source.find("NCCL 2.0.0"), std::string::npos);
}

TEST(Collectives, are_written_and_read_back) {
  KnownGroup group(8);
  const Cluster cluster = measure_collectives(group, load_machine("h100-sxm"), {.is_quick = true});
  const Cluster again = read_cluster(to_json(cluster));
  EXPECT_EQ(again.collectives, cluster.collectives);
  EXPECT_EQ(again.inside, cluster.inside);
  EXPECT_EQ(again.devices(), 8);
}

TEST(Collectives, noise_is_noted_and_does_not_move_the_median_far) {
  KnownGroup group(2, 0.5);
  const Cluster cluster = measure_collectives(group, load_machine("h100-sxm"));
  const auto is_noted = [](const std::string& note) { return note.find("spread") < note.size(); };
  const MeasuredCollective& first = cluster.collectives.front();
  const double known_s = KnownGroup::time_s(first.kind, 2, first.points.back().bytes);
  EXPECT_NEAR(first.points.back().time_s, known_s, 1e-9 * known_s);
  EXPECT_TRUE(std::any_of(cluster.assumptions.begin(), cluster.assumptions.end(), is_noted));
  KnownGroup calm(2);
  const Cluster quiet = measure_collectives(calm, load_machine("h100-sxm"));
  EXPECT_TRUE(std::none_of(quiet.assumptions.begin(), quiet.assumptions.end(), is_noted));
}

TEST(Collectives, one_gpu_and_mixed_gpus_are_refused) {
  for (const int count : {0, 1}) {
    KnownGroup group(count);
    try {
      measure_collectives(group, load_machine("h100-sxm"));
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::environment);
      EXPECT_EQ(std::string(error.what()), count == 1 ? "NCCL needs two GPUs; this host has one"
                                                      : "NCCL needs two GPUs; this host has none");
    }
  }
  std::vector<DeviceInfo> mixed(2);
  mixed[0].name = "NVIDIA L4";
  mixed[1].name = "NVIDIA L40S";
  EXPECT_THROW(check_gpu_group(mixed), Error);
}

// A machine whose file has no link gets the one that was measured.
TEST(Collectives, a_machine_without_links_takes_what_was_measured) {
  KnownGroup group(4);
  Machine machine = load_machine("h100-sxm");
  machine.links.clear();
  const Cluster cluster = measure_collectives(group, machine);
  EXPECT_NEAR(cluster.inside.bytes_per_s, 100e9, 0.01 * 100e9);
  EXPECT_EQ(cluster.devices(), 4);
}

}  // namespace
}  // namespace strata
