// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/gpu/counter_host.hpp"
#include "strata/gpu/device_trace.hpp"
#include "strata/gpu/range_counters.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace strata {
namespace {

TEST(NoCupti, refuses_with_the_reason) {
  const std::function<void()> calls[] = {[] { begin_device_trace(); }, [] { countable_chips(); },
                                         [] { counter_host("GH100"); },
                                         [] { open_range_counters(0); }};
  for (const auto& call : calls) {
    try {
      call();
      FAIL() << "something was measured without CUPTI";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::environment);
      EXPECT_NE(std::string_view(error.what()).find("built without CUPTI"), std::string_view::npos);
    }
  }
}

}  // namespace
}  // namespace strata
