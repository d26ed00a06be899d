// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/recording.hpp"

#include <cstdint>
#include <vector>

namespace strata {

/// What the allocator holds while each operation of a recording runs, by when its blocks of memory
/// are made and given back; with the workspaces that libraries keep.
std::vector<std::int64_t> recorded_memory_bytes(const RecordedOperations& recording);

}  // namespace strata
