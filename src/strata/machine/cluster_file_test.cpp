// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/cluster_file.hpp"

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace strata {
namespace {

using Json = nlohmann::json;

Json good_cluster() {
  return Json::parse(R"({
    "strata_cluster": 1, "name": "lab", "machine": "a100-80gb", "devices_per_node": 8, "nodes": 4,
    "inside": {"name": "NVLink", "bandwidth_bytes_per_s": 3e11, "reached_bytes_per_s": 2.3e11,
               "hop_s": 3e-6, "source": "data sheet"},
    "between": {"name": "HDR", "bandwidth_bytes_per_s": 2.5e10, "source": "offer"},
    "interference": 0.1,
    "collectives": [{"collective": "all-reduce", "ranks": 8, "source": "nccl-tests",
                     "points": [[1024, 1e-5], [1048576, 5e-5], [1073741824, 8e-3]]}],
    "notes": ["rack 3"]})");
}

/// Why a cluster file is refused; "accepted" when it is not.
std::string why_refused(const Json& document) {
  try {
    read_cluster(document.dump());
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::input || error.kind() == ErrorKind::usage)
        << error.what();
    return error.what();
  }
  return "accepted";
}

TEST(ClusterFile, says_what_joins_devices) {
  const Cluster cluster = read_cluster(good_cluster().dump());
  EXPECT_EQ(cluster.name, "lab");
  EXPECT_EQ(cluster.devices(), 32);
  EXPECT_EQ(cluster.inside.reached_bytes_per_s, 2.3e11);
  ASSERT_TRUE(cluster.between.has_value());
  EXPECT_EQ(cluster.between->bytes_per_s, 2.5e10);
  EXPECT_EQ(cluster.between->reached_bytes_per_s, 2.5e10);  // nothing says less
  EXPECT_EQ(cluster.interference, 0.1);
  ASSERT_EQ(cluster.collectives.size(), 1U);
  EXPECT_EQ(cluster.collectives[0].points[1].time_s, 5e-5);
  EXPECT_TRUE(cluster.assumptions.empty());
}

TEST(ClusterFile, links_that_are_not_said_are_the_machines) {
  Json json = good_cluster();
  json.erase("inside");
  json.erase("between");
  const Cluster from_file = read_cluster(json.dump());
  const Cluster named = load_cluster("4x8xa100-80gb");
  EXPECT_EQ(from_file.inside, named.inside);
  EXPECT_EQ(from_file.between, named.between);
  EXPECT_EQ(from_file.assumptions, named.assumptions);
}

TEST(ClusterFile, is_read_back_as_it_was_written) {
  for (const Cluster& cluster : {read_cluster(good_cluster().dump()), load_cluster("16x8xh100-sxm"),
                                 load_cluster("2xl40s"), load_cluster("v100-nersc")}) {
    const Cluster again = read_cluster(to_json(cluster));
    EXPECT_EQ(again.name, cluster.name);
    EXPECT_EQ(again.machine, cluster.machine);
    EXPECT_EQ(again.devices_per_node, cluster.devices_per_node);
    EXPECT_EQ(again.nodes, cluster.nodes);
    EXPECT_EQ(again.inside, cluster.inside) << cluster.name;
    EXPECT_EQ(again.between, cluster.between) << cluster.name;
    EXPECT_EQ(again.interference, cluster.interference);
    EXPECT_EQ(again.collectives, cluster.collectives);
    EXPECT_EQ(to_json(again).substr(0, 200), to_json(cluster).substr(0, 200));
  }
}

TEST(ClusterFile, wrong_values_are_refused_by_their_place) {
  const auto with = [](const char* pointer, const Json& value) {
    Json json = good_cluster();
    json[Json::json_pointer(pointer)] = value;
    return why_refused(json);
  };
  const auto expect = [](const std::string& reason, const char* place) {
    EXPECT_NE(reason.find(place), std::string::npos) << reason;
  };
  expect(with("/strata_cluster", 2), "cluster.strata_cluster: expected 1");
  expect(with("/machine", 7), "cluster.machine: expected text");
  expect(with("/machine", "a100-80g"), "a100-80gb");  // the nearest
  expect(with("/devices_per_node", 0), "cluster.devices_per_node: must be positive");
  expect(with("/devices_per_node", 1.5), "expected a count");
  expect(with("/nodes", -1), "cluster.nodes");
  expect(with("/nodes", 1e9), "a cluster has 1 to 1048576 devices");
  expect(with("/nodes", nullptr), "cluster.nodes: expected a number");
  expect(with("/inside", 4), "cluster.inside: expected an object");
  expect(with("/inside/bandwidth_bytes_per_s", 0), "must be positive");
  expect(with("/inside/reached_bytes_per_s", 4e11), "is more than the link's");
  expect(with("/inside/hop_s", -1e-6), "must not be negative");
  expect(with("/inside/source", 1), "cluster.inside.source: expected text");
  expect(with("/inside/rate", 1), "rate");
  expect(with("/interference", 1.5), "a share from 0 to 1");
  expect(with("/collectives", 3), "cluster.collectives");
  expect(with("/collectives/0/collective", "broadcast"), "cluster.collectives[0].collective");
  expect(with("/collectives/0/ranks", 1), "expected 2 or more");
  expect(with("/collectives/0/points", Json::array()), "there are none");
  expect(with("/collectives/0/points/1", Json::array({1024, 1e-5})), "points[1]: sizes must rise");
  expect(with("/collectives/0/points/1", Json::array({2048})), "expected [bytes, seconds]");
  expect(with("/collectives/0/points/1/1", 0), "points[1][1]: must be positive");
  expect(with("/collectives/0/points/1/0", "1 KiB"), "expected a number");
  expect(with("/typo", 1), "typo");
  EXPECT_EQ(why_refused(good_cluster()), "accepted");
  for (const char* text : {"", "[]", "{", "null", R"({"strata_cluster": 1})",
                           R"({"strata_cluster": 1, "machine": "h200", "nodes": 1e999})",
                           R"({"strata_cluster": 1, "machine": "h200", "nodes": NaN})"})
    EXPECT_THROW(read_cluster(text), Error) << text;
}

TEST(ClusterFile, a_machine_file_may_lie_beside_it) {
  const test::TemporaryFolder folder;
  Machine machine = load_cluster("h200").machine;
  machine.name = "mine";
  std::ofstream(folder.path() / "mine.json") << to_json(machine);
  Json json = good_cluster();
  json["machine"] = "mine.json";
  std::ofstream(folder.path() / "lab.json") << json.dump();
  const std::string path = (folder.path() / "lab.json").string();
  EXPECT_TRUE(names_cluster(path));
  EXPECT_EQ(load_cluster(path).machine.name, "mine");
  json["machine"] = "other.json";
  std::ofstream(folder.path() / "lab.json") << json.dump();
  try {
    load_cluster(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("lab.json"), std::string::npos) << error.what();
  }
}

TEST(Cluster, grows_by_nodes_and_shrinks_within_one) {
  const Cluster cluster = load_cluster("2x8xh100-sxm");
  EXPECT_EQ(with_devices(cluster, 16).name, cluster.name);
  const Cluster more = with_devices(cluster, 64);
  EXPECT_EQ(more.name, "8x8xh100-sxm");
  EXPECT_EQ(more.nodes, 8);
  EXPECT_EQ(more.between, cluster.between);
  const Cluster part = with_devices(cluster, 4);
  EXPECT_EQ(part.name, "4xh100-sxm");
  EXPECT_EQ(part.nodes, 1);
  EXPECT_EQ(part.inside, cluster.inside);
  EXPECT_FALSE(part.between.has_value());
  EXPECT_THROW(with_devices(cluster, 20), Error);
  EXPECT_THROW(with_devices(cluster, 0), Error);
  EXPECT_THROW(with_devices(cluster, std::int64_t{1} << 40), Error);
  // A node that has seen no network gets that of its machine.
  EXPECT_EQ(with_devices(load_cluster("8xh100-sxm"), 64).between, more.between);
  EXPECT_EQ(with_devices(read_cluster(good_cluster().dump()), 8).name, "8 of lab");
}

}  // namespace
}  // namespace strata
