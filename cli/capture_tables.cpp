// SPDX-License-Identifier: Apache-2.0
#include "cli/capture_flags.hpp"
#include "cli/output.hpp"
#include "strata/base/units.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace strata {

void print_recordings(const Request& request, std::span<const Recording> recordings) {
  for (const Recording& recording : recordings) {
    std::map<NameId, std::pair<std::int64_t, std::int64_t>> kernels;
    for (const KernelRecord& kernel : recording.kernels) {
      ++kernels[kernel.name].first;
      kernels[kernel.name].second += kernel.time.length_ns();
    }
    Table table({{.title = "kernel", .least_width = 24}, {.title = "calls", .align = Align::right}, {.title = "time", .align = Align::right}});
    for (const auto& [name, sums] : kernels)
      table.add_row({std::string(recording.names.text(name)), fmt::format("{}", sums.first), format_time(1e-9 * static_cast<double>(sums.second))});
    print(table.to_text(request.style));
  }
}

}  // namespace strata
