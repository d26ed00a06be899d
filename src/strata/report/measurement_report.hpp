// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/measurement_summary.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/text_style.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

/// A MeasurementSummary as text of several kinds: pure functions, one file each.
namespace strata {

enum class MeasureBy : std::uint8_t { type, layer, block, pass };

struct MeasureView {
  MeasureBy by = MeasureBy::type;
  std::size_t layers = 5;  ///< slowest layers below the answer; every_layer: all, in order
};
inline constexpr std::size_t every_layer = ~std::size_t{0};

/// The answer first, then where the time goes, then what was not run.
std::string to_text(const MeasurementSummary& summary, const MeasureView& view,
                    const TextStyle& style);
/// What was counted of the layers that take longest, or why nothing was; empty: nobody asked.
std::string counters_text(const MeasurementSummary& summary, const MeasureView& view,
                          const TextStyle& style);
/// One line per layer and pass, with counters where there are any.
std::string to_csv(const MeasurementSummary& summary);
/// Everything, with every sample: a profile that roofline, compare and others read.
std::string to_json(const MeasurementSummary& summary, const Provenance& provenance);
/// A timeline for Perfetto or chrome://tracing: one iteration by layers and, where they were
/// traced, one by kernels.
std::string to_trace(const MeasurementSummary& summary);

/// One of several networks that were measured, or why it could not be.
struct NetworkMeasurement {
  std::string model;  ///< as it was asked for
  std::optional<MeasurementSummary> summary = {};
  std::string reason = {};
};
/// A line per network: time, rate, memory, loss before and after, layers that did not run.
std::string to_text(std::span<const NetworkMeasurement> networks, const TextStyle& style);
std::string to_csv(std::span<const NetworkMeasurement> networks);
std::string to_json(std::span<const NetworkMeasurement> networks, const Provenance& provenance);

}  // namespace strata
