// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/device.hpp"
#include "strata/api/model.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/measure/engine/measure_training.hpp"
#include "strata/report/measurement_report.hpp"

#include <memory>
#include <optional>

namespace strata {

/// What is asked of a measurement; every default is a sensible one.
struct MeasureRequest {
  ModelSizes sizes;
  Loss loss = Loss::automatic;  ///< of a network that is trained and has none
  MeasureOptions options;       ///< which nodes are the network's is found out
};

/// A network that can be measured: with its loss, a number for every size, and what to do with it.
struct TrainableModel {
  Graph graph;
  MeasureOptions options;
  BoundGraph bound;  ///< of that graph
  DType dtype = DType::fp32;
};
/// On the heap, as the bound graph refers to the graph beside it.
std::unique_ptr<TrainableModel> trainable_model(const Graph& network,
                                                const MeasureRequest& request = {});

struct MeasuredModel {
  std::unique_ptr<TrainableModel> model;
  std::optional<Machine> machine;  ///< whose peaks it is held against
  MeasurementSummary summary;

  /// False when it was interrupted before there was anything to tell.
  bool has_times() const { return summary.measured.has_times(); }
};

/// Trains the network on the device and times every layer. The device must have been opened for the
/// model's data type.
MeasuredModel measure_model(std::unique_ptr<TrainableModel> model, TrainingDevice& device,
                            std::optional<Machine> machine, const MeasureHooks& hooks = {});
/// The same on a device that is opened for it.
MeasuredModel measure_model(const Graph& network, const ChosenDevice& device,
                            MeasureRequest request = {}, std::optional<Machine> machine = {});

}  // namespace strata
