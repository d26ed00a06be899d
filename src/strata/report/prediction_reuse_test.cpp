// SPDX-License-Identifier: Apache-2.0
#include "strata/report/prediction_reuse.hpp"

#include "strata/training/program.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <ctime>

namespace strata {
namespace {

double cpu_time_of_reuse_s(std::int64_t seq) {
  const Graph graph = build_network("lstm");
  const Program program = make_program(bind_graph(graph, {{"batch", 1}, {"seq", seq}}), {});
  Plan plan;
  plan.uses.resize(program.uses.size());
  const std::clock_t begin = std::clock();
  reuse_by_scope(program, plan);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// A step that gathers the sequence is the end of as many intervals as the sequence has steps.
TEST(ReuseByScope, takes_time_that_grows_with_the_sequence) {
  const double begin_s = cpu_time_of_reuse_s(2'000);
  EXPECT_LT(cpu_time_of_reuse_s(16'000), 20 * begin_s + 0.1);  // it was 50 times as long
}

}  // namespace
}  // namespace strata
