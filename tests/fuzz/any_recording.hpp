// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/report/trace_report.hpp"
#include "strata/zoo/zoo.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace strata::fuzz {

/// Reads; what was read can be shown in every form. Only the input may be at fault.
template <class Read>
void try_recording(const Read& read) {
  try {
    const Recording recording = read();
    const TraceReport report = make_trace_report("fuzz", recording, nullptr);
    to_text(report, {}, {});
    to_json(std::span(&report, 1), {});
    for (int view = 0; view <= static_cast<int>(TraceView::copy); ++view)
      to_csv(std::span(&report, 1), static_cast<TraceView>(view));
    write_timeline(std::span(&recording, 1), [](std::string_view) {});
    static const Graph network = build_network("lenet5");
    static const BoundGraph bound = bind_graph(network, {{"batch", 2}});
    const TraceReport matched = make_trace_report("fuzz", recording, nullptr, &bound);
    to_text(matched, {}, {});
    to_json(std::span(&matched, 1), {});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
  }
}

}  // namespace strata::fuzz
