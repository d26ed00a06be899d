// SPDX-License-Identifier: Apache-2.0
// All fuzz targets in one program, which takes a fraction of the time to link: its first argument
// names the target, the others are for libFuzzer or for replay.cpp. CMake writes the table of
// targets, and gives the LLVMFuzzerTestOneInput of each file a name of its own.
#include "targets.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace {

const strata::fuzz::Target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  using strata::fuzz::targets;
  const std::string_view name = *count > 1 ? (*arguments)[1] : "";
  chosen = std::find_if(std::begin(targets), std::end(targets),
                        [&](const strata::fuzz::Target& target) { return target.name == name; });
  if (chosen == std::end(targets)) {
    std::fprintf(stderr, "the first argument is one of:\n");
    for (const strata::fuzz::Target& target : targets)
      std::fprintf(stderr, "  %s\n", target.name.data());
    std::exit(2);
  }
  (*arguments)[1] = (*arguments)[0];
  ++*arguments;
  --*count;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return chosen->run(data, size);
}
