// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/plain/shapes.hpp"

#include <array>
#include <cstdint>

/// What all plain kernels share: loops on all threads.
namespace strata::cpu_training::plain {

/// Calls body(i) for every i below count. OpenMP's threads share the calls, as oneDNN's do, unless
/// all of them together work on so few numbers that starting threads takes longer. The body must
/// not throw.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t numbers_each, const Body& body) {
  constexpr std::int64_t fewest_numbers = 16'384;
  const bool is_worth_it = count > 1 && count >= fewest_numbers / (numbers_each + 1);
#pragma omp parallel for if (is_worth_it)
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

template <class T>
T* numbers(void* memory) {
  return static_cast<T*>(memory);
}

/// Calls make(T()) with T the type of the tensors: float or double. The caller has seen to it that
/// it is one of them.
template <class Make>
auto with_real(DType dtype, const Make& make) {
  return dtype == DType::fp64 ? make(double{}) : make(float{});
}

/// All rows of a shape (its last axis), on all threads: calls row(offsets) with the place of each
/// row's first element in several tensors that have strides of their own.
template <std::size_t tensors, class Row>
void for_each_row(const Sizes& shape, const std::array<Sizes, tensors>& strides, const Row& row) {
  const std::int64_t length = shape.empty() ? 1 : shape.back();
  Sizes outer = shape;
  if (!outer.empty()) outer.back() = 1;
  parallel_for(product_of(outer), length, [&](std::int64_t index) {
    std::array<std::int64_t, tensors> offsets;
    for (std::size_t t = 0; t < tensors; ++t) offsets[t] = offset_of(index, outer, strides[t]);
    row(offsets);
  });
}

}  // namespace strata::cpu_training::plain
