// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/convolution/lab/strategy.hpp"
#include "strata/measure/ceilings/ceilings.hpp"
#include "strata/measure/ceilings/collectives.hpp"
#include "strata/measure/engine/device.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace strata {
namespace {

// The reason, and what still works.
TEST(NoCuda, refuses_with_the_reason) {
  const std::function<void()> calls[] = {[] { cuda_devices(); }, [] { measure_cuda({}); },
                                         [] { open_gpu_group(""); }, [] { cuda_conv_device(0); },
                                         [] { cuda_training_device(0, {}); }};
  for (const auto& call : calls) {
    try {
      call();
      FAIL() << "a GPU was measured without CUDA";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::environment);
      EXPECT_NE(std::string_view(error.what()).find("built without CUDA"), std::string_view::npos);
      EXPECT_NE(std::string_view(error.what()).find("strata list machines"),
                std::string_view::npos);
    }
  }
}

}  // namespace
}  // namespace strata
