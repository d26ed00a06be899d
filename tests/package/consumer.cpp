// SPDX-License-Identifier: Apache-2.0
#include "strata/strata.hpp"
#include "strata/version.hpp"

#include <cstdio>

int main() {
  const strata::Graph graph = strata::load_model("resnet18");
  const strata::BoundGraph bound = strata::bind_model(graph, {.batch = 1});
  const auto parameters = static_cast<long long>(strata::summarize(bound).totals.parameters);
  std::printf("strata %s: resnet18 has %lld parameters\n", strata::version.data(), parameters);
  return parameters == 11'689'512 ? 0 : 1;  // the number torchvision publishes
}
