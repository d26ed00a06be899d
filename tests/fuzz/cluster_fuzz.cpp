// SPDX-License-Identifier: Apache-2.0
// What people write about many devices: files of clusters, of measured strategies, and strategies.
#include "strata/api/validate_parallel.hpp"
#include "strata/base/error.hpp"
#include "strata/machine/cluster_file.hpp"
#include "strata/parallel/collectives.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

void try_cluster(std::string_view text) {
  const strata::Cluster cluster = strata::read_cluster(text);
  const strata::RankGroup all{cluster.devices(), 1};
  if (cluster.devices() > 1 &&
      std::isnan(collective_time_s(cluster, all, strata::CollectiveKind::all_reduce, 1e6)))
    __builtin_trap();
  // What was read and is written reads again as the same cluster.
  const strata::Cluster again = strata::read_cluster(strata::to_json(cluster));
  const bool is_same = again.name == cluster.name && again.devices() == cluster.devices() &&
                       again.between == cluster.between &&
                       again.collectives == cluster.collectives &&
                       (cluster.devices_per_node == 1 || again.inside == cluster.inside);
  if (!is_same) __builtin_trap();
}

void try_strategy(std::string_view text) {
  const strata::Strategy strategy = strata::parse_strategy(text);
  if (!(strata::parse_strategy(to_text(strategy)) == strategy)) {
    // Parts that mean nothing alone (chunks or a schedule of one stage) are not written.
    if (strategy.pipeline > 1) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (void (*run)(std::string_view) :
       {try_cluster, +[](std::string_view truth) { strata::read_parallel_truth(truth); },
        try_strategy}) {
    try {
      run(text);
    } catch (const strata::Error& error) {
      if (error.kind() == strata::ErrorKind::internal) throw;
    }
  }
  return 0;
}
