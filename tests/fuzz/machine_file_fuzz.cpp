// SPDX-License-Identifier: Apache-2.0
// What libFuzzer feeds to the reader of machine files.
#include "strata/base/error.hpp"
#include "strata/machine/machine.hpp"
#include "strata/machine/numbers.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const strata::Machine machine = strata::read_machine(text);
    strata::numbers_of(machine);
    // What was read and is written reads again as the same machine.
    if (!(strata::read_machine(strata::to_json(machine)) == machine)) __builtin_trap();
  } catch (const strata::Error& error) {
    if (error.kind() != strata::ErrorKind::input) throw;
  }
  return 0;
}
