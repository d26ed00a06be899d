// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/convolutions/convolutions.cuh"

#include <cstdint>
#include <memory>
#include <vector>

/// How ways to compute a convolution are tried: on random numbers, for their time and for whether
/// they are right.
namespace strata::cuda::train {

/// Random tensors for one request, and some numbers of what the pass should make of them.
class ConvTrial {
 public:
  ConvTrial(const ConvRequest& request, cudaStream_t stream);

  ConvTensors tensors() const { return {input_.get(), weights_.get(), output_.get()}; }
  /// Of the result as the last run left it: relative, L2.
  double error() const;
  /// What the data type itself brings, with room for sums in any order.
  double tolerance() const;
  /// Of one run; infinite where the library refuses.
  double seconds_of(ConvRunner& runner, void* scratch) const;

 private:
  std::shared_ptr<void> filled(std::int64_t elements, std::uint32_t seed) const;
  double* found() const { return static_cast<double*>(found_.get()); }
  void fetch(std::vector<double>& numbers) const;

  ConvRequest request_;
  cudaStream_t stream_;
  std::shared_ptr<void> input_, weights_, output_, found_;
  std::vector<double> references_;
};

/// Scratch memory that grows with who needs it.
class TrialScratch {
 public:
  void* of(const ConvRunner& runner);

 private:
  std::int64_t bytes_ = -1;
  std::shared_ptr<void> memory_;
};

/// How much time one that is tried may take.
struct TrialPatience {
  double behind = 1.3;      ///< than the best so far in its second run: it is not run again
  double steady_s = 0.005;  ///< from here on one run says enough
};

/// The shortest of a few runs; infinite for who refuses or is clearly behind. The first run also
/// loads the kernel, which takes longer than most convolutions: it only tells who is hopeless.
TriedConvolution try_convolution(ConvRunner& runner, const ConvTrial& trial, void* scratch,
                                 double best_seconds, const TrialPatience& patience = {});

/// What it takes as far as is known; infinite where it refuses.
double seconds_or_more(const TriedConvolution& tried);

}  // namespace strata::cuda::train
