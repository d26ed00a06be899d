// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/trace_tables.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

CopyRecord copy_of(std::int64_t start, std::int64_t end, std::int64_t bytes, CopyKind kind) {
  CopyRecord copy;
  copy.time = {start, end};
  copy.bytes = bytes;
  copy.kind = kind;
  copy.device = 0;
  return copy;
}

TEST(CopyRows, AddUpByKindWithSizesAndWhatKernelsHide) {
  Recording recording;
  KernelRecord kernel;
  kernel.time = {100, 200};
  kernel.device = 0;
  recording.kernels.push_back(kernel);
  recording.copies = {copy_of(150, 250, 1000, CopyKind::host_to_device),
                      copy_of(300, 400, 100 << 10, CopyKind::host_to_device),
                      copy_of(400, 410, unknown_bytes, CopyKind::host_to_device),
                      copy_of(120, 130, 1 << 20, CopyKind::device_to_host)};
  const TraceTables tables = make_trace_tables(recording);
  ASSERT_EQ(tables.by_copy.size(), 2U);
  const CopyRow& in = tables.by_copy[0];  // the longer one
  EXPECT_EQ(name_of(in.kind), "host to device");
  EXPECT_EQ(in.time.calls, 3);
  EXPECT_EQ(in.time.total_ns, 210);
  EXPECT_EQ(in.bytes, 1000 + (100 << 10));
  EXPECT_EQ(in.known_ns, 200);
  EXPECT_EQ(in.unknown_calls, 1);
  EXPECT_EQ(in.small_calls, 1);
  EXPECT_EQ(in.small_ns, 100);
  EXPECT_EQ(in.under_kernels_ns, 50);
  EXPECT_EQ(in.by_size, (std::array<std::int64_t, 8>{1, 0, 1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(tables.by_copy[1].under_kernels_ns, 10);
}

TEST(CopyRows, MemoryHasAPeakAndAChurn) {
  Recording recording;
  const auto event = [&](std::int64_t at, std::uint64_t address, std::int64_t bytes, bool is_new) {
    MemoryEvent one;
    one.at_ns = at;
    one.address = address;
    one.bytes = bytes;
    one.device = 0;
    one.is_allocation = is_new;
    recording.memory.push_back(one);
  };
  event(1, 16, 100, true);
  event(2, 32, 50, true);
  event(3, 16, unknown_bytes, false);  // by its address
  event(4, 48, 80, true);
  const TraceTables tables = make_trace_tables(recording);
  ASSERT_EQ(tables.memory.size(), 1U);
  EXPECT_EQ(tables.memory[0].peak_bytes, 150);
  EXPECT_EQ(tables.memory[0].allocated_bytes, 230);
  EXPECT_EQ(tables.memory[0].frees, 1);
}

}  // namespace
}  // namespace strata
