// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/byte_source.hpp"
#include "strata/capture/recording.hpp"

#include <string_view>

namespace strata {

/// What `nvprof --csv --print-gpu-trace` prints: kernels, copies and memsets with their times; with
/// `--print-api-trace`, beside it or alone, the calls of CUDA, too. Lines before the head of the
/// table, and nvprof's messages ("==123== …"), are left out. Errors (input) name the line; a table
/// that has only sums (nvprof without --print-…-trace) or metrics is refused with what to do.
Recording read_nvprof_csv(ByteSource& source);

/// Whether the beginning of a file looks like any table of nvprof's.
bool looks_like_nvprof_csv(std::string_view beginning);

}  // namespace strata
