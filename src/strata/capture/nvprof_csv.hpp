// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/byte_source.hpp"
#include "strata/capture/recording.hpp"

#include <string_view>

namespace strata {

/// What nvprof prints: with `--csv --print-gpu-trace` kernels, copies and memsets with their times;
/// with `--print-api-trace`, beside it or alone, the calls of CUDA, too; without either a summary,
/// and with `--metrics` or `--events` counters by kernel, both as CSV or text. What the program
/// printed between them is left out. Errors (input) name the line, or say what nvprof complained
/// of.
Recording read_nvprof_csv(ByteSource& source);

/// Whether the beginning of a file looks like any table of nvprof's.
bool looks_like_nvprof_csv(std::string_view beginning);

}  // namespace strata
