// SPDX-License-Identifier: Apache-2.0
#include "strata/operations/multi_tensor.hpp"

#include <algorithm>
#include <array>

namespace strata {

std::int64_t multi_tensor_launches(const std::vector<std::int64_t>& sizes, std::size_t lists) {
  constexpr std::int64_t piece = 65536;
  constexpr std::int64_t most_pieces = 320;
  constexpr std::array<std::int64_t, 5> most_tensors = {110, 64, 48, 36, 30};
  const std::int64_t most =
      most_tensors[std::clamp<std::size_t>(lists, 1, most_tensors.size()) - 1];
  std::int64_t launches = 0, tensors = 0, pieces = 0;
  for (const std::int64_t size : sizes) {
    if (size <= 0) continue;
    ++tensors;
    std::int64_t rest = (size - 1) / piece + 1;
    // Each kernel that is full with pieces of this tensor; the next begins with this tensor.
    while (pieces + rest > most_pieces) {
      rest -= most_pieces - pieces;
      ++launches;
      pieces = 0;
      tensors = 1;
    }
    pieces += rest;
    if (pieces == most_pieces || tensors == most) {
      ++launches;
      pieces = tensors = 0;
    }
  }
  return launches + (pieces > 0 ? 1 : 0);
}

}  // namespace strata
