// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/byte_source.hpp"
#include "strata/capture/recording.hpp"

namespace strata {

/// A trace in Chrome's JSON format as the PyTorch profiler (Kineto) writes it, read in one pass:
/// memory grows with the rows kept, never with the text. A list that is not closed is allowed, as
/// in the format. Errors (input) name the byte, or the event and what is wrong with it.
Recording read_chrome_json(ByteSource& source);

}  // namespace strata
