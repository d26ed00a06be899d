// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/gpu/cuda/cudnn/functions.cuh"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The parts of which cuDNN's graphs are made: a kind, attributes, and finished once they are set.
namespace strata::cuda {

using Cudnn = std::shared_ptr<const CudnnFunctions>;

/// What cuDNN does not do, with its reason; becomes a value where plans are made.
struct GraphRefusal {
  std::string reason;
};

class GraphPart {
 public:
  GraphPart(Cudnn cudnn, cudnnBackendDescriptorType_t kind);
  ~GraphPart();
  GraphPart(GraphPart&& other) noexcept
      : cudnn_(other.cudnn_), part_(std::exchange(other.part_, nullptr)) {}
  GraphPart& operator=(GraphPart&&) = delete;

  const Cudnn& library() const { return cudnn_; }
  const CudnnFunctions& cudnn() const { return *cudnn_; }
  cudnnBackendDescriptor_t get() const { return part_; }

  /// Throws GraphRefusal, as the next ones do.
  template <class Value>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const Value& value) {
    set_raw(name, type, 1, &value);
  }
  template <class Value, std::size_t Count>
  void set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
               const std::array<Value, Count>& values) {
    set_raw(name, type, static_cast<std::int64_t>(Count), values.data());
  }
  template <class Value>
  void set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
               const std::vector<Value>& values) {
    set_raw(name, type, static_cast<std::int64_t>(values.size()), values.data());
  }
  void refer(cudnnBackendAttributeName_t name, const GraphPart& other) {
    set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.part_);
  }
  void finish(const char* what);
  /// Finishes it; cuDNN's reason when it cannot be.
  std::optional<std::string> problem_when_finished();

  std::int64_t number(cudnnBackendAttributeName_t name) const;
  /// Values of a list; none where cuDNN says nothing.
  template <class Value>
  std::vector<Value> list(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          std::size_t most) const {
    std::vector<Value> values(most);
    values.resize(get_raw(name, type, most, values.data()));
    return values;
  }
  /// Other parts that this one has, `most` of them, each of a kind.
  std::vector<GraphPart> parts(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t kind,
                               std::size_t most) const;

 private:
  void set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
               std::int64_t count, const void* values);
  /// How many there were; 0 when cuDNN refuses.
  std::size_t get_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                      std::size_t most, void* values) const;

  Cudnn cudnn_;
  cudnnBackendDescriptor_t part_ = nullptr;
};

cudnnDataType_t graph_type(DType dtype);

/// The numerical and behaviour notes of an engine, in lower case without their prefix.
std::vector<std::string> engine_notes(const GraphPart& engine);

}  // namespace strata::cuda
