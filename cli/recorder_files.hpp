// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/embedded.hpp"

#include <span>

namespace strata {

/// python/strata_recording/*.py, sorted by name: what `strata record` puts into the programs that
/// it starts.
std::span<const EmbeddedFile> embedded_recorder();

}  // namespace strata
