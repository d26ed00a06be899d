// SPDX-License-Identifier: Apache-2.0
// Any file as a calibration that is fitted, and whose host is taken for predictions.
#include "tests/fuzz/any_command.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using strata::fuzz::try_command, strata::fuzz::try_forms;
  const std::string file = strata::fuzz::input_file(data, size);
  if (try_command({"machine", "fit", file})) try_command({"machine", "fit", file, "-o", "-"});
  try_forms({"predict", "lenet5", "--on", "h200", "--host", file}, {"--json"});
  return 0;
}
