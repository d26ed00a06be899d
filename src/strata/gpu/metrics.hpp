// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/profile/counters.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Which counters of a GPU stand for which column, as data: data/metrics/<chip>.json, one file per
/// family of chips, and one of names to try on any other. NVIDIA's names change with every
/// generation, ours do not.
namespace strata {

/// factor × what the chip calls `metric`.
struct MetricTerm {
  std::string metric;
  double factor = 1;
};
using MetricSum = std::vector<MetricTerm>;

struct MetricColumn {
  std::string key;  ///< ours: "dram_read_bytes"
  std::string unit;
  std::string about;
  /// Sums that mean the same; the first whose names the chip knows is the column.
  std::vector<MetricSum> alternatives;
  std::string over;  ///< the column by which the sum is divided; empty: by none
};

/// Counters that are read together, the work repeated `passes` times.
struct MetricSession {
  std::string name;
  std::string about;
  std::optional<int> passes;  ///< nothing: not known before it is asked on the chip
  std::vector<std::string> columns;
};

struct MetricPreset {
  std::string name;
  std::string about;
  std::vector<std::string> sessions;
};

struct ChipMetrics {
  std::vector<std::string> chips;  ///< "GH100"; empty: for chips without a file of their own
  std::string title;
  std::string source;
  std::vector<MetricColumn> columns;
  std::vector<MetricSession> sessions;
  std::vector<MetricPreset> presets;

  const MetricColumn* column(std::string_view key) const;
  const MetricSession* session(std::string_view name) const;
};

/// The presets that every file has, least costly first: time, roofline, efficiency, stalls, paper,
/// full.
std::span<const std::string_view> metric_preset_names();

/// Whether CUPTI counts it by patching the kernel, which then runs up to a hundred times as long.
bool is_sass_metric(std::string_view metric);

/// Errors (input) name the field, what was expected and what came.
ChipMetrics read_metrics(std::string_view text);

/// The file of a chip that ships, or the one for any other. Case does not matter.
const ChipMetrics& metrics_of_chip(std::string_view chip);

}  // namespace strata
