// SPDX-License-Identifier: Apache-2.0
// Any file as a profile that compare puts beside others.
#include "tests/fuzz/any_command.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using strata::fuzz::try_command, strata::fuzz::try_forms;
  const std::string file = strata::fuzz::input_file(data, size);
  const std::string& other = strata::fuzz::written_profile();
  if (!try_command({"compare", file, other})) return 0;
  try_forms({"compare", other, file, "--top", "all"}, {"--json", "--csv", "--html"});
  try_forms({"compare", file, file, "--by", "layer", "--times", "limit"}, {"--json"});
  try_forms({"compare", file, other, file, "--by", "block"}, {"--csv"});
  try_command({"compare", file, other, "--by", "pass", "--threshold", "5%"});
  return 0;
}
