// SPDX-License-Identifier: Apache-2.0
#include "strata/report/write_file.hpp"

#include "strata/base/output_file.hpp"

namespace strata {

void write_file(const std::filesystem::path& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.finish();
}

}  // namespace strata
