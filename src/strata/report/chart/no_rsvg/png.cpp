// SPDX-License-Identifier: Apache-2.0
// Stands for report/chart/rsvg/ in a build without librsvg.
#include "strata/report/chart/png.hpp"

#include "strata/base/error.hpp"

namespace strata {

std::string svg_to_png(std::string_view, double) {
  fail(ErrorKind::environment,
       "PNG and PDF pictures need librsvg, which this strata was built without: install "
       "librsvg2-dev (apt-get install librsvg2-dev, or ./strata setup --all) and build again; SVG "
       "works without it: --out FILE.svg");
}

bool has_png() { return false; }

std::string svg_to_pdf(std::string_view svg) { return svg_to_png(svg, 1); }  // refuses

}  // namespace strata
