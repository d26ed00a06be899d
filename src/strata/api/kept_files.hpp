// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/calibration.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

/// What `strata machine measure` found out is kept for this user, so that other commands take it.
namespace strata {

/// $XDG_DATA_HOME/strata/WHAT, or ~/.local/share/strata/WHAT. Nothing when the environment names
/// neither; a relative XDG_DATA_HOME counts as none, as its specification says.
std::optional<std::filesystem::path> kept_folder(std::string_view what);

/// A name that may hold anything, as the name of a file: without what would end it, or part a list.
std::string file_name_of(std::string_view name);

/// calibrations/MACHINE-FRAMEWORK.json beside the machines; nothing where there is no folder.
std::optional<std::filesystem::path> calibration_file(std::string_view machine,
                                                      std::string_view framework);
/// The calibration in a file. Errors (input) name it and the place in it.
Calibration load_calibration(const std::filesystem::path& file);
/// That was kept; nothing: none was. It stays as it is while the program runs. Errors (input) as
/// above, and when it is of another machine or framework than its name says.
const Calibration* kept_calibration(std::string_view machine, std::string_view framework);
/// Errors (environment) say why it cannot be written.
void keep_calibration(const Calibration& calibration, const std::filesystem::path& file);

}  // namespace strata
