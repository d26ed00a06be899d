// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/training/device.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace strata {

/// A network in the memory of a device, ready to be trained: tensors placed, kernels chosen, steps
/// in program order. Values are synthetic unless set.
class Engine {
 public:
  struct Options {
    TrainingOptions training = {};  ///< recurrent layers are one step; backward is separate
    UpdateRule rule = {};
    std::uint64_t seed = 1;  ///< of weights, inputs and targets
  };

  /// The graph must have its loss as a node (with_loss); it and the device outlive the engine.
  /// Errors (environment) when memory is short, with what was needed and by which layers.
  Engine(const BoundGraph& bound, TrainingDevice& device, const Options& options);
  ~Engine();

  /// Everything that is timed on its own, in order. A step whose node has no kernels, or that
  /// depends on such a one where values would be undefined, has a reason instead.
  struct Part {
    NodeId node = no_node;
    Pass pass = Pass::forward;
    bool is_gradient_sum = false;
    TensorId parameter = 0;  ///< of an update
    std::int64_t flop = 0;
    std::int64_t read_bytes = 0;  ///< by the cost sheets
    std::int64_t write_bytes = 0;
    std::string implementation;
    std::string not_run;  ///< why; empty: it runs
  };
  std::span<const Part> parts() const;

  /// One iteration, marked at the beginning of every part that runs and at the end.
  void iterate(Stopwatch* stopwatch);
  /// The same through the device's recording; false where there is none.
  bool iterate_recorded();

  std::optional<double> loss();  ///< of the last iteration
  std::int64_t peak_bytes() const;

  std::vector<double> read(TensorId tensor) const;           ///< as it is after the last iteration
  std::vector<double> read_gradient(TensorId tensor) const;  ///< of a parameter
  void write(TensorId tensor, std::span<const double> values);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The graph with its loss as a last node, as training would add it; the same graph when it has one
/// or needs none. Targets become an input.
Graph with_loss(const Graph& graph, Loss loss);

}  // namespace strata
