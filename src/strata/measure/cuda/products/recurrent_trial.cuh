// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/node.cuh"

#include <memory>
#include <string>
#include <vector>

namespace strata::cuda::train {

/// Random tensors of one recurrent layer. The first way that runs on them gives the numbers that
/// the others are held against.
class RecurrentTrial {
 public:
  RecurrentTrial(const NodeFacts& facts, std::int64_t hidden);

  /// Forward and backward together, the shortest of a few runs; infinite, and the reason, where the
  /// way refuses, is wrong or is far behind the best so far.
  double seconds(NodeKernels& way, double best_seconds, std::string& why_not);

 private:
  struct Tensor {
    std::shared_ptr<void> memory;
    std::int64_t bytes = 0;
    DType dtype = DType::fp32;
  };
  Tensor made(const BoundTensor& like) const;
  Tensor random(const BoundTensor& like, double largest, std::uint64_t seed) const;
  double seconds_once(NodeKernels& way) const;
  void poison_results() const;
  std::vector<double> sampled(const Tensor& tensor) const;
  /// Of what the last run left, relative to what the first way did.
  double error();
  double tolerance() const;

  cudaStream_t stream_;
  DType dtype_;
  bool is_training_;
  NodeMemory memory_;
  std::vector<Tensor> given_;    ///< inputs and gradients of outputs
  std::vector<Tensor> results_;  ///< outputs and gradients of inputs
  std::vector<std::vector<double>> expected_;
};

}  // namespace strata::cuda::train
