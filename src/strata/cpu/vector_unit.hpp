// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace strata::cpu {

/// The vector instructions in use.
struct VectorUnit {
  std::string name;       ///< "AVX-512"
  int bits = 0;           ///< of one register
  bool has_fma = false;   ///< multiplies and adds in one instruction
  std::string chosen_by;  ///< "chosen at run time by Highway 1.0.3"
  /// Whether this CPU may have a better one, which nothing can choose here.
  bool may_be_less = false;

  /// "AVX-512, 512 bits, chosen at run time by Highway 1.0.3"
  std::string description() const {
    return name + ", " + std::to_string(bits) + " bits, " + chosen_by;
  }
};
VectorUnit vector_unit();

}  // namespace strata::cpu
