// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata {

/// A piece of one of an operator's own tensors, and where a library wants it in a space that holds
/// all of them.
struct WeightPiece {
  std::size_t tensor = 0;  ///< counted from the first own
  std::int64_t at_byte = 0;
  std::int64_t space_byte = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const WeightPiece&, const WeightPiece&) = default;
};

/// Pieces that follow each other in both places become one copy; in order of the tensors.
std::vector<WeightPiece> joined_pieces(std::vector<WeightPiece> pieces);

}  // namespace strata
