// SPDX-License-Identifier: Apache-2.0
// What libFuzzer feeds to the reader of what a stored prediction was asked; what it takes is
// explained beside its rows.
#include "strata/api/request.hpp"
#include "strata/base/error.hpp"
#include "strata/explain/explain.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/profile/read_profile.hpp"
#include "strata/report/explain_report.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const strata::Machine machine = strata::load_machine("v100-nersc");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto recorded = strata::recorded_prediction(text);
    if (!recorded) return 0;
    const strata::Profile profile = strata::read_profile(text);
    const strata::Explanation explanation =
        strata::explain({.profile = profile, .machine = machine, .facts = &recorded->facts});
    strata::to_text(explanation, 3, {.columns = 80});
    strata::to_json(explanation, {});
    if (!recorded->request.empty()) strata::read_request(recorded->request);
  } catch (const strata::Error& error) {
    if (error.kind() != strata::ErrorKind::input) throw;
  }
  return 0;
}
