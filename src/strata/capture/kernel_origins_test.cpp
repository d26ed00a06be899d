// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/kernel_origins.hpp"

#include "strata/capture/recorded_network_test.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(KernelOrigins, WordsOfRanges) {
  EXPECT_EQ(words_of_range("conv1 backward").layer, "conv1");
  EXPECT_EQ(words_of_range("conv1 backward").pass, WorkPass::backward);
  EXPECT_EQ(words_of_range("all update").pass, WorkPass::update);
  EXPECT_EQ(words_of_range(" backward").layer, " backward");  // nothing before it
  const RangeWords operation = words_of_range("aten::conv2d, seq = 51, op_id = 3");
  EXPECT_EQ(operation.layer, "aten::conv2d");
  EXPECT_EQ(operation.sequence, 51U);
}

TEST(KernelOrigins, MarksOfSteps) {
  for (const char* name : {"ProfilerStep#3", "step 3", "iteration_12", "Iter:0", "step3"})
    EXPECT_TRUE(is_step_mark(name)) << name;
  for (const char* name : {"step", "steps 3", "step three", "3", "", "stepper 3"})
    EXPECT_FALSE(is_step_mark(name)) << name;
}

TEST(KernelOrigins, TheInnermostRangeIsTheLayer) {
  RecordingForge forge;
  forge.launch("k", {});
  forge.open("outer");
  forge.launch("k", {});
  forge.open("inner backward");
  forge.launch("k", {});
  forge.close();
  forge.launch("k", {});
  forge.close();
  forge.launch("k", {}, 9);  // another thread
  const Recording recording = forge.finish();
  const KernelOrigins origins = origins_of_kernels(recording, LaunchCalls(recording));
  const auto layer = [&](std::size_t kernel) {
    return std::string(origins.layers.text(origins.of_kernel[kernel].layer));
  };
  EXPECT_EQ(origins.of_kernel[0].layer, 0U);
  EXPECT_EQ(origins.of_kernel[0].range, no_index);
  EXPECT_EQ(layer(1), "outer");
  EXPECT_EQ(layer(2), "inner");
  EXPECT_EQ(origins.of_kernel[2].pass, WorkPass::backward);
  EXPECT_EQ(recording.names.text(recording.ranges[origins.of_kernel[2].range].name),
            "inner backward");
  EXPECT_EQ(layer(3), "outer");
  EXPECT_EQ(origins.of_kernel[4].layer, 0U);
}

TEST(KernelOrigins, InstructionsOfXlaAreLayersAndCommandBuffersAreNot) {
  RecordingForge forge;
  forge.open("XlaModule:#hlo_module=jit_step,program_id=2#");
  forge.open("Thunk:#name=jit(step)/transpose(jvp(Dense_0))/dot_general,hlo_op=gemm.2#");
  forge.launch("k", {});
  forge.close();
  forge.open("Thunk:#hlo_op=command_buffer_3#");
  forge.launch("loop_add_fusion", {});
  forge.close();
  forge.close();
  const Recording recording = forge.finish();
  const KernelOrigins origins = origins_of_kernels(recording, LaunchCalls(recording));
  EXPECT_EQ(origins.layers.text(origins.of_kernel[0].layer), "Dense_0");
  EXPECT_EQ(origins.of_kernel[0].pass, WorkPass::backward);
  // Launched at once, so the range says nothing; the kernel has the name of its instruction.
  EXPECT_EQ(origins.layers.text(origins.of_kernel[1].layer), "loop_add_fusion");
  EXPECT_EQ(origins.of_kernel[1].range, no_index);
}

}  // namespace
}  // namespace strata
