// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/number_rows.hpp"
#include "strata/measure/cpu/loops/walk.hpp"

#include <array>

namespace strata::cpu_training {

/// One operand of a walk: where its numbers lie and what they are.
struct PieceSource {
  const void* numbers = nullptr;
  DType dtype = DType::fp32;
};

/// Room for a piece whose numbers do not lie side by side as T.
template <class T>
using PieceBuffer = std::array<T, static_cast<std::size_t>(longest_piece)>;

/// The piece as T side by side: where it lies, or in the buffer when it is repeated or of another
/// type.
template <class T>
const T* piece_of(const PieceSource& source, std::int64_t offset, std::int64_t step,
                  std::int64_t length, PieceBuffer<T>& buffer) {
  const bool is_plain = source.dtype == dtype_of<T>();
  if (is_plain && (step == 1 || length == 1)) {
    return static_cast<const T*>(source.numbers) + offset;
  }
  if (is_plain && step == 0) {
    const T value = static_cast<const T*>(source.numbers)[offset];
    for (std::int64_t i = 0; i < length; ++i) buffer[static_cast<std::size_t>(i)] = value;
  } else {
    read_row(source.dtype, source.numbers, offset, step, length, buffer.data());
  }
  return buffer.data();
}

}  // namespace strata::cpu_training
