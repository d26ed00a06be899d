// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/trial.cuh"

#include "strata/base/error.hpp"

namespace strata::cuda::train {
namespace {

/// Zeros on the device, which stay until what works on them is done.
class Zeros {
 public:
  explicit Zeros(cudaStream_t stream) : stream_(stream) {}
  ~Zeros() { cudaStreamSynchronize(stream_); }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;

  void* bytes(std::int64_t count) {
    const auto size = static_cast<std::size_t>(count > 0 ? count : 1);
    buffers_.emplace_back(size);
    STRATA_CUDA_CALL(cudaMemsetAsync(buffers_.back().get(), 0, size, stream_));
    return buffers_.back().get();
  }

 private:
  cudaStream_t stream_;
  std::vector<DeviceBuffer> buffers_;
};

bool has_room_for(std::int64_t bytes) {
  std::size_t free = 0, total = 0;
  STRATA_CUDA_CALL(cudaMemGetInfo(&free, &total));
  return bytes < static_cast<std::int64_t>(free / 2);
}

std::int64_t trial_bytes(const NodeNeeds& needs, const NodeFacts& facts) {
  std::int64_t bytes = needs.saved_bytes + needs.scratch_bytes;
  for (const auto* side : {&facts.inputs, &facts.outputs}) {
    for (const BoundTensor& tensor : *side) bytes += 2 * tensor.bytes;  // and its gradient
  }
  return bytes;
}

void run_on_zeros(NodeKernels& kernels, const NodeNeeds& needs, const NodeFacts& facts) {
  Zeros zeros(facts.context->stream());
  NodeMemory memory;
  for (const BoundTensor& input : facts.inputs) {
    memory.inputs.push_back(zeros.bytes(input.bytes));
    memory.input_gradients.push_back(
        facts.is_training && input.wants_gradient ? zeros.bytes(input.bytes) : nullptr);
  }
  for (const BoundTensor& output : facts.outputs) {
    memory.outputs.push_back(zeros.bytes(output.bytes));
    memory.output_gradients.push_back(
        facts.is_training && output.wants_gradient ? zeros.bytes(output.bytes) : nullptr);
  }
  memory.saved = zeros.bytes(needs.saved_bytes);
  memory.scratch = zeros.bytes(needs.scratch_bytes);
  kernels.run(Pass::forward, memory);
  if (facts.is_training && facts.outputs[0].wants_gradient) kernels.run(Pass::backward, memory);
  STRATA_CUDA_CALL(cudaStreamSynchronize(facts.context->stream()));
}

}  // namespace

std::string problem_on_zeros(NodeKernels& kernels, const NodeFacts& facts) {
  const NodeNeeds needs = kernels.needs();
  if (!has_room_for(trial_bytes(needs, facts))) return {};
  try {
    run_on_zeros(kernels, needs, facts);
    return {};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::environment) throw;
    cudaGetLastError();  // the next call is not to blame
    return error.what();
  }
}

}  // namespace strata::cuda::train
