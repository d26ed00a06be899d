// SPDX-License-Identifier: Apache-2.0
// Any file as a machine that is shown, compared, merged, and predicted for.
#include "tests/fuzz/any_command.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using strata::fuzz::try_command, strata::fuzz::try_forms;
  const std::string file = strata::fuzz::input_file(data, size);
  if (!try_command({"machine", "show", file})) return 0;
  for (const std::string form : {"--json", "--csv", "--html"})
    try_command({"machine", "show", file, form, "-"});
  try_forms({"machine", "diff", file, "v100-nersc"}, {"--json", "--csv", "--html"});
  try_forms({"machine", "diff", "h200", file}, {"--json"});
  try_forms({"machine", "merge", file, file}, {"--json"});
  const std::string& profile = strata::fuzz::written_profile();
  try_forms({"roofline", profile, "--on", file}, {"--json", "--csv", "--plot"});
  try_forms({"explain", profile, "--on", file}, {"--json"});
  try_command({"predict", "lenet5", "--on", file, "--json", "-"});
  return 0;
}
