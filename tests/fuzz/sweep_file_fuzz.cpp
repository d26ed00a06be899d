// SPDX-License-Identifier: Apache-2.0
// Any file as the networks and axes of a sweep (TOML or JSON), as far as before its first point.
#include "tests/fuzz/any_command.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string file = strata::fuzz::file_with("sweep.toml", bytes);
  strata::fuzz::try_command({"sweep", file, "--dry-run"});
  return 0;
}
