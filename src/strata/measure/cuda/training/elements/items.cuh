// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Numbers side by side that are moved as one. For nvcc only.
namespace strata::cuda::train {

/// Up to 16 bytes are one instruction.
template <class T, int count>
struct alignas(count * sizeof(T)) Items {
  static constexpr int size = count;
  T item[count];
};

/// Whether an array may be moved by so many of its numbers at a time.
template <class T, int count>
bool holds_items(const T* data) {
  return reinterpret_cast<std::uintptr_t>(data) % sizeof(Items<T, count>) == 0;
}

}  // namespace strata::cuda::train
