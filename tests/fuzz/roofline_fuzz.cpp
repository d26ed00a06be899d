// SPDX-License-Identifier: Apache-2.0
// Any file as a profile, a recording or a network that roofline shows.
#include "tests/fuzz/any_command.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using strata::fuzz::try_command, strata::fuzz::try_forms;
  const std::string file = strata::fuzz::input_file(data, size);
  const std::vector<std::string> on = {"roofline", file, "--on", "v100-nersc"};
  if (!try_command(on)) return 0;
  try_forms({"roofline", file, "--top", "all"}, {"--json", "--csv", "--plot", "--html"});
  try_forms({"roofline", file, "--by", "layer", "--roof", "tensor"}, {"--csv"});
  try_forms({"roofline", strata::fuzz::written_profile(), file, "--by", "all", "--label", "a",
             "--label", "b", "--on", "v100-nersc"},
            {"--json", "--plot"});
  return 0;
}
