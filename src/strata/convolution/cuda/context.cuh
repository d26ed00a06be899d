// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/cublas.cuh"
#include "strata/convolution/cuda/view.cuh"
#include "strata/convolution/lab/strategy.hpp"
#include "strata/gpu/cuda/api.cuh"

#include <memory>
#include <string>
#include <vector>

/// What the strategies of one GPU share.
namespace strata::cuda {

struct ConvContext {
  int device = 0;
  Stream stream;
  std::shared_ptr<Cublas> cublas;  ///< nothing: `no_cublas` says why
  std::string no_cublas;
  /// Scratch memory that all share who run one after the other in the stream; null: each has its
  /// own.
  std::shared_ptr<void> shared_scratch;
  std::int64_t shared_scratch_bytes = 0;
};
using SharedContext = std::shared_ptr<const ConvContext>;

/// cudaMalloc that says how much was wanted and what there was.
std::shared_ptr<void> device_memory(std::int64_t bytes);
/// Memory whose content is lost between runs: shared where the context has enough of it.
std::shared_ptr<void> scratch_memory(const ConvContext& context, std::int64_t bytes);

/// Scratch memory cut into arrays, each aligned as cudaMalloc's own.
class Scratch {
 public:
  /// Returns where the next array of so many bytes begins.
  std::int64_t add(std::int64_t bytes);
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

/// Strategies add themselves in the order in which they are shown.
using StrategyList = std::vector<std::unique_ptr<ConvStrategy>>;
void add_direct(StrategyList& list, const SharedContext& context);
void add_unroll(StrategyList& list, const SharedContext& context);
void add_winograd(StrategyList& list, const SharedContext& context);
void add_fft(StrategyList& list, const SharedContext& context);
void add_cudnn(StrategyList& list, const SharedContext& context);
/// "9.14.0"; empty: there is none.
std::string cudnn_version();

/// Registers and shared memory of a kernel, from its own attributes.
KernelFacts facts_of(const void* kernel, std::string name, KernelRole role, int dynamic_shared = 0);

}  // namespace strata::cuda
