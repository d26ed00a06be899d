// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/recorded_operations.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/recording.hpp"
#include "strata/operations/aten_launches.hpp"

#include <algorithm>

namespace strata {
namespace {

std::int64_t tensors_of(const RecordedOperation& operation) {
  std::size_t longest = 1;
  for (const auto& inputs : operation.inputs) longest = std::max(longest, inputs.size());
  return static_cast<std::int64_t>(longest);
}

}  // namespace

FrameworkOperations recorded_operations(const Program& program, const Framework& framework) {
  if (framework.name != "pytorch-eager")
    fail(ErrorKind::unsupported,
         "a recording is what PyTorch ran; {} needs the network from a file or by its name",
         framework.title);
  const RecordedOperations& recording = *program.bound->graph->recording;
  const auto& tensors = program.bound->tensors;
  const bool is_tf32 = std::any_of(tensors.begin(), tensors.end(),
                                   [](const BoundTensor& one) { return one.dtype == DType::tf32; });
  FrameworkOperations result;
  result.calls.reserve(recording.operations.size());
  for (std::size_t id = 0; id < recording.operations.size(); ++id) {
    const RecordedOperation& operation = recording.operations[id];
    const StepId step = program.operation_steps[id];
    result.calls.push_back({.first = static_cast<std::uint32_t>(result.operations.size()),
                            .step = step,
                            .is_backward = operation.pass == RecordedPass::backward,
                            .tensors = tensors_of(operation),
                            .is_inference = !recording.is_training,
                            .operation = operation.name});
    if (!operation.is_known && std::find(result.unknown.begin(), result.unknown.end(),
                                         operation.name) == result.unknown.end())
      result.unknown.push_back(operation.name);
    if (!operation.launches) continue;
    for (const RecordedLaunch& launch : launches_of(recording, operation, is_tf32))
      result.operations.push_back({.kernel_class = launch.kernel_class,
                                   .precision = launch.precision,
                                   .step = step,
                                   .dims = launch.dims,
                                   .share = launch.share,
                                   .kernels = launch.kernels});
  }
  return result;
}

}  // namespace strata
