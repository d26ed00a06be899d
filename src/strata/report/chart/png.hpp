// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace strata {

/// The picture that an SVG describes as the bytes of a PNG file, `scale` pixels for each of its
/// own. Drawn by librsvg; a build without it refuses (environment), and has_png says so before.
std::string svg_to_png(std::string_view svg, double scale = 2);
bool has_png();

/// The same as a PDF file of one page, a point for each pixel: lines and text stay what they are.
std::string svg_to_pdf(std::string_view svg);

}  // namespace strata
