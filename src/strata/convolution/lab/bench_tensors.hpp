// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/reference.hpp"
#include "strata/convolution/lab/strategy.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace strata {

struct ConvCheck {
  double error = 0;  ///< relative, L2; not finite when a number of the result is not
  std::int64_t count = 0;
};

/// The three tensors of one convolution, on the host and on a device, with random numbers and what
/// each pass should make of them.
class BenchTensors {
 public:
  BenchTensors(ConvDevice& device, const ConvShape& shape, DType dtype, std::uint64_t seed);

  const ConvShape& shape() const { return shape_; }
  std::int64_t bytes() const;
  ConvTensors on_device() const;

  /// Puts what the pass reads on the device, and not-a-number where it is to write: what it leaves
  /// out is seen.
  void prepare_for(ConvPass pass);
  /// How far what was written is from the reference.
  ConvCheck checked();
  /// Of the input; measured once.
  std::optional<HostTransfers> input_transfers();

 private:
  enum Which : std::size_t { input, weights, output };
  struct OneTensor {
    std::vector<float> numbers;  ///< made when first read
    std::int64_t elements = 0;
    std::shared_ptr<void> memory;
    bool is_current = false;  ///< the device has these numbers
  };
  struct Expected {
    std::vector<std::int64_t> indices;
    std::vector<double> values;
  };

  static Which written_by(ConvPass pass);
  void bring(Which which);
  void poison(Which which, const Expected& expected);
  const Expected& expected_of(ConvPass pass);
  bool is_whole(const Expected& expected, const OneTensor& tensor) const;

  ConvDevice& device_;
  ConvShape shape_;
  DType dtype_;
  std::uint64_t seed_;
  ConvPass pass_ = ConvPass::forward;
  std::array<OneTensor, 3> tensors_;
  std::array<std::optional<Expected>, 3> expected_;  ///< by pass
  std::optional<std::optional<HostTransfers>> transfers_;
};

}  // namespace strata
