// SPDX-License-Identifier: Apache-2.0
// Predicts a network in a file on a machine: predict_file MODEL [MACHINE]
#include <strata/strata.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  const strata::Graph graph = strata::load_model(argc > 1 ? argv[1] : "resnet50");
  const strata::Machine machine = strata::load_machine(argc > 2 ? argv[2] : "h100-sxm");
  const strata::PredictedIteration iteration = strata::predict_model(graph, machine);
  std::fputs(to_text(iteration.summary, {}, {}).c_str(), stdout);
}
