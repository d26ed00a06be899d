// SPDX-License-Identifier: Apache-2.0
// Any file as what plot draws, in every kind of figure.
#include "strata/report/plot_kinds.hpp"
#include "tests/fuzz/any_command.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using strata::fuzz::try_command;
  const std::string file = strata::fuzz::input_file(data, size);
  for (const strata::PlotKindFacts& kind : strata::plot_kinds()) {
    const std::string name(kind.name);
    if (!try_command({"plot", file, "-k", name, "-o", "-"})) continue;
    try_command({"plot", file, "-k", name, "-o", "-", "--width", "3in", "--title", "none"});
    if (kind.input == strata::PlotInput::sweep)
      try_command({"plot", file, "-k", name, "-o", "-", "--x", "capacity", "--y", "time_s"});
  }
  return 0;
}
