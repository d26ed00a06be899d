// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/trace_findings.hpp"

#include "strata/machine/load_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata {
namespace {

const ProfileFinding* with_code(const std::vector<ProfileFinding>& found, FindingCode code) {
  const auto at = std::find_if(found.begin(), found.end(),
                               [&](const ProfileFinding& each) { return each.code == code; });
  return at == found.end() ? nullptr : &*at;
}

/// One device, one second from the first kernel to the last.
TraceTables one_second() {
  TraceTables tables;
  DeviceRow device;
  device.device = 0;
  device.span_ns = 1'000'000'000;
  device.kernel_busy_ns = 600'000'000;
  device.idle_ns[static_cast<std::size_t>(IdleCause::host)] = 300'000'000;
  device.idle_ns[static_cast<std::size_t>(IdleCause::input)] = 95'000'000;
  device.idle_ns[static_cast<std::size_t>(IdleCause::sync)] = 5'000'000;
  tables.devices.push_back(device);
  return tables;
}

TEST(TraceFindings, causes_of_gaps_cost_what_they_take_largest_first) {
  const std::vector<ProfileFinding> found = find_in_trace(one_second(), nullptr);
  ASSERT_EQ(found.size(), 2U);  // 5 ms of waiting are below 1 %
  EXPECT_EQ(found[0].code, FindingCode::host_gaps);
  EXPECT_DOUBLE_EQ(found[0].cost_s, 0.3);
  EXPECT_DOUBLE_EQ(found[0].cost_share, 0.3);
  EXPECT_EQ(found[1].code, FindingCode::data_loader);
  EXPECT_FALSE(found[1].advice.empty());
}

// 1e9 bytes in 0.5 s are 2 GB/s; a link of 20 GB/s takes 0.05 s for them.
TEST(TraceFindings, copies_are_slow_only_against_a_machine) {
  TraceTables tables = one_second();
  CopyRow row;
  row.kind = CopyKind::host_to_device;
  row.source = MemoryKind::pageable;
  row.destination = MemoryKind::device;
  row.time.add(500'000'000);
  row.bytes = 1'000'000'000;
  row.known_ns = 500'000'000;
  tables.by_copy.push_back(row);
  EXPECT_EQ(with_code(find_in_trace(tables, nullptr), FindingCode::slow_copies), nullptr);
  Machine machine;
  Link link;
  link.kind = LinkKind::host_to_device;
  link.bandwidth_bytes_per_s.value = 20e9;
  machine.links.push_back(link);
  const std::vector<ProfileFinding> found = find_in_trace(tables, &machine);
  const ProfileFinding* slow = with_code(found, FindingCode::slow_copies);
  ASSERT_NE(slow, nullptr);
  EXPECT_NEAR(slow->cost_s, 0.45, 1e-12);
  const ProfileFinding* pageable = with_code(found, FindingCode::pageable_copies);
  ASSERT_NE(pageable, nullptr);
  EXPECT_DOUBLE_EQ(pageable->cost_s, 0.5);
}

TEST(TraceFindings, lost_records_come_last_and_are_not_about_time) {
  TraceTables tables = one_second();
  tables.lost_records = 3;
  const std::vector<ProfileFinding> found = find_in_trace(tables, nullptr);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found.back().code, FindingCode::lost_records);
  EXPECT_FALSE(kind_of(found.back().code).is_about_time);
}

TEST(TraceFindings, products_on_ordinary_lanes_are_told_by_their_names) {
  TraceTables tables = one_second();
  for (const char* name : {"ampere_sgemm_128x64_nn", "cutlass_80_tensorop_s1688gemm_64x64"}) {
    KernelRow row;
    row.name = name;
    row.kernel_class.name = "gemm";
    row.time.add(100'000'000);
    tables.by_kernel.push_back(row);
  }
  const Machine machine = load_machine("a100-40gb");
  const std::vector<ProfileFinding> found = find_in_trace(tables, &machine);
  const ProfileFinding* vector_products = with_code(found, FindingCode::vector_products);
  ASSERT_NE(vector_products, nullptr);
  EXPECT_DOUBLE_EQ(vector_products->cost_s, 0.1);
  EXPECT_NE(vector_products->advice.find("TF32"), std::string::npos);
  // Nobody knows of matrix units where nobody knows the machine, and a P100 has none.
  EXPECT_EQ(with_code(find_in_trace(tables, nullptr), FindingCode::vector_products), nullptr);
  const Machine old = load_machine("p100");
  EXPECT_EQ(with_code(find_in_trace(tables, &old), FindingCode::vector_products), nullptr);
}

TEST(TraceFindings, recording_that_slows_a_waiting_program_is_said) {
  TraceTables tables = one_second();
  tables.recording_cost = RecordingCost{
      .launches = 100, .step_s = 0.010, .step_without = TimeInterval{0.006, 0.007, 0.008}};
  const std::vector<ProfileFinding> found = find_in_trace(tables, nullptr);
  const ProfileFinding* cost = with_code(found, FindingCode::recorder_overhead);
  ASSERT_NE(cost, nullptr);
  EXPECT_FALSE(kind_of(cost->code).is_about_time);
  tables.recording_cost->step_without = TimeInterval{0.0099, 0.0099, 0.0099};
  EXPECT_EQ(with_code(find_in_trace(tables, nullptr), FindingCode::recorder_overhead), nullptr);
}

}  // namespace
}  // namespace strata
