// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/capture_study.hpp"

#include <filesystem>
#include <string>

namespace strata {

/// Captures the programs of the study on this computer's GPU: PyTorch, and JAX where it is. Says on
/// standard error what it does. Errors (environment): no Python, no PyTorch, nothing recorded.
CaptureStudy run_capture_study();

/// The whole of a file; errors (input) name it.
std::string text_of_file(const std::filesystem::path& path);

}  // namespace strata
