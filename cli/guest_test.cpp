// SPDX-License-Identifier: Apache-2.0
#include "cli/guest.hpp"

#include "cli/interrupt.hpp"
#include "cli/output.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace strata {
namespace {

TEST(Guest, KeepsWhatItsCommandsPrint) {
  Guest guest;
  {
    const GuestRun run(guest);
    print("result\n");
    print_to_stderr("warning: w\n");
    write_output("-", "more\n");
  }
  EXPECT_EQ(guest.output, "result\nmore\n");
  EXPECT_EQ(guest.messages, "warning: w\n");
  EXPECT_EQ(this_guest(), nullptr);
}

TEST(Guest, IsOfOneThread) {
  Guest guest;
  const GuestRun run(guest);
  std::thread([&] { EXPECT_EQ(this_guest(), nullptr); }).join();
  EXPECT_EQ(this_guest(), &guest);
}

TEST(Guest, IsStoppedByItsCaller) {
  Guest guest;
  const GuestRun run(guest);
  const InterruptWatch watch;
  EXPECT_FALSE(watch.was_asked());
  guest.is_stopped = true;
  EXPECT_TRUE(watch.was_asked());
}

}  // namespace
}  // namespace strata
