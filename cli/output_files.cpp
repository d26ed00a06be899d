// SPDX-License-Identifier: Apache-2.0
#include "cli/output_files.hpp"

#include "cli/output.hpp"
#include "strata/base/error.hpp"
#include "strata/report/chart/png.hpp"
#include "strata/report/write_file.hpp"

#include <algorithm>

namespace strata {

void write_picture(std::string path, const std::string& svg, bool wants_png) {
  write_output(path, svg);
  if (!wants_png) return;
  if (path.ends_with(".svg")) path.resize(path.size() - 4);
  write_file(path + ".png", svg_to_png(svg));
}

void check_outputs(const Arguments& given, std::initializer_list<const Flag*> flags) {
  for (const auto* flag = flags.begin(); flag != flags.end(); ++flag) {
    const auto path = given.value(**flag);
    const auto* same = std::find_if(flag + 1, flags.end(), [&](const Flag* other) {
      return path && given.value(*other) == path;
    });
    if (same == flags.end()) continue;
    fail(ErrorKind::usage, "--{} and --{} both write to {}", (*flag)->name, (*same)->name,
         *path == "-" ? "standard output" : *path);
  }
}

void OutputFiles::write_text(const Flag& flag, const std::string& text) {
  const auto path = given_.value(flag);
  write_output(*path, text);
  took_stdout_ = took_stdout_ || *path == "-";
}

}  // namespace strata
