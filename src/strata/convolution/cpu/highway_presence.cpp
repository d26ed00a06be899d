// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/strategies.hpp"

namespace strata::cpu {

std::optional<std::string> vector_refusal() { return std::nullopt; }

}  // namespace strata::cpu
