// SPDX-License-Identifier: Apache-2.0
// Any file as convolution results that conv shows.
#include "tests/fuzz/any_command.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using strata::fuzz::try_command, strata::fuzz::try_forms;
  const std::string file = strata::fuzz::input_file(data, size);
  try_forms({"conv", "--from", file, "--details", "--budget", "1MB"},
            {"--json", "--csv", "--html"});
  try_command({"conv", "--from", file, "--pass", "forward", "--memory-limit", "1MB"});
  return 0;
}
