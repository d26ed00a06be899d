// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/analytical.hpp"
#include "strata/reproduce/figures.hpp"

#include <span>
#include <string_view>
#include <vector>

/// What a paper prints, drawn into our figures that show the same quantity: an open diamond where
/// it prints a point, a dotted line where it prints one number for many.
namespace strata {

inline constexpr std::string_view printed_in_paper = "printed in the paper";

/// The series that printed points belong to; without points yet.
chart::Series printed_series();

/// Adds what the findings say is printed. A figure or panel that is not there, as it was not
/// measured, is left out.
void draw_printed_points(std::span<const Finding> findings, std::vector<Figure>& figures);

}  // namespace strata
