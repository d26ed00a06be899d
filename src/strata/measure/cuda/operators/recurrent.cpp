// SPDX-License-Identifier: Apache-2.0
// Recurrent layers: cuDNN only.
#include "strata/measure/cuda/node.cuh"

namespace strata::cuda::train {

KernelsOrReason make_kernels(const Recurrent& op, const NodeFacts& facts) {
  return cudnn_recurrent(facts, op);
}

}  // namespace strata::cuda::train
