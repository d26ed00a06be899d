// SPDX-License-Identifier: Apache-2.0
#include "cli/output_files.hpp"

#include "cli/output.hpp"
#include "strata/base/error.hpp"
#include "strata/base/output_place.hpp"
#include "strata/report/chart/png.hpp"
#include "strata/report/write_file.hpp"
#include "strata/sweep/ranks.hpp"

#include <algorithm>

namespace strata {

void expect_writable_outputs(const Command& command, const Arguments& given) {
  if (rank_of_count().rank > 0) return;  // of many ranks one writes
  for (const Flag& flag : command.flags) {
    if (flag.offer != Offer::output) continue;
    const std::string_view rest = flag.value == "PREFIX" ? "-" : "";
    for (const std::string& path : given.values(flag)) {
      if (path != "-") OutputPlace(path + std::string(rest)).expect_writable();
    }
  }
}

void write_picture(std::string path, const std::string& svg, bool wants_png) {
  write_output(path, svg);
  if (!wants_png) return;
  if (path.ends_with(".svg")) path.resize(path.size() - 4);
  write_file(path + ".png", svg_to_png(svg));
}

void check_outputs(const Arguments& given, std::initializer_list<const Flag*> flags) {
  for (const auto* flag = flags.begin(); flag != flags.end(); ++flag) {
    const auto path = given.value(**flag);
    if ((*flag)->name == "db" && path == "-")
      fail(ErrorKind::usage, "--db: a database cannot be written to standard output");
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
