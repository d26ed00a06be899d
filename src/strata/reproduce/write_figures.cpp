// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/write_figures.hpp"

#include "strata/base/error.hpp"
#include "strata/report/chart/png.hpp"
#include "strata/report/write_file.hpp"

#include <string>
#include <system_error>

namespace strata {

void make_figure_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && !std::filesystem::is_directory(folder, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (!error) return;
  const bool is_file = error == std::errc::not_a_directory || error == std::errc::file_exists;
  fail(is_file ? ErrorKind::usage : ErrorKind::environment, "cannot make the folder {}: {}",
       folder.string(), error.message());
}

void write_figures(const std::filesystem::path& folder, const std::vector<Figure>& figures,
                   WantPng png) {
  for (const Figure& figure : figures) {
    const std::string svg = chart::to_svg(figure.grid);
    write_file(folder / (figure.name + ".csv"), figure.csv);
    write_file(folder / (figure.name + ".svg"), svg);
    if (png == WantPng::yes) write_file(folder / (figure.name + ".png"), svg_to_png(svg));
  }
}

}  // namespace strata
