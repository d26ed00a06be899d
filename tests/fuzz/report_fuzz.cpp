// SPDX-License-Identifier: Apache-2.0
// Any file as a result that becomes a part of the report page.
#include "tests/fuzz/any_command.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using strata::fuzz::try_command, strata::fuzz::try_forms;
  const std::string file = strata::fuzz::input_file(data, size);
  if (!try_command({"report", file, "-o", "-"})) return 0;
  try_command({"report", file, file, "--on", "v100-nersc", "--title", "t", "-o", "-"});
  return 0;
}
