// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/layerwise_study.hpp"

#include <string>
#include <string_view>

/// Where the profiles of `strata reproduce layerwise` come from.
namespace strata {

/// Those that ship. Errors (environment) when none do.
LayerwiseStudy shipped_layerwise_study();

/// Every profile of one training iteration in a folder (*.json), or one file.
LayerwiseStudy layerwise_study_of(const std::string& path);

/// Measures the study's networks at its batches on a device ("cuda:0", "cpu"), with counters where
/// they can be read, and says on standard error what it does. Profiles go into the folder, too,
/// unless it is empty. What does not fit into memory is left out with the reason.
LayerwiseStudy measured_layerwise_study(std::string_view device, const std::string& folder,
                                        const std::string& command);

}  // namespace strata
