// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/checked.hpp"
#include "strata/graph/recording.hpp"
#include "strata/operations/aten_table.hpp"

#include <cstdint>
#include <optional>

/// Extents of a recorded operation, by what its arguments mean.
namespace strata {

struct AtenProduct {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  bool is_first_transposed = false, is_second_transposed = false;
  bool is_batched = false, has_bias = false;
};

/// Of a transposed one: of the convolution whose adjoint it is.
struct AtenConvolution {
  std::int64_t samples = 1, channels = 1, filters = 1, input_pixels = 1, output_pixels = 1;
  std::int64_t window = 1, groups = 1;
  bool is_transposed = false, is_channels_last = false, is_volume = false;
  bool has_bias = false, wants_input = false, wants_weight = false;
  std::int64_t result_elements = 0;  ///< of what forward makes

  std::int64_t mac() const;
};

struct AtenAttention {
  std::int64_t samples = 1, heads = 1, queries = 1, keys = 1, width = 1, value_width = 1;
  bool is_causal = false, has_mask = false;

  std::int64_t pairs() const;  ///< of queries and the keys they see, over all heads and samples
  std::int64_t rows() const;
};

enum class AtenCell : std::uint8_t { rnn, lstm, gru };

struct AtenRecurrent {
  AtenCell cell = AtenCell::lstm;
  std::int64_t samples = 1, time_steps = 1, width = 1, hidden = 1, layers = 1, directions = 1;

  std::int64_t gates() const;
  std::int64_t mac() const;
};

struct AtenRows {
  std::int64_t rows = 1, columns = 1;
};

class AtenShapes {
 public:
  AtenShapes(const RecordedOperations& recording, const RecordedOperation& operation)
      : recording_(recording), operation_(operation) {}

  const RecordedOperation& operation() const { return operation_; }
  const RecordedTensor* input(std::size_t position = 0) const;
  const RecordedTensor* first_input() const;  ///< that is a tensor
  const RecordedTensor* output() const;       ///< its largest
  std::int64_t elements(AtenWhere where) const;
  std::int64_t window() const;  ///< elements of a pool's window
  bool holds(AtenWhen when) const;
  AtenRows rows() const;

  AtenProduct product() const;
  /// The product of experts has all of their rows together.
  AtenProduct grouped_product() const;
  AtenConvolution convolution() const;
  AtenAttention attention() const;
  AtenRecurrent recurrent() const;

  /// An input is repeated, or lies in another order than the result: kernels then address every
  /// number by itself.
  bool is_strided() const;
  bool is_channels_last() const;  ///< of its first input

  /// In which its arithmetic is: of its first input with a fraction, else of its output.
  DType precision() const;

 private:
  const RecordedTensor* tensor(std::uint32_t number) const;
  bool is_backward() const;
  bool is_few() const;
  std::int64_t smallest_operand() const;

  const RecordedOperations& recording_;
  const RecordedOperation& operation_;
};

/// Whether the last two axes lie in memory the other way round.
bool is_transposed(const RecordedTensor& tensor);

}  // namespace strata
