// SPDX-License-Identifier: Apache-2.0
// What libFuzzer feeds to the reader of stored convolution results.
#include "strata/base/error.hpp"
#include "strata/report/convolution_report.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const strata::ConvResults results = strata::read_conv_results(text);
    // What was read can be shown in every form, and what is written reads again as the same.
    const std::string written = strata::to_json(results, {}, {});
    if (strata::to_json(strata::read_conv_results(written), {}, {}) != written) __builtin_trap();
    strata::to_text(results, {.wants_details = true, .budgets_bytes = {1 << 20}}, {});
    strata::network_advice_text(results, {}, {});
    strata::to_csv(results);
    strata::conv_pictures(results);
  } catch (const strata::Error& error) {
    if (error.kind() != strata::ErrorKind::input) throw;
  }
  return 0;
}
