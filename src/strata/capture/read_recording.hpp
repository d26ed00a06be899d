// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"

#include <filesystem>
#include <vector>

/// A recording from a file, whoever wrote it: a trace of the PyTorch profiler (Kineto JSON, also
/// .gz), a table of Nsight Compute or of nvprof (CSV), a database of Nsight Systems, of nvprof or
/// of strata capture. The kind is told by what is in the file, not by its name.
namespace strata {

/// Whether the file is one of these: good enough to choose who reads it and complains. A file that
/// cannot be read is none.
bool is_recording(const std::filesystem::path& path);

/// One recording per process in it. Errors name the file and the place.
std::vector<Recording> read_recordings(const std::filesystem::path& path);

}  // namespace strata
