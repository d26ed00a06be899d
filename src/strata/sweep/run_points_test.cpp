// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/run_points.hpp"

#include "strata/sweep/made_up_sweep_test.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <memory>

namespace strata {
namespace {

/// Stacks of 1 GiB, and address space for three of them: the fourth thread cannot be started.
void leave_room_for_few_threads() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{1} << 30);
  if (pthread_setattr_default_np(&attributes) != 0) _exit(2);
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{7} << 29);
  const rlimit limit{most, most};
  if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
}

// A std::thread that cannot be started throws; those before it must be joined, not abandoned.
TEST(RunPoints, finish_with_fewer_threads_where_the_system_has_no_more) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer takes all addresses";
#endif
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto run_with_many = [] {
    leave_room_for_few_threads();
    SweepRun run;
    run.range.end = 200;
    run.make_worker = [] { return std::make_unique<test::MadeUpWorker>(); };
    run.threads = 16;
    _exit(run_points(run).done == 200 ? 0 : 1);
  };
  EXPECT_EXIT(run_with_many(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace strata
