// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/device_trace.hpp"

#include <fmt/format.h>

namespace strata {

std::string lost_records_text(const DeviceActivity& activity) {
  std::string text;
  if (activity.dropped > 0)
    text = fmt::format("{} records of the trace were lost for want of room", activity.dropped);
  if (activity.untimed > 0)
    text += fmt::format("{}{} records have no times, as another profiler replayed their kernels",
                        text.empty() ? "" : "; ", activity.untimed);
  return text;
}

}  // namespace strata
