// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/step_work.hpp"

#include "strata/capture/recorded_network_test.hpp"
#include "strata/capture/trace_builder.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace strata {
namespace {

struct Sorted {
  StepWork work;
  KernelOrigins origins;

  std::string name(const WorkCall& call) const {
    return std::string(origins.layers.text(call.layer));
  }
};

Sorted sorted(RecordingForge& forge) {
  const Recording recording = forge.finish();
  Sorted result;
  result.origins = origins_of_kernels(recording, LaunchCalls(recording));
  std::vector<std::size_t> kernels(recording.kernels.size());
  std::iota(kernels.begin(), kernels.end(), std::size_t{0});
  result.work = step_work(recording, result.origins, classes_of_names(recording), kernels);
  return result;
}

TEST(StepWork, CallsAreRangesAndTheRestIsLoose) {
  RecordingForge forge;
  forge.open("part");
  forge.open("conv");
  forge.launch("sgemm", {});
  forge.launch("copy_kernel", {});
  forge.close();
  forge.launch("elementwise", {});  // inside "part", which holds a call
  forge.open("conv");
  forge.launch("sgemm", {});
  forge.close();
  forge.close();
  forge.launch("elementwise", {});
  const Sorted result = sorted(forge);
  ASSERT_EQ(result.work.forward.size(), 4U);
  EXPECT_EQ(result.name(result.work.forward[0]), "conv");
  EXPECT_EQ(result.work.forward[0].kernels, (std::vector<std::size_t>{0, 1}));
  EXPECT_TRUE(result.work.forward[1].is_loose());
  EXPECT_EQ(result.origins.layers.text(result.work.forward[1].around), "part");
  EXPECT_EQ(result.name(result.work.forward[2]), "conv");  // the same module, called again
  EXPECT_TRUE(result.work.forward[3].is_loose());
  EXPECT_EQ(result.work.forward[3].around, 0U);
}

TEST(StepWork, PassesComeFromRangesThreadsAndNames) {
  RecordingForge forge;
  forge.open("conv");
  forge.launch("sm80_xmma_fprop_x", {});
  forge.close();
  forge.open("conv backward", 2);
  forge.launch("anything", {}, 2);
  forge.close();
  forge.launch("elementwise", {}, 2);  // the thread of the gradients
  forge.launch("elementwise", {}, 1);
  forge.launch("sm80_xmma_wgrad_x", {}, 1);  // its name says so
  forge.launch("multi_tensor_apply_kernel", {}, 1);
  const Sorted result = sorted(forge);
  ASSERT_EQ(result.work.forward.size(), 2U);
  EXPECT_EQ(result.work.forward[1].kernels.front(), 3U);
  ASSERT_EQ(result.work.backward.size(), 3U);
  EXPECT_EQ(result.name(result.work.backward[0]), "conv");
  EXPECT_EQ(result.work.backward[1].kernels.front(), 2U);
  EXPECT_EQ(result.work.backward[2].kernels.front(), 4U);
  EXPECT_EQ(result.work.updates, (std::vector<std::size_t>{5}));
}

}  // namespace
}  // namespace strata
