// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/strategy.hpp"

#include <filesystem>
#include <memory>

namespace strata {

/// The strategy of a shared library that follows strata_conv_plugin.h, for a device, which must
/// outlive it. The library stays loaded while the strategy lives. Errors (input) say what is wrong
/// with it: no library, no such function, another version, no name.
std::unique_ptr<ConvStrategy> load_conv_plugin(const std::filesystem::path& path,
                                               ConvDevice& device);

}  // namespace strata
