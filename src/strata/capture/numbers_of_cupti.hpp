// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"

#include <cstdint>

/// Numbers of CUPTI's enumerations, which logs of strata capture and databases of Nsight Systems
/// both hold: here once, so that neither needs NVIDIA's headers.
namespace strata {

/// CUpti_ActivityMemcpyKind.
CopyKind copy_kind_of_cupti(std::int64_t number);
/// CUpti_ActivityMemoryKind; Nsight Systems counts from one less.
MemoryKind memory_place_of_cupti(std::int64_t number);
/// CUpti_ActivitySynchronizationType.
SyncKind sync_kind_of_cupti(std::int64_t number);

}  // namespace strata
