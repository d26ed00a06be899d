// SPDX-License-Identifier: Apache-2.0
// Any bytes as a table of kernel times, from its lines to fitted classes of a calibration.
#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/predict/expected/fit.hpp"
#include "strata/predict/expected/kernel_table.hpp"
#include "tests/fuzz/any_file.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strata;
  try {
    Calibration calibration;
    add_table(calibration, fuzz::text_of(data, size), "somebody");
    static const GpuRates h200 = gpu_rates(load_machine("h200"));
    constexpr std::size_t few = 30;  // a fit of many takes seconds
    for (CalibratedClass& one : calibration.classes)
      one.samples.resize(std::min(one.samples.size(), few));
    fit(calibration, h200);
  } catch (const Error& error) {
    if (!fuzz::is_the_files_fault(error)) throw;
  }
  return 0;
}
