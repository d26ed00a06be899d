// SPDX-License-Identifier: Apache-2.0
// The time of every layer and pass, at a batch of 64 with 128 MB on chip.
#include <strata/strata.hpp>

#include <cstdio>

int main() {
  const strata::Graph graph = strata::load_model("resnet18");
  strata::PredictRequest request;
  request.sizes.batch = 64;
  set_option(request, "capacity", "128MiB");
  const auto iteration = predict_model(graph, strata::load_machine("a100-40gb"), request);
  for (const strata::ProfileRow& row : iteration.summary.profile.rows)
    std::printf("%-24s %-9s %8.3f ms\n", row.layer.c_str(), row.pass.c_str(),
                1e3 * row.totals.time_s);
}
