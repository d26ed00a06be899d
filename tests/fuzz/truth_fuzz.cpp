// SPDX-License-Identifier: Apache-2.0
// Any file as measured iterations that validate puts beside expected times.
#include "tests/fuzz/any_command.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using strata::fuzz::try_command, strata::fuzz::try_forms;
  const std::string file = strata::fuzz::input_file(data, size);
  try_forms({"validate", file, "--runs"}, {"--json", "--html"});
  return 0;
}
