// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/match_between_calls.hpp"

#include "strata/capture/model_profile.hpp"
#include "strata/capture/recorded_network_test.hpp"
#include "strata/graph/builder.hpp"

#include <gtest/gtest.h>

#include <map>

namespace strata {
namespace {

/// Two convolutions with so many operators between them that are no modules.
Graph with_functions(int functions) {
  GraphBuilder builder("net");
  TensorId x = builder.input("x", Shape{2, 4, 8, 8});
  x = builder.add("first", Convolution{.channels = 4, .kernel = {1, 1}}, {x});
  for (int i = 0; i < functions; ++i) x = builder.add("f" + std::to_string(i), Unary{}, {x});
  builder.add("second", Convolution{.channels = 4, .kernel = {1, 1}}, {x});
  return std::move(builder).finish();
}

/// So many kernels between the calls of the two; by layer how many it got.
std::map<std::string, std::int64_t> launches_with(int functions, int kernels,
                                                  const std::string& kernel) {
  const Graph graph = with_functions(functions);
  const BoundGraph bound = bind_graph(graph, {});
  RecordingForge forge;
  const auto call = [&](const std::string& name) {
    forge.open(name);
    forge.launch("sm80_xmma_fprop_x", {});
    forge.close();
  };
  call("first");
  for (int i = 0; i < kernels; ++i) forge.launch(kernel, {});
  call("second");
  const ModelProfile made = model_profile_of(forge.finish(), bound);
  std::map<std::string, std::int64_t> launches;
  for (const ProfileRow& row : made.profile.rows) launches[row.layer] += row.totals.launches;
  return launches;
}

constexpr const char* element_wise = "vectorized_elementwise_kernel";
using Launches = std::map<std::string, std::int64_t>;

TEST(GapMatch, AsManyKernelsAsOperatorsAreOneEach) {
  EXPECT_EQ(launches_with(1, 1, element_wise), (Launches{{"first", 1}, {"f0", 1}, {"second", 1}}));
  EXPECT_EQ(launches_with(3, 3, element_wise),
            (Launches{{"first", 1}, {"f0", 1}, {"f1", 1}, {"f2", 1}, {"second", 1}}));
}

TEST(GapMatch, OneOperatorAloneHasAllKernels) {
  EXPECT_EQ(launches_with(1, 4, element_wise), (Launches{{"first", 1}, {"f0", 4}, {"second", 1}}));
}

TEST(GapMatch, WhatIsNotToldStaysWithoutALayer) {
  EXPECT_EQ(launches_with(2, 3, element_wise),
            (Launches{{"first", 1}, {element_wise, 3}, {"second", 1}}));
  EXPECT_EQ(launches_with(0, 1, element_wise),
            (Launches{{"first", 1}, {element_wise, 1}, {"second", 1}}));
  // A kernel that does something else than the operator.
  EXPECT_EQ(launches_with(1, 1, "max_pool_forward_nchw"),
            (Launches{{"first", 1}, {"max_pool_forward_nchw", 1}, {"second", 1}}));
}

}  // namespace
}  // namespace strata
