// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/recording.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// Recordings of one operation, made by hand.
namespace strata {

using Extents64 = std::vector<std::int64_t>;

/// Rows one after the other.
inline Extents64 dense_strides(const Extents64& shape) {
  Extents64 stride(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;)
    stride[axis - 1] = stride[axis] * std::max<std::int64_t>(shape[axis], 1);
  return stride;
}

class OneOperation {
 public:
  explicit OneOperation(std::string name) {
    recording_.layers.push_back({"layer", "Layer"});
    operation_.name = std::move(name);
  }

  std::uint32_t tensor(const Extents64& shape, DType dtype = DType::fp32, Extents64 stride = {}) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    const auto storage = static_cast<std::uint32_t>(recording_.storages.size());
    recording_.storages.push_back({.bytes = elements * bytes_per_element(dtype)});
    if (stride.empty()) stride = dense_strides(shape);
    recording_.tensors.push_back({dtype, shape, std::move(stride), storage, elements});
    return static_cast<std::uint32_t>(recording_.tensors.size() - 1);
  }

  OneOperation& reads(const Extents64& shape, DType dtype = DType::fp32, Extents64 stride = {}) {
    operation_.inputs.push_back({tensor(shape, dtype, std::move(stride))});
    return *this;
  }
  OneOperation& reads_nothing() {
    operation_.inputs.emplace_back();
    return *this;
  }
  OneOperation& writes(const Extents64& shape, DType dtype = DType::fp32, Extents64 stride = {}) {
    operation_.outputs.push_back(tensor(shape, dtype, std::move(stride)));
    return *this;
  }
  OneOperation& with(std::string argument, std::vector<double> numbers) {
    operation_.numbers.emplace_back(std::move(argument), std::move(numbers));
    return *this;
  }
  OneOperation& with_text(std::string argument, std::string text) {
    operation_.texts.emplace_back(std::move(argument), std::move(text));
    return *this;
  }

  RecordedOperations recording() const {
    RecordedOperations made = recording_;
    made.operations.push_back(operation_);
    return made;
  }

 private:
  RecordedOperations recording_;
  RecordedOperation operation_;
};

}  // namespace strata
