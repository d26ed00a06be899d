// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/cudnn/descriptors.cuh"

#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::cuda {
namespace {

/// cuDNN's name of the error, and its own words where it has any.
std::string reason_of(const CudnnFunctions& cudnn, cudnnStatus_t status) {
  std::array<char, 256> words{};
  cudnn.last_error(words.data(), words.size() - 1);
  std::string text = cudnn.error_text(status);
  if (words[0] != '\0') text += fmt::format(": {}", words.data());
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

GraphPart::GraphPart(Cudnn cudnn, cudnnBackendDescriptorType_t kind) : cudnn_(std::move(cudnn)) {
  check_cudnn(*cudnn_, cudnn_->create_part(kind, &part_), "cudnnBackendCreateDescriptor");
}

GraphPart::~GraphPart() {
  if (part_ != nullptr) cudnn_->destroy_part(part_);
}

void GraphPart::set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                        std::int64_t count, const void* values) {
  const cudnnStatus_t status = cudnn_->set_attribute(part_, name, type, count, values);
  if (status != CUDNN_STATUS_SUCCESS) throw GraphRefusal{reason_of(*cudnn_, status)};
}

std::size_t GraphPart::get_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                               std::size_t most, void* values) const {
  std::int64_t count = 0;
  const cudnnStatus_t status =
      cudnn_->get_attribute(part_, name, type, static_cast<std::int64_t>(most), &count, values);
  if (status != CUDNN_STATUS_SUCCESS) return 0;
  return std::min(most, static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
}

void GraphPart::finish(const char* what) {
  if (const auto problem = problem_when_finished())
    throw GraphRefusal{fmt::format("{}: {}", what, *problem)};
}

std::optional<std::string> GraphPart::problem_when_finished() {
  const cudnnStatus_t status = cudnn_->finalize(part_);
  if (status == CUDNN_STATUS_SUCCESS) return std::nullopt;
  return reason_of(*cudnn_, status);
}

std::int64_t GraphPart::number(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  get_raw(name, CUDNN_TYPE_INT64, 1, &value);
  return value;
}

std::vector<GraphPart> GraphPart::parts(cudnnBackendAttributeName_t name,
                                        cudnnBackendDescriptorType_t kind, std::size_t most) const {
  std::int64_t there = 0;
  cudnn_->get_attribute(part_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &there, nullptr);
  const std::size_t count = most == 1 ? 1 : std::min(most, static_cast<std::size_t>(there));
  std::vector<GraphPart> found;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::size_t i = 0; i < count; ++i) handles.push_back(found.emplace_back(cudnn_, kind).get());
  const std::size_t written =
      count == 0 ? 0 : get_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, handles.data());
  while (found.size() > written) found.pop_back();
  return found;
}

cudnnDataType_t graph_type(DType dtype) {
  switch (dtype) {
    case DType::fp64: return CUDNN_DATA_DOUBLE;
    case DType::fp16: return CUDNN_DATA_HALF;
    case DType::bf16: return CUDNN_DATA_BFLOAT16;
    case DType::fp32:
    case DType::tf32: return CUDNN_DATA_FLOAT;
    default: throw GraphRefusal{fmt::format("no convolutions in {}", name_of(dtype))};
  }
}

std::vector<std::string> engine_notes(const GraphPart& engine) {
  constexpr std::array<const char*, 10> numerical = {"tensor_core",
                                                     "down_convert_inputs",
                                                     "reduced_precision_reduction",
                                                     "fft",
                                                     "nondeterministic",
                                                     "winograd",
                                                     "winograd_tile_4x4",
                                                     "winograd_tile_6x6",
                                                     "winograd_tile_13x13",
                                                     "strict_nan_prop"};
  constexpr std::array<const char*, 5> behaviour = {"runtime_compilation", "filter_int8_reorder",
                                                    "bias_int8_reorder", "cuda_graph", "cublaslt"};
  // The last of each list are younger than the oldest cuDNN 9.
  static_assert(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13 == 8 &&
                CUDNN_BEHAVIOR_NOTE_REQUIRES_BIAS_INT8x32_REORDER == 2);
  std::vector<std::string> notes;
  const auto add = [&](auto values, const auto& names) {
    for (const auto value : values) {
      const auto at = static_cast<std::size_t>(value);
      notes.emplace_back(at < names.size() ? names[at] : "unknown_note");
    }
  };
  constexpr std::size_t most = 32;
  add(engine.list<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                               CUDNN_TYPE_NUMERICAL_NOTE, most),
      numerical);
  add(engine.list<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                              CUDNN_TYPE_BEHAVIOR_NOTE, most),
      behaviour);
  return notes;
}

}  // namespace strata::cuda
