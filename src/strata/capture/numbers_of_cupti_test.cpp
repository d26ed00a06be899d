// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/numbers_of_cupti.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

// From cupti_activity.h of CUDA 13.0: the enumerators in their order, from 0.
TEST(CuptiNumbers, StandForWhatTheHeaderSays) {
  constexpr CopyKind copies[] = {
      CopyKind::unknown,          CopyKind::host_to_device,   CopyKind::device_to_host,
      CopyKind::host_to_device,   CopyKind::device_to_host,   CopyKind::device_to_device,
      CopyKind::device_to_device, CopyKind::device_to_device, CopyKind::device_to_device,
      CopyKind::host_to_host,     CopyKind::peer_to_peer,     CopyKind::unknown};
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(copy_kind_of_cupti(i), copies[i]) << i;
  constexpr MemoryKind places[] = {MemoryKind::unknown, MemoryKind::pageable, MemoryKind::pinned,
                                   MemoryKind::device,  MemoryKind::array,    MemoryKind::managed,
                                   MemoryKind::device,  MemoryKind::managed,  MemoryKind::unknown};
  for (std::int64_t i = 0; i < 9; ++i) EXPECT_EQ(memory_place_of_cupti(i), places[i]) << i;
  constexpr SyncKind syncs[] = {SyncKind::unknown, SyncKind::event,   SyncKind::stream_waits_event,
                                SyncKind::stream,  SyncKind::context, SyncKind::unknown};
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(sync_kind_of_cupti(i), syncs[i]) << i;
  EXPECT_EQ(copy_kind_of_cupti(-1), CopyKind::unknown);
}

}  // namespace
}  // namespace strata
