// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/figures.hpp"

#include <filesystem>
#include <vector>

namespace strata {

/// Makes the folder, with those above it, unless it is there. Errors (usage): something else is.
void make_figure_folder(const std::filesystem::path& folder);

enum class WantPng : std::uint8_t { no, yes };

/// Writes each figure's table (.csv) and picture (.svg, and .png if wanted) into the folder; what
/// is there under these names is replaced.
void write_figures(const std::filesystem::path& folder, const std::vector<Figure>& figures,
                   WantPng png = WantPng::no);

}  // namespace strata
