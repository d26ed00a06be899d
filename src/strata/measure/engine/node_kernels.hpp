// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"
#include "strata/training/program.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

/// What a device must provide to train a network: for each node, kernels that compute its passes.
/// The engine above (engine.hpp) is the same for all devices: it plans memory, runs the steps of a
/// Program, times them and keeps the samples.
namespace strata {

/// The memory that a node's kernels work on, by position in the node; null where the pass does not
/// touch it or no gradient is wanted. Tensors are dense, row-major, of the bound tensor's type.
struct NodeMemory {
  std::vector<void*> inputs;  ///< data, then the operator's own
  std::vector<void*> outputs;
  std::vector<void*> output_gradients;
  std::vector<void*> input_gradients;  ///< of data and own inputs alike
  void* saved = nullptr;               ///< what forward leaves for backward beside tensors
  void* scratch = nullptr;             ///< any content, lost after the pass
};

/// What of the node's tensors its backward passes read, and what they need beside them.
struct NodeNeeds {
  bool inputs = false;  ///< data inputs; the operator's own are always there
  bool outputs = false;
  std::int64_t saved_bytes = 0;
  std::int64_t scratch_bytes = 0;  ///< of the pass that needs most; the engine provides it
  /// Memory that the kernels hold themselves as long as they live: packed weights, a strategy's
  /// buffers. Counts toward the peak memory of the network.
  std::int64_t own_bytes = 0;
  /// The two gradients come out of one computation, so that only Pass::backward can be run.
  bool backward_is_one = false;
};

/// One node made ready on a device; owns plans and descriptors, not tensors.
class NodeKernels {
 public:
  virtual ~NodeKernels() = default;

  virtual NodeNeeds needs() const = 0;

  /// Computes forward, backward_input, backward_weight or (both gradients) backward, once; on a GPU
  /// puts it into the device's stream. What it writes does not depend on what was there before:
  /// gradients that several nodes contribute to are added by the engine. Buffers (running
  /// statistics) are changed in place.
  virtual void run(Pass pass, const NodeMemory& memory) = 0;

  /// By what the pass is computed, for people: "winograd4", "cuDNN fft_tiling", "OpenBLAS sgemm".
  virtual std::string implementation(Pass) const { return {}; }
};

/// Why a node cannot run here; the rest of the network still does.
struct NoKernels {
  std::string reason;
};

using KernelsOrReason = std::variant<std::unique_ptr<NodeKernels>, NoKernels>;

}  // namespace strata
