// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/numbers_of_cupti.hpp"

namespace strata {

CopyKind copy_kind_of_cupti(std::int64_t number) {
  switch (number) {
    case 1:
    case 3: return CopyKind::host_to_device;  // 3: into an array
    case 2:
    case 4: return CopyKind::device_to_host;
    case 5:
    case 6:
    case 7:
    case 8: return CopyKind::device_to_device;
    case 9: return CopyKind::host_to_host;
    case 10: return CopyKind::peer_to_peer;
    default: return CopyKind::unknown;
  }
}

MemoryKind memory_place_of_cupti(std::int64_t number) {
  switch (number) {
    case 1: return MemoryKind::pageable;
    case 2: return MemoryKind::pinned;
    case 3:
    case 6: return MemoryKind::device;  // 6: a variable of a module
    case 4: return MemoryKind::array;
    case 5:
    case 7: return MemoryKind::managed;  // 7: a variable
    default: return MemoryKind::unknown;
  }
}

SyncKind sync_kind_of_cupti(std::int64_t number) {
  switch (number) {
    case 1: return SyncKind::event;
    case 2: return SyncKind::stream_waits_event;
    case 3: return SyncKind::stream;
    case 4: return SyncKind::context;
    default: return SyncKind::unknown;
  }
}

}  // namespace strata
