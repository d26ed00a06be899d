// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/kernels/normalization.cuh"
#include "strata/measure/cuda/kernels/pool.cuh"
#include "strata/measure/cuda/kernels/softmax.cuh"
#include "strata/measure/cuda/operators/attention.cuh"
#include "strata/measure/cuda/operators/convolution_request.cuh"
#include "strata/measure/engine/node_kernels.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// What cuDNN computes. Each function says why where cuDNN does not take the shape or the type, or
/// is not there; a build without cuDNN's header has stand-ins (no_cudnn/).
namespace strata::cuda {

struct CudnnFunctions;

namespace train {

struct NodeFacts;
struct TrainingContext;

using SharedCudnn = std::shared_ptr<const CudnnFunctions>;
/// Nothing, and the reason in `problem`, when it cannot be loaded.
SharedCudnn load_cudnn(cudaStream_t stream, std::string& problem);
/// "cuDNN 9.14.0"
std::string cudnn_version_text(const CudnnFunctions& cudnn);

/// Of one pass, those engines of cuDNN's graph interface that its heuristics propose, in their
/// order. Empty where there is none.
std::vector<std::unique_ptr<ConvAlgorithm>> cudnn_convolutions(const TrainingContext& context,
                                                               const ConvRequest& request,
                                                               std::int64_t most_workspace_bytes);

AttentionOrReason cudnn_attention(const TrainingContext& context, const AttentionShape& shape);

KernelsOrReason cudnn_pool(const NodeFacts& facts, const PoolRun& run);
KernelsOrReason cudnn_softmax(const NodeFacts& facts, const SoftmaxRun& run);
KernelsOrReason cudnn_local_response_norm(const NodeFacts& facts, std::int64_t size);
KernelsOrReason cudnn_batch_norm(const NodeFacts& facts, const BatchNorm& op);
/// Layer norm and root-mean-square norm of rows.
KernelsOrReason cudnn_row_norm(const NodeFacts& facts, const RowNorm& norm, bool has_scale,
                               bool has_shift);
KernelsOrReason cudnn_recurrent(const NodeFacts& facts, const Recurrent& op);

}  // namespace train
}  // namespace strata::cuda
