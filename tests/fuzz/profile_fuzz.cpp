// SPDX-License-Identifier: Apache-2.0
// What libFuzzer feeds to the reader of profiles; what it takes is put under the roofs, and shown.
#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/profile/read_profile.hpp"
#include "strata/report/roofline_summary.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const strata::Machine machine = strata::load_machine("v100-nersc");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    strata::Profile profile = strata::read_profile(text);
    const strata::RooflineSummary summary =
        strata::summarize_roofline({{"fuzz", profile}, {"again", profile}}, machine, {},
                                   strata::RooflineBy::layer, /*is_trajectory=*/size % 2 == 0);
    strata::to_text(summary, 10, {.columns = 80});
    strata::to_json(summary, {});
    strata::to_csv(summary);
    strata::chart::to_svg(strata::roofline_chart(summary, strata::RooflineKind::classic));
    strata::chart::to_svg(strata::roofline_chart(summary, strata::RooflineKind::combined));
  } catch (const strata::Error& error) {
    if (error.kind() != strata::ErrorKind::input) throw;
  }
  return 0;
}
