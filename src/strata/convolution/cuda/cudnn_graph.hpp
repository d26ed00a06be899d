// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/strategy.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Convolutions through cuDNN's graph interface (its "backend"): engines that the algorithms by
/// name do not reach, and the way frameworks take. A build without cuDNN has the same functions,
/// which refuse with the reason.
namespace strata::cuda {

/// Who says which engines are tried, and in which order.
enum class CudnnEngines : std::uint8_t {
  heuristic_a,  ///< cuDNN's own order, by a table
  heuristic_b,  ///< its order by a model; more exact, slower to ask
  fallback,     ///< what always works, in no order
  every,        ///< each engine that cuDNN has for this operation, as it is set by default
};

/// Layouts of a tensor: batch, channels, rows, columns, or channels last.
enum class CudnnLayout : std::uint8_t { nchw, nhwc };

/// One pass of one convolution. fp32 is multiplied as fp32: engines that round first are left out.
/// tf32 lets them in. fp16 and bf16 are added in fp32, fp64 in fp64.
struct CudnnConv {
  ConvProblem problem;
  CudnnLayout layout = CudnnLayout::nchw;
};

/// What cuDNN says of an engine.
struct CudnnEngine {
  std::int64_t number = 0;
  std::vector<std::string> notes;  ///< "tensor_core", "fft", "winograd", "runtime_compilation"
  /// "engine 12: winograd, winograd_tile_6x6".
  std::string text() const;
  bool has(std::string_view note) const;
};

/// An engine made ready for one convolution; keeps what it came from alive.
class CudnnConvPlan {
 public:
  virtual ~CudnnConvPlan() = default;
  virtual const CudnnEngine& engine() const = 0;
  virtual std::int64_t workspace_bytes() const = 0;
  /// Puts the pass into the stream. `workspace` has workspace_bytes(), aligned to 256 bytes; the
  /// tensors are aligned to 16. Errors (environment) with cuDNN's reason.
  virtual void run(const ConvTensors& tensors, void* workspace) = 0;
};

struct CudnnPlanLimits {
  std::size_t most_plans = 64;
  std::optional<std::int64_t> most_workspace_bytes;
};

/// Plans that can run, and why there are no more.
struct CudnnPlans {
  std::vector<std::unique_ptr<CudnnConvPlan>> plans;  ///< in the order of the engines
  std::vector<std::string> refusals;                  ///< engines that cannot, each with the reason
  std::string why_none() const;                       ///< one line for when `plans` is empty
};

class CudnnGraph {
 public:
  virtual ~CudnnGraph() = default;
  /// `stream` is a cudaStream_t in which everything runs. Nothing, and the reason in `problem`,
  /// when cuDNN cannot be loaded.
  static std::shared_ptr<CudnnGraph> load(void* stream, std::string& problem);

  virtual std::string version() const = 0;  ///< "9.14.0"
  virtual CudnnPlans plans(const CudnnConv& conv, CudnnEngines engines,
                           const CudnnPlanLimits& limits) const = 0;
};

}  // namespace strata::cuda
