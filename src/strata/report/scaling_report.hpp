// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/parallel_report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The best strategy of a network for each of several numbers of devices.
namespace strata {

struct ScalingRow {
  std::int64_t devices = 0;
  std::optional<ParallelSummary> best;  ///< nothing: the reason says why
  std::string reason;                   ///< "out of memory: …", "… devices are no whole nodes"
  std::size_t strategies = 0;           ///< that were tried
  std::size_t fitting = 0;              ///< of them
};

struct ParallelScaling {
  ParallelContext context;            ///< of the cluster as it was named
  bool has_batch_per_device = false;  ///< the batch grows with the devices; else it stays
  std::vector<ScalingRow> rows;

  bool has_answer() const;
  /// Samples per second and device over those of the first row that has an answer.
  std::optional<double> efficiency(const ScalingRow& row) const;
};

std::string to_text(const ParallelScaling& scaling, const TextStyle& style);
std::string to_json(const ParallelScaling& scaling, const Provenance& provenance);

}  // namespace strata
