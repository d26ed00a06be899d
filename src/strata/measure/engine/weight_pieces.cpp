// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/weight_pieces.hpp"

#include <algorithm>
#include <tuple>

namespace strata {

std::vector<WeightPiece> joined_pieces(std::vector<WeightPiece> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const WeightPiece& a, const WeightPiece& b) {
    return std::tie(a.tensor, a.at_byte) < std::tie(b.tensor, b.at_byte);
  });
  std::vector<WeightPiece> joined;
  for (const WeightPiece& piece : pieces) {
    const bool follows = !joined.empty() && joined.back().tensor == piece.tensor &&
                         joined.back().at_byte + joined.back().bytes == piece.at_byte &&
                         joined.back().space_byte + joined.back().bytes == piece.space_byte;
    if (follows) {
      joined.back().bytes += piece.bytes;
    } else {
      joined.push_back(piece);
    }
  }
  return joined;
}

}  // namespace strata
