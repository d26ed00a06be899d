// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/device.hpp"

#include <cstdint>
#include <functional>
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
    UpdateRule rule = {};           ///< of the optimizer that `training` names
    std::uint64_t seed = 1;         ///< of weights, inputs and targets
    /// No memory is used twice, so that `read` knows every tensor and not only what lasts.
    bool keeps_everything = false;
    /// Called after the kernels of each node were made: how many of how many.
    std::function<void(std::size_t done, std::size_t total)> on_node = {};
    /// Asked before each node: choosing kernels may take long. From then on nodes have none.
    std::function<bool()> is_interrupted = {};
  };

  /// The graph should have its loss as a node (with_loss): outputs without one get a gradient from
  /// outside. It and the device outlive the engine. Errors (environment) when memory is short, with
  /// what was needed, by which layers, and which batch would fit.
  Engine(const BoundGraph& bound, TrainingDevice& device, const Options& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Everything that is timed on its own, in order. A step whose node has no kernels has a reason
  /// instead: its results are made up once, its gradients are zero.
  struct Part {
    NodeId node = no_node;
    Pass pass = Pass::forward;
    bool is_gradient_sum = false;
    TensorId tensor = 0;  ///< whose gradients are summed, or which parameter is updated
    std::int64_t flop = 0;
    std::int64_t read_bytes = 0;  ///< as the Program has them: each Value that it uses, whole
    std::int64_t write_bytes = 0;
    std::string implementation;
    std::string not_run;  ///< why; empty: it runs
    /// The device updates this parameter together with one of the same layer before it, which is
    /// the part that runs.
    bool is_with_another = false;
  };
  std::span<const Part> parts() const;
  /// Of the parts, those that run, in order: mark i of a stopwatch is where running()[i] begins.
  std::span<const std::size_t> running() const;

  /// One iteration, marked at the beginning of every part that runs and at the end.
  void iterate(Stopwatch* stopwatch);
  /// The same through the device's recording; false where there is none. The optimizer's count of
  /// iterations stands still in a recording.
  bool iterate_recorded();
  /// One iteration in pieces, for counters: `begin` is called with the number of each part that
  /// runs, and `end` when the device has done it. May be repeated: sizes stay what they are, while
  /// weights, states and running statistics move on as in any iteration.
  void iterate_in_pieces(const std::function<void(std::size_t part)>& begin,
                         const std::function<void()>& end);
  /// So many iterations under the device's tracing. KernelRun::part is round × parts().size() plus
  /// the part. Empty where there is no tracing.
  std::vector<KernelRun> trace(std::size_t rounds);

  std::optional<double> loss();  ///< of the last iteration; the sum where there are several
  std::int64_t peak_bytes() const;
  std::int64_t samples() const;  ///< that one iteration trains

  /// As it is after the last iteration. Errors (usage) when its memory was used again since:
  /// activations are only kept with `keeps_everything`.
  std::vector<double> read(TensorId tensor) const;
  std::vector<double> read_gradient(TensorId tensor) const;  ///< of a parameter
  /// Of an input, a parameter, a buffer or a constant.
  void write(TensorId tensor, std::span<const double> values);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The graph with its loss as a last node, as training would add it; the same graph when it has one
/// or needs none. Targets become an input. What is added comes after the nodes of the graph.
Graph with_loss(const Graph& graph, Loss loss);

}  // namespace strata
