// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/device.hpp"
#include "strata/measure/engine/tensor_numbers.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

/// Numbers on their way to a device and back, for tests that compare devices.
namespace strata::test {

inline std::vector<double> random_doubles(std::int64_t count, double low, double high,
                                          std::mt19937_64& random) {
  std::uniform_real_distribution<double> numbers(low, high);
  std::vector<double> result(static_cast<std::size_t>(count));
  for (double& number : result) number = numbers(random);
  return result;
}

/// Numbers that the type can hold, so that both devices begin with the same.
inline std::vector<double> rounded(std::vector<double> numbers, DType dtype) {
  return tensor_numbers(tensor_bytes(numbers, dtype), dtype);
}

/// Device memory with the numbers of a type in it.
class Placed {
 public:
  Placed(TrainingDevice& device, std::span<const double> numbers, DType dtype)
      : device_(device), dtype_(dtype), count_(numbers.size()) {
    const std::vector<std::byte> bytes = tensor_bytes(numbers, dtype);
    memory_ = device.allocate(static_cast<std::int64_t>(bytes.size()) + 256);
    device.upload(memory_.get(), bytes.data(), static_cast<std::int64_t>(bytes.size()));
  }
  void* get() const { return memory_.get(); }
  std::vector<double> numbers() const {
    std::vector<std::byte> bytes(count_ * static_cast<std::size_t>(bytes_per_element(dtype_)));
    device_.download(bytes.data(), memory_.get(), static_cast<std::int64_t>(bytes.size()));
    return tensor_numbers(bytes, dtype_);
  }

 private:
  TrainingDevice& device_;
  DType dtype_;
  std::size_t count_;
  std::shared_ptr<void> memory_;
};

/// Relative, over the whole tensor; not a number where an element was never written.
inline double error_of(const std::vector<double>& found, const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(found[i])) return std::numeric_limits<double>::infinity();
    difference += (found[i] - expected[i]) * (found[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference / (size + 1e-12 * static_cast<double>(expected.size() + 1)));
}

}  // namespace strata::test
