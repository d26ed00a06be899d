// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/piece.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"

#include <algorithm>
#include <vector>

/// Functions of several numbers, one result for each place.
namespace strata::cpu_training {

/// What all passes of one node know.
struct ElementwisePlan {
  ElementwiseKind kind;
  std::vector<DType> types;  // of the inputs
  std::vector<Sizes> strides;
  Sizes shape;
  DType result_type;
  bool is_beyond = false;  // the result, and gradients of its size

  PieceSource source(const NodeMemory& m, std::size_t i) const { return {m.inputs[i], types[i]}; }
  bool is_repeated(std::size_t i) const { return strides[i] != strides_of(shape); }
  std::int64_t count() const {
    std::int64_t product = 1;
    for (const std::int64_t extent : shape) product *= extent;
    return product;
  }
  /// Of input i.
  std::int64_t count_of(std::size_t i) const {
    std::int64_t product = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (strides[i][axis] != 0) product *= shape[axis];
    }
    return product;
  }
  /// Whether all operands and the result are of this type.
  bool is_all_of(DType dtype) const {
    return result_type == dtype &&
           std::all_of(types.begin(), types.end(), [&](DType t) { return t == dtype; });
  }
  /// How many rows the result has of those that an operand is one of. 0: it is no such row.
  std::int64_t rows_of(std::size_t operand) const {
    const std::int64_t length = count_of(operand);
    if (length == 1) return 0;
    std::size_t axis = shape.size();
    std::int64_t along = 1;
    while (axis > 0 && along < length) {
      if (strides[operand][--axis] != along && shape[axis] != 1) return 0;
      along *= shape[axis];
    }
    return along == length ? count() / length : 0;
  }
};

/// Operands that are read side by side.
inline constexpr std::size_t operands_at_once = 6;

/// Calls f(offsets, length, place of the results) for all pieces, on all threads. The results lie
/// in the order of the walk, `operand` is their place in it; null: there are none.
template <class T, class F>
void each_result_piece(const Walk& walk, const Workers& workers, T* results, std::size_t operand,
                       bool is_beyond, const F& f) {
  walk.each_part(workers, [&](std::int64_t begin, std::int64_t end) {
    ResultPieces<T> pieces(results, is_beyond);
    walk.each_piece(begin, end, [&](const Walk::Offsets& at, std::int64_t length) {
      f(at, length, results != nullptr ? pieces.next(at[operand], length) : nullptr);
    });
  });
}

template <class T>
void elementwise_forward(const ElementwisePlan& plan, const Workers& workers, const NodeMemory& m);
template <class T>
void elementwise_backward(const ElementwisePlan& plan, const Workers& workers, const NodeMemory& m);

/// Which operands the slope towards input i depends on; the output is the last.
std::vector<std::size_t> operands_of_gradient(const ElementwisePlan& plan, std::size_t i);

}  // namespace strata::cpu_training
