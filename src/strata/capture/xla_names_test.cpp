// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/xla_names.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(XlaNames, RangesOfRealRecordings) {
  const auto module = xla_range("XlaModule:#hlo_module=jit_alexnet_step,program_id=19894#");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->kind, XlaKind::module);
  EXPECT_EQ(module->module, "jit_alexnet_step");
  const auto thunk = xla_range(
      "Thunk:#name=jit(alexnet_step)/transpose(jvp())/conv_general_dilated,hlo_op=cudnn-conv-bw-"
      "filter.9,unique_hlo_op_id=111669149743#");
  ASSERT_TRUE(thunk);
  EXPECT_EQ(thunk->kind, XlaKind::instruction);
  EXPECT_EQ(thunk->path, "jit(alexnet_step)/transpose(jvp())/conv_general_dilated");
  EXPECT_EQ(thunk->hlo_op, "cudnn-conv-bw-filter.9");
  const auto buffer = xla_range("Thunk:#hlo_op=command_buffer_25#");
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->kind, XlaKind::command_buffer);
  EXPECT_TRUE(buffer->path.empty());
}

TEST(XlaNames, CommasInsideValues) {
  const auto thunk = xla_range(
      "Thunk:#name=jit(f)/"
      "dot_general[dims=((0,),(0,))],hlo_op=gemm_fusion_dot.2,unique_hlo_op_id=1#");
  ASSERT_TRUE(thunk);
  EXPECT_EQ(thunk->path, "jit(f)/dot_general[dims=((0,),(0,))]");
  EXPECT_EQ(thunk->hlo_op, "gemm_fusion_dot.2");
}

TEST(XlaNames, OtherRangesAreNoneOfIts) {
  for (const char* name : {"", "layer1.0.conv1", "Thunk:#", "Thunk:##", "Thunk:#name=x#", "a:#b#",
                           "XlaModule:#hlo_module=x", ":#", "step 3"})
    EXPECT_FALSE(xla_range(name)) << name;
}

TEST(XlaNames, PassesAndScopes) {
  EXPECT_EQ(pass_of_xla_path("jit(step)/jvp(Dense_0)/dot_general"), WorkPass::forward);
  EXPECT_EQ(pass_of_xla_path("jit(step)/transpose(jvp(Dense_0))/dot_general"), WorkPass::backward);
  EXPECT_EQ(pass_of_xla_path("jit(step)/add"), WorkPass::unknown);
  EXPECT_EQ(scopes_of_xla_path("jit(step)/transpose(jvp(ResNet))/conv_init/conv_general_dilated"),
            "ResNet.conv_init");
  EXPECT_EQ(scopes_of_xla_path("jit(step)/jvp()/jit(relu)/max"), "");
  EXPECT_EQ(scopes_of_xla_path("jit(f)/vmap(jvp(a))/b/dot[x=(1/2)]"), "a.b");
  EXPECT_EQ(layer_of_xla("jit(step)/jvp()/max", "loop_maximum_fusion"), "loop_maximum_fusion");
  EXPECT_EQ(layer_of_xla("jit(step)/jvp(Dense_0)/dot", "gemm_fusion_dot.2"), "Dense_0");
}

}  // namespace
}  // namespace strata
