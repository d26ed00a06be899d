// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"
#include "strata/machine/machine.hpp"
#include "strata/measure/engine/measure_training.hpp"
#include "strata/profile/profile.hpp"
#include "strata/report/model_summary.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What a measurement says, as plain data: the one source of the table, the JSON and the CSV of
/// `strata measure`. Base units.
namespace strata {

struct MeasurementTotals {
  IterationTime iteration;           ///< of the profile; its time is a median
  double spread_s = 0;               ///< of iterations: median absolute deviation
  double best_s = 0;                 ///< of the shortest
  std::optional<double> recorded_s;  ///< as one recorded piece: median
  double samples_per_s = 0;
  double flop_per_s = 0;
  std::int64_t flop = 0;
  std::int64_t traffic_bytes = 0;  ///< if each tensor crosses memory once per pass
  std::int64_t launches = 0;
  double forward_s = 0;
  double backward_s = 0;
  double update_s = 0;
  std::int64_t rows_not_run = 0;
};

/// The peaks of a machine for one data type.
struct MachinePeaks {
  std::string name;  ///< empty unless it ships with Strata, so that others can load it
  std::string title;
  std::optional<double> flop_per_s;  ///< on matrix units where it has them
  std::optional<double> bytes_per_s;
};

struct MeasurementSummary {
  std::string network;
  std::string title;
  std::vector<Dimension> dims;
  std::string dtype;
  std::vector<Warning> warnings;
  TrainingOptions training;
  std::uint64_t seed = 0;
  std::size_t warm_up = 0;
  std::optional<MachinePeaks> machine;
  std::string host;
  std::string date;

  TrainingMeasurement measured;
  MeasurementTotals totals;
  std::vector<ProfileGroup> by_type;  ///< longest first
  std::vector<ProfileGroup> by_pass;
  std::vector<ProfileGroup> by_block;
  std::vector<ProfileGroup> by_class;

  /// Whether rows know the time at their roof.
  bool has_roofs() const;
  /// Whether the time of a row is that of its kernels, without what passes between them.
  bool has_kernels() const { return !measured.kernels.empty(); }
  /// Model FLOP utilisation: what of the peak the iteration reaches.
  std::optional<double> utilisation() const;
};

MachinePeaks peaks_of(const Machine& machine, DType dtype);

/// `dtype` is that of most numbers. Who calls adds host and date.
MeasurementSummary summarize(const BoundGraph& bound, TrainingMeasurement measured,
                             const MeasureOptions& options, DType dtype,
                             const std::optional<Machine>& machine);

}  // namespace strata
