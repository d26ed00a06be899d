// SPDX-License-Identifier: Apache-2.0
// Any file as a profile, a recording or a network that explain finds faults with.
#include "tests/fuzz/any_command.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using strata::fuzz::try_command, strata::fuzz::try_forms;
  const std::string file = strata::fuzz::input_file(data, size);
  if (!try_command({"explain", file, "--on", "v100-nersc", "--require-fit"})) return 0;
  try_forms({"explain", file, "--top", "all"}, {"--json", "--csv", "--html"});
  return 0;
}
