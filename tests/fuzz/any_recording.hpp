// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/graph/bind.hpp"
#include "strata/graph/builder.hpp"
#include "strata/report/trace_report.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace strata::fuzz {

/// With which kernels are matched; the zoo is not compiled with the fuzz targets.
inline Graph small_network() {
  GraphBuilder builder("small");
  const Dim batch = builder.symbols().parameter("batch", 2);
  TensorId x = builder.input("images", {batch, 3, 8, 8});
  x = builder.add("conv1", Convolution{.channels = 4, .kernel = {3, 3}}, {x});
  x = builder.add("relu1", Unary{UnaryKind::relu}, {x});
  x = builder.add("conv2", Convolution{.channels = 4, .kernel = {3, 3}}, {x});
  x = builder.add("fc", Linear{.features = 10}, {x});
  return std::move(builder).finish();
}

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
    static const Graph network = small_network();
    static const BoundGraph bound = bind_graph(network, {});
    const TraceReport matched = make_trace_report("fuzz", recording, nullptr, &bound);
    to_text(matched, {}, {});
    to_json(std::span(&matched, 1), {});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
  }
}

}  // namespace strata::fuzz
