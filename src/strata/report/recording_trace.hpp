// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"

#include <ostream>
#include <span>

namespace strata {

/// Recordings as a timeline in Chrome's trace format, for Perfetto or chrome://tracing: a track per
/// stream of a device and per thread of the host, arrows from calls to kernels, a counter of
/// allocated memory. What overlaps within a stream goes to a second track: viewers drop it
/// otherwise. Written piece by piece.
void write_chrome_trace(std::ostream& out, std::span<const Recording> recordings);

}  // namespace strata
