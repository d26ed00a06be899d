// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_request.hpp"

#include "cli/predict_flags.hpp"
#include "cli/progress.hpp"

namespace strata {

Cluster cluster_of(const Arguments& given) {
  const auto name = given.value(on_flag);
  Cluster cluster = name ? load_cluster(*name) : make_cluster(machine_of(given), 1, 1);
  for (const std::string& assignment : given.values(set_flag))
    set_field(cluster.machine, assignment);
  return cluster;
}

ClusterRequest::ClusterRequest(const Arguments& given)
    : graph(load_model(given.word(0), import_options(given))),
      cluster(cluster_of(given)),
      wanted(predict_request(given, true)),
      model(graph, cluster, wanted) {}

ParallelChoice ClusterRequest::choose(WantEvents wants_events) {
  return model.choose(
      {}, [](std::size_t done, std::size_t all) { show_progress("trying strategies", done, all); },
      wants_events);
}

Explanation ClusterRequest::explain(const ParallelSummary& summary,
                                    const ParallelChoice* searched) {
  return explain_strategy(graph, cluster, wanted, model, summary, searched,
                          [](std::size_t done, std::size_t all) {
                            show_progress("predicting with changes", done, all);
                          });
}

}  // namespace strata
